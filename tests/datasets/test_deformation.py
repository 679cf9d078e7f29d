import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.ndimage import gaussian_filter, map_coordinates, rotate
from threadpoolctl import threadpool_limits

from shareboost.datasets import deform
from shareboost.datasets.deformation import _draw_key
from shareboost.kernels.warp import find_sources

NOTHING = {"elastic_alpha": 0.0, "rotation": 0.0, "scale": 0.0, "shear": 0.0}


class Stream:
    """SplitMix64 in Python's integers: the random numbers of one copy of one image."""

    STEP = 0x9E3779B97F4A7C15

    def __init__(self, seed, image, copy):
        state = self.mix(int(_draw_key(seed)) + self.STEP * (image + 1))
        self.state = self.mix(state + self.STEP * (copy + 1))

    @staticmethod
    def mix(z):
        z %= 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    def next(self):
        self.state += self.STEP
        return self.mix(self.state)

    def affine(self):
        return [(self.next() >> 11) / 2**52 - 1 for _ in range(4)]

    def noise(self, height, width):
        """Two images: the numbers for the rows' displacements and for the columns'."""
        bits = [self.next() for _ in range(height * width)]
        both = [[b >> 40 for b in bits], [b % 2**24 for b in bits]]
        return np.array(both).reshape(2, height, width) / 2**23 - 1


def naive_copy(
    image, stream, elastic_sigma=4.0, elastic_alpha=24.0, rotation=7.5, scale=0.08, shear=0.08
):
    """One copy of one image (height, width) in float64, by SciPy."""
    angle, taller, wider, slant = stream.affine()
    angle = math.radians(rotation * angle)
    R = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    K = [[1, 0], [shear * slant, 1]]
    S = np.diag([1 + scale * taller, 1 + scale * wider])
    centre = (np.array(image.shape)[:, None, None] - 1) / 2
    p = np.indices(image.shape) - centre
    at = np.einsum("ab,bij->aij", np.linalg.inv(np.array(R) @ K @ S), p) + centre
    for axis, noise in enumerate(stream.noise(*image.shape)):
        smooth = noise
        if elastic_sigma:
            smooth = gaussian_filter(noise, elastic_sigma, mode="constant", truncate=3.0)
        at[axis] += elastic_alpha * smooth
    return map_coordinates(image.astype(float), at, order=1, mode="grid-constant", cval=0.0)


@pytest.fixture
def pictures():
    """Six smooth asymmetric images, (6, 20, 14), float64, whose border is not 0."""
    noise = np.random.default_rng(0).uniform(size=(6, 20, 14))
    return gaussian_filter(noise, (0, 1, 1))


@pytest.mark.parametrize(
    "strengths",
    [
        {},
        {"elastic_sigma": 0.0, "elastic_alpha": 2.0},
        {"elastic_sigma": 1.3, "elastic_alpha": 5.0},
        {"elastic_sigma": 9.0, "elastic_alpha": 80.0},
        {**NOTHING, "rotation": 180.0},
        {**NOTHING, "scale": 0.5},
        {**NOTHING, "shear": 1.5},
        {"elastic_alpha": 500.0, "rotation": 90.0, "scale": 0.9, "shear": 3.0},
    ],
)
def test_copies_are_those_of_the_naive_twin(pictures, strengths):
    copies = deform(pictures, 2, random_state=7, **strengths).reshape(2, *pictures.shape)
    for copy in range(2):
        for image, picture in enumerate(pictures):
            twin = naive_copy(picture, Stream(7, image, copy), **strengths)
            # Coordinates are float32: the stronger the deformation, the more that tells.
            assert np.allclose(copies[copy, image], twin, atol=3e-5)


@pytest.mark.parametrize("far", [0.0, 0.7, -3.0, 1e30, -1e30, np.inf, np.nan])
def test_no_source_lies_beyond_the_border_around_an_image(far):
    corner, (down, right) = np.empty((4, 6), np.intp), np.empty((2, 4, 6), np.float32)
    displacement = np.full((4, 2, 6), far, dtype=np.float32)
    find_sources(displacement, (1.0, 0.0, 0.0, 1.0), 1.0, corner, down, right)
    # All four pixels lie in the plane, one row and column before the image and two after.
    row, column = np.divmod(corner, 6 + 3)
    assert (row >= 0).all()
    assert (row + 1 < 4 + 3).all()
    assert (column + 1 < 6 + 3).all()
    assert ((down >= 0) & (down < 1)).all()
    assert ((right >= 0) & (right < 1)).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3), (40, 33)])
def test_images_of_any_size_are_those_of_the_naive_twin(shape):
    picture = np.random.default_rng(1).uniform(size=shape)
    twin = naive_copy(picture, Stream(0, 0, 0))
    assert np.allclose(deform(picture[None], random_state=0)[0], twin, atol=3e-5)


