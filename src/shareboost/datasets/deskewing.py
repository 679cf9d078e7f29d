"""Slanted images set upright."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..threads import Workers, single_threaded_blas
from .image_rows import BLOCK_VALUES, check_images, shape_of_one


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

    from ..kernels.slant import deskew_block  # numba's import takes its time

    rounding = 0.5 if images.dtype == np.uint8 else 0.0
    out = np.empty((len(images), *shape), dtype=images.dtype)
    block = max(1, BLOCK_VALUES // math.prod(shape))

    def work(first: int) -> None:
        some = np.ascontiguousarray(images[first : first + block]).reshape(-1, *shape)
        deskew_block(some, rounding, out[first : first + block])

    with single_threaded_blas as n_threads, Workers(n_threads) as workers:
        for _ in workers.map(work, range(0, len(images), block)):
            pass  # an exception here cancels what has not begun
    return out.reshape(images.shape)
