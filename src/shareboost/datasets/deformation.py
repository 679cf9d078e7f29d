"""Deformed copies of images, to expand a training set; and how images are taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..threads import Workers, blas
from ..validation import at_least, from_zero, image_shape_of_rows

BLOCK_VALUES = 2**19  # per task: about 20 ms, so that an interrupt is heard soon


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

    The value of a copy at the pixel p, counted from the centre, is that of the image at
    :math:`(R K S)^{-1} p + \alpha (G_\sigma * u)(p)`, interpolated bilinearly and 0 outside. R is a
    rotation, K a shear, and S scales rows and columns. u holds two numbers per pixel, drawn
    uniformly from [-1, 1]; the Gaussian G has the sum 1 and ends after 3 sigmas. The paper adds
    five such copies of each image to MNIST's training set (section 7.4), as Simard, Steinkraus and
    Platt did ("Best practices for convolutional neural networks", ICDAR 2003).

    Parameters
    ----------
    images : array-like of shape (n, height * width) or (n, height, width[, channels])
        Of dtype uint8, float32 or float64, finite, the background 0. Channels move together.
    n_copies : int, default=1
        Copies of each image.
    random_state : int, RandomState, Generator or None, default=None
        With an int, a copy depends only on its image, the image's position and the copy's number.
    image_shape : tuple of int, default=None
        Of images in rows: (height, width) or (height, width, channels). None: square, one channel.
    elastic_sigma, elastic_alpha : float, default=4.0 and 24.0
        Width of the Gaussian in pixels, below 1000, and the factor of the smoothed noise. The
        defaults give displacements with a standard deviation of about 1 pixel.
    rotation, scale, shear : float, default=7.5, 0.08 and 0.08
        The largest angle in degrees, relative change of height and, separately, of width (below
        1), and shift of columns per row.

    Returns
    -------
    ndarray of shape (n_copies * n, ...)
        With the dtype of the images, whose range with 0 no value leaves; uint8 is rounded. One copy
        of every image, then the next of every image: their labels are ``np.tile(y, n_copies)``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shareboost.datasets import deform
    >>> deform(load_digits().data, 5, random_state=0, elastic_sigma=1.5, elastic_alpha=3.0).shape
    (8985, 64)
    """
    n_copies = at_least("n_copies", n_copies, 1)
    sigma = from_zero("elastic_sigma", elastic_sigma, below=1000.0)
    alpha = from_zero("elastic_alpha", elastic_alpha)
    angle = math.radians(from_zero("rotation", rotation))
    largest = angle, from_zero("scale", scale, below=1.0), from_zero("shear", shear), alpha
    images = check_images(images)
    out = np.empty((n_copies, len(images), *shape_of_one(images, image_shape)), images.dtype)
    _write_copies(out, images, _draw_key(random_state), sigma, largest)
    return out.reshape(-1, *images.shape[1:])


def _write_copies(
    out: NDArray[Any],
    images: NDArray[Any],
    key: np.uint64,
    sigma: float,
    largest: tuple[float, float, float, float],
) -> None:
    """Write deformed copies into out, (n_copies, n, height, width, channels)."""
    from ..kernels.warp import Strengths, deform_block  # numba's import takes its time

    strengths = Strengths(*largest)
    height, width, _ = shape = out.shape[2:]
    # The weights at the distances 0, 1, ... of a Gaussian whose sum is 1.
    weights = np.exp(-0.5 * (np.arange(int(3.0 * sigma + 0.5) + 1) / (sigma or 1.0)) ** 2)
    weights /= weights[0] + 2.0 * weights[1:].sum()
    weights = weights[: max(height, width)].astype(np.float32)  # no pixels are further apart
    dtype = np.dtype(np.float64 if out.dtype == np.float64 else np.float32)
    rounding = dtype.type(0.5 if out.dtype == np.uint8 else 0.0)

    def work(copy: int, first: int, some: NDArray[Any]) -> None:
        plane = np.zeros((height + 3, width + 3), dtype=dtype)
        target = out[copy, first : first + len(some)]
        deform_block(some, plane, (key, first, copy), weights, strengths, rounding, target)

    for_blocks(work, images, shape, math.prod(shape), len(out))


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


def for_blocks(
    work: Callable[[int, int, NDArray[Any]], None],
    images: NDArray[Any],
    shape: tuple[int, ...],
    n_values: int,
    n_copies: int = 1,
) -> None:
    """Call ``work(copy, first, images[first : first + block])`` for all blocks, on all threads."""
    block = max(1, BLOCK_VALUES // n_values)

    def work_on(task: tuple[int, int]) -> None:
        copy, first = task
        some = np.ascontiguousarray(images[first : first + block])
        work(copy, first, some.reshape(-1, *shape))

    tasks = [(copy, first) for copy in range(n_copies) for first in range(0, len(images), block)]
    with blas.single_threaded() as n_threads, Workers(n_threads) as workers:
        for _ in workers.map(work_on, tasks):
            pass  # an exception here cancels what has not begun


def check_images(images: Any) -> NDArray[Any]:
    """Return the images as an array of a known dtype, finite and not empty."""
    images = np.asarray(images)
    if images.ndim not in (2, 3, 4) or images.size == 0:
        raise ValueError(
            f"images has the shape {images.shape}: it takes at least one image, as (n, height * "
            "width), (n, height, width) or (n, height, width, channels)."
        )
    if images.dtype not in ("uint8", "float32", "float64"):
        raise ValueError(
            f"images has the dtype {images.dtype}: it takes uint8, float32 or float64."
        )
    # Image by image: an array of flags for all of them would be as large as bytes.
    if images.dtype != np.uint8 and not all(np.isfinite(image).all() for image in images):
        raise ValueError("images has values that are NaN or infinite: it takes finite numbers.")
    return images


def shape_of_one(images: NDArray[Any], image_shape: Any) -> tuple[int, int, int]:
    """Return (height, width, channels)."""
    if images.ndim == 2:
        return image_shape_of_rows(images.shape[1], image_shape, "images")
    actual = images.shape[1:]
    if image_shape not in (None, actual, list(actual)):
        raise ValueError(
            f"image_shape={image_shape!r} is not that of images, {actual}: it takes None where "
            "images are not in rows."
        )
    return actual[0], actual[1], (actual[2] if len(actual) == 3 else 1)