def test_bytes_are_the_naive_twins_rounded(pictures):
    pictures = (255 * pictures).astype(np.uint8)
    copies = deform(pictures, random_state=0)
    twins = np.array([naive_copy(p, Stream(0, i, 0)) for i, p in enumerate(pictures)])
    assert copies.dtype == np.uint8
    assert np.abs(copies - twins).max() < 0.501


def test_rotation_turns_counter_clockwise_as_scipys_does(pictures):
    copies = deform(pictures, random_state=3, **(NOTHING | {"rotation": 60.0}))
    for image, picture in enumerate(pictures):
        angle = 60.0 * Stream(3, image, 0).affine()[0]
        turned = rotate(picture, angle, reshape=False, order=1, mode="grid-constant")
        assert np.allclose(copies[image], turned, atol=1e-5)


def test_displacements_have_the_deviation_of_smoothed_uniform_noise():
    ramp = np.broadcast_to(np.arange(65.0), (1, 65, 65))
    copies = deform(ramp, 2000, 0, **(NOTHING | {"elastic_alpha": 24.0}))
    moved = copies[:, 32, 32] - 32
    weights = np.exp(-(np.arange(-12, 13) ** 2) / 32)
    deviation = 24.0 * math.sqrt(1 / 3) * (weights**2).sum() / weights.sum() ** 2
    assert 0.95 < deviation < 1.0
    assert moved.std() == pytest.approx(deviation, rel=4 / math.sqrt(2 * 2000))
    assert abs(moved.mean()) < 4 * deviation / math.sqrt(2000)
    assert abs(np.corrcoef(moved[1:], moved[:-1])[0, 1]) < 4 / math.sqrt(2000)


@pytest.mark.parametrize(
    ("dtype", "sigma"), [(np.uint8, 4.0), (np.float32, 0.0), (np.float64, 4.0)]
)
def test_zero_strengths_give_back_the_images(pictures, dtype, sigma):
    pictures = (255 * pictures).astype(dtype)
    copies = deform(pictures, 3, elastic_sigma=sigma, **NOTHING)
    assert np.array_equal(copies, np.tile(pictures, (3, 1, 1)))


