"""Slanted images set upright."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..threads import Workers, single_threaded_blas
from .image_rows import BLOCK_VALUES, check_images, shape_of_one

Floats = NDArray[np.float64]


def deskew(images: ArrayLike, *, image_shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    r"""Return images whose ink leans neither left nor right.

    The value at row i and column j is that of the image at row i and column
    :math:`j + a (i - \bar\imath)`, interpolated linearly between pixels and 0 outside the
    image, with

    .. math:: a = \mathrm{cov}(i, j) / \mathrm{var}(i)

    and the mean row, all with the pixels' values for weights. Handwriting that differs in
    its slant alone then looks alike, and the centre of the ink stays where it is.

    Parameters
    ----------
    images : array-like of shape (n, height * width) or (n, height, width[, channels])
        Of dtype uint8, float32 or float64, finite, the background 0. The channels of an
        image move together. An image whose values do not sum to more than zero, or
        whose ink lies in one row, stays as it is.
    image_shape : tuple of int, default=None
        For images in rows, (height, width) or (height, width, channels). None takes
        rows for square images of one channel.

    Returns
    -------
    ndarray
        With the dtype and shape of the images; uint8 is rounded to the nearest.

    Examples
    --------
    >>> import numpy as np
    >>> from shareboost.datasets import deskew
    >>> print(deskew(np.array([[0, 0, 9], [0, 9, 0], [9, 0, 0]], dtype=np.uint8)[None])[0])
    [[0 9 0]
     [0 9 0]
     [0 9 0]]
    """
    images = check_images(images)
    shape = shape_of_one(images, image_shape)
    rounding = 0.5 if images.dtype == np.uint8 else 0.0
    out = np.empty((len(images), *shape), dtype=images.dtype)
    block = max(1, BLOCK_VALUES // 8 // math.prod(shape))  # copies in float64 stay in the cache

    def work(first: int) -> None:
        some = images[first : first + block].reshape(-1, *shape).astype(np.float64)
        out[first : first + block] = _upright(some) + rounding

    with single_threaded_blas as n_threads, Workers(n_threads) as workers:
        for _ in workers.map(work, range(0, len(images), block)):
            pass  # an exception here cancels what has not begun
    return out.reshape(images.shape)


def _upright(images: Floats) -> Floats:
    """Return images, (n, height, width, channels), with their rows moved until none is slanted."""
    _, height, width, _ = images.shape
    per_row, middle = _slants(images)
    # No row moves further than out of the image.
    shift = np.clip(per_row * (np.arange(height) - middle), -width, width)
    whole = np.floor(shift)
    part = (shift - whole)[:, :, None, None]
    outside = np.pad(images, ((0, 0), (0, 0), (width, width + 1), (0, 0)))
    left = np.arange(width, 2 * width) + whole.astype(np.intp)[:, :, None]
    a, b = (np.take_along_axis(outside, own[..., None], axis=2) for own in (left, left + 1))
    # The last bit may not leave the range of the two.
    return np.clip((1.0 - part) * a + part * b, np.minimum(a, b), np.maximum(a, b))


def _slants(images: Floats) -> tuple[Floats, Floats]:
    """Return how far columns move a row, and the row around which they do, (n, 1) each.

    That is the covariance of row and column over the variance of the row, with the pixels for
    weights. 0 where there is no such thing.
    """
    _, height, width, _ = images.shape
    largest = np.abs(images).max(axis=(1, 2, 3), keepdims=True)
    ink = (images / np.where(largest > 0.0, largest, 1.0)).sum(axis=3)  # sums stay finite
    rows, columns = np.arange(float(height)), np.arange(float(width))
    total = ink.sum(axis=(1, 2))
    by_row = ink.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle = by_row @ rows / total
        variance = by_row @ rows**2 / total - middle**2
        across = ink.sum(axis=1) @ columns / total
        per_row = ((ink @ columns) @ rows / total - middle * across) / variance
    slanted = (total > 0.0) & (variance > 1e-9 * height**2)
    return np.where(slanted, per_row, 0.0)[:, None], np.where(slanted, middle, 0.0)[:, None]
