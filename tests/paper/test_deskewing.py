"""Slanted images set upright."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_digits

from paper.images import deskew


def slant_of(image):
    """Return the covariance of row and column over the variance of the row."""
    rows, columns = np.indices(image.shape[:2])
    weight = image.astype(float) / image.sum()
    middle, across = (weight * rows).sum(), (weight * columns).sum()
    together = (weight * (rows - middle) * (columns - across)).sum()
    return together / (weight * (rows - middle) ** 2).sum(), middle


def naive_deskew(image):
    """Return the image with every row interpolated by NumPy."""
    per_row, middle = slant_of(image)
    width = image.shape[1]
    columns = np.arange(-width, 2 * width)
    out = np.empty(image.shape)
    for i, row in enumerate(image):
        wide = np.concatenate([np.zeros(width), row, np.zeros(width)])
        shift = np.clip(per_row * (i - middle), -width, width)
        out[i] = np.interp(np.arange(width) + shift, columns, wide, left=0.0, right=0.0)
    return out


def test_it_is_what_an_interpolation_of_every_row_gives():
    images = load_digits().images[:50]
    found = deskew(images)
    assert found.dtype == np.float64
    for image, upright in zip(images, found, strict=True):
        np.testing.assert_allclose(upright, naive_deskew(image), atol=1e-9)


def test_a_slanted_stroke_becomes_upright():
    rows = np.arange(28)
    image = np.zeros((28, 28))
    for i in rows[4:24]:
        centre = 14 + 0.35 * (i - 14)
        image[i] = np.exp(-0.5 * ((rows - centre) / 1.5) ** 2)
    assert slant_of(image)[0] == pytest.approx(0.35, abs=0.01)
    assert slant_of(deskew(image[None])[0])[0] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_images_in_rows_planes_and_channels_are_the_same(dtype):
    images = (load_digits().images[:20] * 15).astype(dtype)
    flat = deskew(images.reshape(20, 64))
    assert flat.dtype == dtype
    np.testing.assert_array_equal(flat.reshape(20, 8, 8), deskew(images))
    twice = deskew(np.stack([images, images], axis=-1))
    np.testing.assert_allclose(twice[..., 1], deskew(images), rtol=1e-6)
    wide = deskew(images.reshape(20, 64), image_shape=(4, 16))
    np.testing.assert_array_equal(wide.reshape(20, 4, 16), deskew(images.reshape(20, 4, 16)))


def test_what_has_no_slant_stays():
    images = np.zeros((4, 5, 5), dtype=np.uint8)
    images[1, 2, :] = 7  # one row of ink
    images[2, :, 1] = 9  # upright
    images[3] = 3
    np.testing.assert_array_equal(deskew(images), images)
    negative = -load_digits().images[:5]  # which have no mean to be slanted about
    np.testing.assert_array_equal(deskew(negative), negative)


@settings(max_examples=50, deadline=None)
@given(arrays(np.float32, (3, 6, 7), elements=st.floats(-1e6, 1e6, width=32)))
def test_no_value_leaves_the_range_of_the_image_and_zero(images):
    found = deskew(images)
    for image, upright in zip(images, found, strict=True):
        assert upright.min() >= min(image.min(), 0.0)
        assert upright.max() <= max(image.max(), 0.0)


@pytest.mark.parametrize(
    ("images", "more", "message"),
    [
        (np.zeros((2, 10)), {}, "not a square number"),
        (np.zeros((2, 9), dtype=int), {}, "dtype"),
        (np.full((2, 9), np.nan), {}, "NaN"),
        (np.zeros((0, 9)), {}, "at least one image"),
        (np.zeros((2, 9)), {"image_shape": (2, 5)}, "image_shape"),
    ],
)
def test_bad_images_are_refused(images, more, message):
    with pytest.raises(ValueError, match=message):
        deskew(images, **more)


def test_images_of_any_unit_are_set_upright_alike():
    images = load_digits().images[:20]
    expected = deskew(images)
    for unit in (1e300, 1e-300):
        np.testing.assert_allclose(deskew(images * unit) / unit, expected, rtol=1e-9, atol=1e-9)


def test_pixels_below_zero_count_as_such():
    image = np.array([[2.0, 0.0, 0.0], [-1.0, 0.0, -2.0], [0.0, 0.0, 2.0]])
    slope, middle = slant_of(image)  # though the pixels add up to half of the largest
    assert (slope, middle) == pytest.approx((1.0, 1.0))
    np.testing.assert_allclose(deskew(image[None])[0], naive_deskew(image), atol=1e-9)