@given(
    images=arrays(
        np.float32,
        array_shapes(min_dims=3, max_dims=3, max_side=6),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    strength=st.floats(0, 1e300),
    scale=st.floats(0, 1, exclude_max=True),
)
@settings(max_examples=25)
def test_no_value_lies_beyond_those_of_the_image_and_zero(images, strength, scale):
    copies = deform(
        images, 2, 0, elastic_alpha=strength, rotation=strength, shear=strength, scale=scale
    )
    low, high = images.min(axis=(1, 2)), images.max(axis=(1, 2))
    assert (copies.reshape(2, *images.shape) >= np.minimum(low, 0)[:, None, None]).all()
    assert (copies.reshape(2, *images.shape) <= np.maximum(high, 0)[:, None, None]).all()


@pytest.mark.parametrize(
    ("dtype", "channels"),
    [(np.uint8, ()), (np.float32, (1,)), (np.float64, (3,)), (np.uint8, (3,))],
)
def test_dtype_and_shape_are_kept(dtype, channels):
    images = np.ones((4, 5, 6, *channels), dtype=dtype)
    copies = deform(images, 3, 0)
    assert copies.shape == (12, 5, 6, *channels)
    assert copies.dtype == dtype
    rows = deform(images.reshape(4, -1), 3, 0, image_shape=(5, 6, *channels))
    assert np.array_equal(rows, copies.reshape(12, -1))


def test_rows_are_square_images_unless_told(pictures):
    squares = pictures[:, :14]
    rows = deform(squares.reshape(6, -1), random_state=0)
    assert np.array_equal(rows.reshape(6, 14, 14), deform(squares, random_state=0))


def test_copies_come_in_the_order_that_tiled_labels_have():
    images = np.arange(1, 5, dtype=np.uint8)[:, None, None] * np.ones((9, 9), dtype=np.uint8)
    copies = deform(images, 3, 0)
    assert copies[:, 4, 4].tolist() == np.tile([1, 2, 3, 4], 3).tolist()


def test_channels_move_together(pictures):
    stacked = np.stack([pictures, 1 - pictures, 3 * pictures], axis=-1)
    copies = deform(stacked, 2, 0)
    alone = deform(pictures, 2, 0)
    assert np.array_equal(copies[..., 0], alone)
    assert np.allclose(copies[..., 2], 3 * alone)
    assert np.allclose(copies[..., 0] + copies[..., 1], deform(np.ones_like(pictures), 2, 0))


def test_a_random_state_gives_the_same_copies_again(pictures):
    first = deform(pictures, 2, 5)
    assert np.array_equal(first, deform(pictures, 2, 5))
    assert np.array_equal(first, deform(pictures, 2, np.random.RandomState(5)))
    assert not np.array_equal(first, deform(pictures, 2, 6))
    assert not np.array_equal(deform(pictures), deform(pictures))


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_a_generator_moves_on_from_call_to_call(pictures, kind):
    once, again = kind(5), kind(5)
    first, second = deform(pictures, 2, once), deform(pictures, 2, once)
    assert np.array_equal(first, deform(pictures, 2, again))
    assert np.array_equal(second, deform(pictures, 2, again))
    assert not np.array_equal(first, second)


def test_a_copy_depends_on_no_other_image_and_no_other_copy(pictures):
    copies = deform(pictures, 3, 0).reshape(3, *pictures.shape)
    assert np.array_equal(deform(pictures, 1, 0), copies[0])
    assert np.array_equal(deform(pictures[:2], 3, 0).reshape(3, 2, 20, 14), copies[:, :2])
    same = deform(np.repeat(pictures[:1], 4, axis=0), 3, 0)
    assert len(np.unique(same.reshape(12, -1), axis=0)) == 12


@pytest.mark.quiet
def test_any_number_of_threads_gives_the_same_copies(pictures, monkeypatch):
    expected = deform(pictures, 4, 0)
    monkeypatch.setattr("shareboost.datasets.deformation.BLOCK_VALUES", 2 * 20 * 14)
    for n_threads in (1, 2, 3):
        with threadpool_limits(n_threads):
            assert np.array_equal(deform(pictures, 4, 0), expected)


def test_the_layout_in_memory_does_not_matter_and_images_stay_untouched(pictures):
    before = pictures.copy()
    expected = deform(pictures, 1, 0)
    assert np.array_equal(deform(np.asfortranarray(pictures), 1, 0), expected)
    assert np.array_equal(deform(np.repeat(pictures, 2, axis=0)[::2], 1, 0), expected)
    pictures.flags.writeable = False
    assert np.array_equal(deform(pictures, 1, 0), expected)
    assert np.array_equal(pictures, before)


def call(images=None, **arguments):
    return deform(np.zeros((2, 12)) if images is None else images, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_copies": 0}, "n_copies=0 .* integer of at least 1"),
        ({"n_copies": 2.0}, "n_copies=2.0 .* integer of at least 1"),
        ({"elastic_sigma": -1}, "elastic_sigma=-1 .* non-negative number below 1000"),
        ({"elastic_sigma": 1000}, "elastic_sigma=1000 .* below 1000"),
        ({"elastic_alpha": -1.0}, "elastic_alpha=-1.0 .* non-negative"),
        ({"elastic_alpha": math.inf}, "elastic_alpha=inf .* finite"),
        ({"rotation": -7.5}, "rotation=-7.5 .* non-negative"),
        ({"rotation": "7"}, "rotation='7' .* number"),
        ({"scale": -0.1}, "scale=-0.1 .* number below 1"),
        ({"scale": 1.0}, "scale=1.0 .* number below 1"),
        ({"shear": math.nan}, "shear=nan .* finite"),
        ({"image_shape": (3, 4), "random_state": "x"}, "random_state='x' .* a Generator or None"),
        ({"image_shape": (3, 4), "random_state": -1}, "random_state=-1 .* from 0 to"),
        ({}, "image_shape=None .* square .* 12 columns"),
        ({"image_shape": (3, 5)}, r"image_shape=\(3, 5\) .* 12 columns"),
        ({"image_shape": (12,)}, r"image_shape=\(12,\) .* \(height, width\)"),
        ({"image_shape": (-3, -4)}, r"image_shape=\(-3, -4\) .* 12 columns"),
        ({"image_shape": (3.0, 4.0)}, r"image_shape=\(3.0, 4.0\) .* 12 columns"),
        ({"image_shape": 12}, "image_shape=12 .* 12 columns"),
        (
            {"images": np.zeros((2, 3, 4)), "image_shape": (4, 3)},
            r"image_shape=\(4, 3\) is not that of images, \(3, 4\): it takes None",
        ),
        ({"images": np.zeros(9)}, r"images has the shape \(9,\): it takes"),
        ({"images": np.zeros((1, 3, 3, 1, 1))}, r"images has the shape \(1, 3, 3, 1, 1\)"),
        ({"images": np.zeros((0, 9))}, r"images has the shape \(0, 9\): it takes at least one"),
        ({"images": np.zeros((2, 0))}, r"images has the shape \(2, 0\)"),
        ({"images": np.full((1, 9), np.nan)}, "images has values that are NaN .* finite"),
        ({"images": np.full((1, 3, 3), np.inf)}, "images has values that are .*infinite"),
        ({"images": [[0, 1, 2, 3]]}, "images has the dtype int64: it takes uint8"),
        ({"images": np.array([["a"]])}, "images has the dtype <U1: it takes uint8"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        call(**arguments)
