"""Images set upright, and images as their edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import correlate1d

from shareboost.datasets.deformation import check_images, for_blocks, shape_of_one
from shareboost.validation import at_least, positive

Floats = NDArray[np.float64]


def deskew(images: ArrayLike, *, image_shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    r"""Return images whose ink leans neither left nor right.

    The value at row i and column j is that of the image at row i and column
    :math:`j + a (i - \bar\imath)`, interpolated linearly and 0 outside the image, with
    :math:`a = \mathrm{cov}(i, j) / \mathrm{var}(i)` and the mean row weighted by the pixels'
    values. Letters that differ only in their slant then look alike, and the centre of the ink
    stays where it is.

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
    >>> from paper.images import deskew
    >>> print(deskew(np.array([[0, 0, 9], [0, 9, 0], [9, 0, 0]], dtype=np.uint8)[None])[0])
    [[0 9 0]
     [0 9 0]
     [0 9 0]]
    """
    images = check_images(images)
    shape = shape_of_one(images, image_shape)

    rounding = 0.5 if images.dtype == np.uint8 else 0.0
    out = np.empty((len(images), *shape), dtype=images.dtype)

    def work(_: int, first: int, some: NDArray[Any]) -> None:
        out[first : first + len(some)] = _upright(some.astype(np.float64)) + rounding

    for_blocks(work, images, shape, 8 * math.prod(shape))  # copies in float64 stay in the cache
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
    a, b = (np.take_along_axis(outside, at[..., None], axis=2) for at in (left, left + 1))
    # The last bit may not leave the range of the two.
    return np.clip((1.0 - part) * a + part * b, np.minimum(a, b), np.maximum(a, b))


def _slants(images: Floats) -> tuple[Floats, Floats]:
    """Return how far columns move per row, and the row around which they do, (n, 1) each.

    That is the covariance of row and column over the variance of the row, weighted by the
    pixels; 0 where there is no such thing.
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


def edges(
    images: ArrayLike,
    n_directions: int = 8,
    *,
    sigma: float = 0.8,
    image_shape: tuple[int, ...] | None = None,
) -> NDArray[Any]:
    r"""Return how steep images are at every pixel, one channel per direction.

    With the gradient :math:`r (\cos\theta, \sin\theta)` of the image smoothed by a Gaussian,
    in which a straight step counts by its height, channel q is

    .. math:: r \, \max(0, 1 - |\theta n / 2\pi - q|),

    the difference taken round the circle: an edge counts for the two directions next to its
    own, and all channels of a pixel sum to r. Outside the image everything is 0.

    Templates of such images tell shapes apart better than those of pixels:
    ``Templates(image_shape=(height, width, n_directions))`` takes what this returns.

    Parameters
    ----------
    images : array-like of shape (n, height * width) or (n, height, width)
        Of dtype uint8, float32 or float64, finite.
    n_directions : int, default=8
        Channels, at least 2. The first is of pixels that grow to the right, the others
        follow clockwise.
    sigma : float, default=0.8
        Width of the Gaussian in pixels, below 100.
    image_shape : tuple of int, default=None
        For images in rows, (height, width). None takes rows for square images.

    Returns
    -------
    ndarray of shape (n, height * width * n_directions) or (n, height, width, n_directions)
        With the dtype of the images; uint8 is rounded to the nearest and kept below 256.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.images import edges
    >>> step = np.repeat(np.array([[0, 0, 0, 0, 100, 100, 100, 100]]), 8, axis=0)
    >>> print(edges(step[None].astype(np.uint8), 4)[0, 4, 3:5])
    [[100   0   0   0]
     [100   0   0   0]]
    """
    n_directions = at_least("n_directions", n_directions, 2)
    if positive("sigma", sigma) >= 100.0:
        raise ValueError(f"sigma={sigma!r} is not valid: it takes a number below 100.0.")
    images = check_images(images)
    height, width, n_channels = shape = shape_of_one(images, image_shape)
    if n_channels != 1:
        raise ValueError(f"images has {n_channels} channels: edges takes images of one.")
    # A Gaussian of sum 1 that ends after 4 sigmas, and its slope, by which a step of 1 counts 1.
    radius = max(1, int(4.0 * sigma + 0.5))
    apart = np.arange(-radius, radius + 1)
    smooth = np.exp(-0.5 * (apart / sigma) ** 2)
    slope = apart * smooth
    smooth, slope = smooth / smooth.sum(), slope / slope[radius:].sum()

    rounding, largest = (0.5, 255.0) if images.dtype == np.uint8 else (0.0, math.inf)
    out = np.empty((len(images), height, width, n_directions), dtype=images.dtype)

    def work(_: int, first: int, some: NDArray[Any]) -> None:
        some = some[..., 0].astype(np.float64)
        across, down = (_slopes(some, smooth, slope, axis) for axis in (2, 1))
        size = np.minimum(np.hypot(across, down), largest)
        turn = np.arctan2(down, across) * (n_directions / (2.0 * math.pi))
        before = np.floor(turn)
        part = turn - before
        directed = np.full((*size.shape, n_directions), rounding)
        # atan2's rounding may lead to the next direction, never beyond it.
        for number, share in ((before, 1.0 - part), (before + 1.0, part)):
            channel = number.astype(np.intp)[..., None] % n_directions
            np.put_along_axis(directed, channel, (share * size + rounding)[..., None], axis=3)
        out[first : first + len(some)] = directed

    for_blocks(work, images, shape, height * width * n_directions)
    return out.reshape(len(images), -1) if images.ndim == 2 else out


def _slopes(images: Floats, smooth: Floats, slope: Floats, axis: int) -> Floats:
    """Return the slopes of images along an axis, smoothed along the other; 0 lies outside."""
    smoothed = correlate1d(images, smooth, axis=3 - axis, mode="constant")
    return correlate1d(smoothed, slope, axis=axis, mode="constant")
