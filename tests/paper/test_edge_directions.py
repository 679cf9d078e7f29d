"""Images as edges by direction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import correlate1d
from sklearn.datasets import load_digits

from paper.images import edges


def naive_edges(image, n, sigma):
    """Return the channels by SciPy's filters, one direction at a time."""
    radius = int(4 * sigma + 0.5)
    apart = np.arange(-radius, radius + 1)
    smooth = np.exp(-0.5 * (apart / sigma) ** 2)
    slope = apart * smooth / (apart * smooth)[radius:].sum()
    smooth /= smooth.sum()
    across, down = (
        correlate1d(
            correlate1d(image, smooth, axis, mode="constant"), slope, 1 - axis, mode="constant"
        )
        for axis in (0, 1)
    )
    size, turn = np.hypot(across, down), np.arctan2(down, across) * n / (2 * np.pi)
    apart = [np.abs((turn - q + n / 2) % n - n / 2) for q in range(n)]
    return np.stack([size * np.maximum(0, 1 - a) for a in apart], axis=-1)


@pytest.mark.parametrize(("n", "sigma"), [(8, 0.8), (4, 1.5), (3, 0.5), (2, 3.0)])
def test_it_is_what_filters_and_angles_give(n, sigma):
    images = load_digits().images[:30]
    found = edges(images, n, sigma=sigma)
    for image, channels in zip(images, found, strict=True):
        np.testing.assert_allclose(channels, naive_edges(image, n, sigma), atol=1e-9)


def test_a_turned_image_has_the_turned_edges():
    images = load_digits().images[:30]
    found = edges(np.rot90(images, axes=(1, 2)), 4)
    turned = np.rot90(edges(images, 4), axes=(1, 2))
    np.testing.assert_allclose(found, np.roll(turned, -1, axis=-1), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_images_in_rows_and_planes_are_the_same(dtype):
    images = (load_digits().images[:20] * 15).astype(dtype)
    flat = edges(images.reshape(20, 64))
    assert flat.dtype == dtype
    assert flat.shape == (20, 512)
    np.testing.assert_array_equal(flat.reshape(20, 8, 8, 8), edges(images))
    wide = edges(images.reshape(20, 64), image_shape=(4, 16))
    np.testing.assert_array_equal(wide.reshape(20, 4, 16, 8), edges(images.reshape(20, 4, 16)))


def test_bytes_are_rounded_and_do_not_wrap():
    images = np.random.default_rng(0).choice([0, 255], size=(50, 9, 9)).astype(np.uint8)
    exact = edges(images.astype(float))
    sizes = exact.sum(axis=-1, keepdims=True)
    assert sizes.max() > 255.0
    exact *= np.minimum(1.0, 255.0 / np.maximum(sizes, 1.0))
    assert np.abs(edges(images).astype(float) - exact).max() <= 0.5 + 1e-9


@settings(max_examples=50, deadline=None)
@given(arrays(np.float32, (2, 6, 7), elements=st.floats(0, 100, width=32)))
def test_no_channel_is_negative_and_their_sum_is_the_size_of_the_gradient(images):
    found = edges(images, 5)
    assert found.min() >= 0.0
    for image, channels in zip(images, found, strict=True):
        np.testing.assert_allclose(
            channels.sum(axis=-1), naive_edges(image.astype(float), 5, 0.8).sum(axis=-1), atol=1e-3
        )


@pytest.mark.parametrize(
    ("images", "more", "message"),
    [
        (np.zeros((2, 10)), {}, "not a square number"),
        (np.zeros((2, 3, 3, 2)), {}, "2 channels"),
        (np.zeros((2, 9)), {"n_directions": 1}, "n_directions=1"),
        (np.zeros((2, 9)), {"sigma": 0.0}, "sigma=0.0"),
        (np.zeros((2, 9)), {"sigma": 100.0}, "sigma=100.0"),
    ],
)
def test_bad_arguments_are_refused(images, more, message):
    with pytest.raises(ValueError, match=message):
        edges(images, **more)
