"""Images as their edges, apart by direction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import correlate1d

from ..threads import Workers, single_threaded_blas
from ..validation import at_least, positive
from .image_rows import BLOCK_VALUES, check_images, shape_of_one

Floats = NDArray[np.float64]

_TRUNCATE = 4.0  # the Gaussian ends after so many sigmas
_WIDEST_SIGMA = 100.0


def edges(
    images: ArrayLike,
    n_directions: int = 8,
    *,
    sigma: float = 0.8,
    image_shape: tuple[int, ...] | None = None,
) -> NDArray[Any]:
    r"""Return how steep images are at every pixel, one channel a direction.

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
    >>> from shareboost.datasets import edges
    >>> step = np.repeat(np.array([[0, 0, 0, 0, 100, 100, 100, 100]]), 8, axis=0)
    >>> print(edges(step[None].astype(np.uint8), 4)[0, 4, 3:5])
    [[100   0   0   0]
     [100   0   0   0]]
    """
    n_directions = at_least("n_directions", n_directions, 2)
    positive("sigma", sigma)
    if sigma >= _WIDEST_SIGMA:
        raise ValueError(f"sigma={sigma!r} is not valid: it takes a number below {_WIDEST_SIGMA}.")
    images = check_images(images)
    height, width, n_channels = shape_of_one(images, image_shape)
    if n_channels != 1:
        raise ValueError(f"images has {n_channels} channels: edges takes images of one.")
    smooth, slope = _weights(sigma)
    whole = images.dtype == np.uint8
    rounding, largest = (0.5, 255.0) if whole else (0.0, math.inf)
    n = len(images)
    out = np.empty((n, height, width, n_directions), dtype=images.dtype)
    block = max(1, BLOCK_VALUES // (height * width * n_directions))

    def work(first: int) -> None:
        some = images[first : first + block].reshape(-1, height, width).astype(np.float64)
        across, down = (_slopes(some, smooth, slope, axis) for axis in (2, 1))
        size = np.minimum(np.hypot(across, down), largest)
        turn = np.arctan2(down, across) * (n_directions / (2.0 * math.pi))
        before = np.floor(turn)
        part = turn - before
        directed = np.full((*size.shape, n_directions), rounding)
        # atan2's rounding may lead to the next direction, never beyond it.
        for number, share in ((before, 1.0 - part), (before + 1.0, part)):
            place = number.astype(np.intp)[..., None] % n_directions
            np.put_along_axis(directed, place, (share * size + rounding)[..., None], axis=3)
        out[first : first + block] = directed

    with single_threaded_blas as n_threads, Workers(n_threads) as workers:
        for _ in workers.map(work, range(0, n, block)):
            pass  # an exception here cancels what has not begun
    return out.reshape(n, -1) if images.ndim == 2 else out


def _slopes(images: Floats, smooth: Floats, slope: Floats, axis: int) -> Floats:
    """Return the slopes of images along an axis, smoothed along the other; 0 lies outside."""
    smoothed = correlate1d(images, smooth, axis=3 - axis, mode="constant")
    return correlate1d(smoothed, slope, axis=axis, mode="constant")


def _weights(sigma: float) -> tuple[Floats, Floats]:
    """Return a Gaussian of sum 1, and its slope, by which a step of 1 counts 1."""
    radius = max(1, int(_TRUNCATE * sigma + 0.5))
    apart = np.arange(-radius, radius + 1)
    smooth = np.exp(-0.5 * (apart / sigma) ** 2)
    slope = apart * smooth
    return smooth / smooth.sum(), slope / slope[radius:].sum()
