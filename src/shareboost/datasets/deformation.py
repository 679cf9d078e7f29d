"""Deformed copies of images, to expand a training set."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..validation import at_least, from_zero
from .images import check_images, for_blocks, shape_of_one


def deform(
    images: ArrayLike,
    n_copies: int = 1,
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
    *,
    image_shape: tuple[int, ...] | None = None,
    elastic_sigma: float = 4.0,
    elastic_alpha: float = 24.0,
    rotation: float = 7.5,
    scale: float = 0.08,
    shear: float = 0.08,
) -> NDArray[Any]:
    r"""Return copies of the images under small random elastic and affine deformations.

    The value of a copy at the pixel p, counted from the image's centre, is that of the image at

    .. math:: (R K S)^{-1} p + \alpha \, (G_\sigma * u)(p),

    interpolated bilinearly between pixels and 0 outside the image. R is a rotation, K moves
    columns in proportion to their row (shear), S scales rows and columns. u holds two numbers per
    pixel, drawn uniformly from [-1, 1] and 0 outside the image; the Gaussian G has the sum 1 and
    ends after 3 sigmas. The paper adds five such copies of each image to MNIST's training set
    (section 7.4).

    Parameters
    ----------
    images : array-like of shape (n, height * width) or (n, height, width[, channels])
        Of dtype uint8, float32 or float64, finite, the background 0. Channels move together.
    n_copies : int, default=1
        Copies of each image.
    random_state : int, RandomState, Generator or None, default=None
        With the same int, a copy depends only on its image, the position of the image and the
        number of the copy: more images behind it, more copies or other numbers of threads
        change nothing.
    image_shape : tuple of int, default=None
        For images in rows, (height, width) or (height, width, channels). None takes
        rows for square images of one channel.
    elastic_sigma : float, default=4.0
        Width of the Gaussian in pixels, below 1000; 0 leaves the noise as it is.
    elastic_alpha : float, default=24.0
        What the smoothed noise is multiplied by, in pixels. With the default width the
        displacements have a standard deviation of about 1 pixel, and less near the border.
    rotation : float, default=7.5
        Largest angle in degrees, to either side.
    scale : float, default=0.08
        Largest relative change of height and, separately, of width; below 1.
    shear : float, default=0.08
        Largest shift of columns per row, to either side.

    Returns
    -------
    ndarray of shape (n_copies * n, ...)
        With the dtype of the images and the shape of each: a copy of every image, in their
        order, then the next copy of every image; their labels are ``np.tile(y, n_copies)``. No
        value lies beyond those of the image and 0; uint8 is rounded to the nearest.

    References
    ----------
    P. Y. Simard, D. Steinkraus, J. C. Platt, "Best practices for convolutional neural
    networks applied to visual document analysis", ICDAR 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from shareboost.datasets import deform
    >>> X, y = load_digits(return_X_y=True)
    >>> more = deform(X, n_copies=5, random_state=0, elastic_sigma=1.5, elastic_alpha=3.0)
    >>> X_expanded, y_expanded = np.vstack([X, more]), np.tile(y, 1 + 5)
    >>> X_expanded.shape, y_expanded.shape
    ((10782, 64), (10782,))
    """
    n_copies = at_least("n_copies", n_copies, 1)
    sigma = from_zero("elastic_sigma", elastic_sigma, below=1000.0)
    alpha = from_zero("elastic_alpha", elastic_alpha)
    angle = math.radians(from_zero("rotation", rotation))
    scale = from_zero("scale", scale, below=1.0)
    shear = from_zero("shear", shear)
    images = check_images(images)
    shape = shape_of_one(images, image_shape)
    key = _draw_key(random_state)

    from ..kernels.warp import Strengths, deform_block  # numba's import takes its time

    height, width, _ = shape
    strengths = Strengths(angle, scale, shear, alpha)
    # The weights at the distances 0, 1, ... of a Gaussian whose sum is 1.
    weights = np.exp(-0.5 * (np.arange(int(3.0 * sigma + 0.5) + 1) / (sigma or 1.0)) ** 2)
    weights /= weights[0] + 2.0 * weights[1:].sum()
    weights = weights[: max(height, width)].astype(np.float32)  # no pixels are further apart
    dtype = np.dtype(np.float64 if images.dtype == np.float64 else np.float32)
    rounding = dtype.type(0.5 if images.dtype == np.uint8 else 0.0)
    out = np.empty((n_copies, len(images), *shape), dtype=images.dtype)

    def work(copy: int, first: int, some: NDArray[Any]) -> None:
        plane = np.zeros((height + 3, width + 3), dtype=dtype)
        target = out[copy, first : first + len(some)]
        deform_block(some, plane, (key, first, copy), weights, strengths, rounding, target)

    for_blocks(work, images, shape, math.prod(shape), n_copies)
    return out.reshape(-1, *images.shape[1:])


def _draw_key(random_state: Any) -> np.uint64:
    """Return the 64 bits that name all random numbers of one call."""
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(2**64, dtype=np.uint64)
    try:
        return check_random_state(random_state).randint(2**64, dtype=np.uint64)
    except ValueError as error:
        raise ValueError(
            f"random_state={random_state!r} is not valid: it takes an integer from 0 to "
            "2**32 - 1, a RandomState, a Generator or None."
        ) from error
