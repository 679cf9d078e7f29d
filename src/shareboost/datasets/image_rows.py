"""Images as the functions of this package take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validation import image_shape_of_rows

_DTYPES = (np.dtype(np.uint8), np.dtype(np.float32), np.dtype(np.float64))
# Values a task: some 20 ms, so that an interrupt is soon heard.
BLOCK_VALUES = 2**19


def check_images(images: Any) -> NDArray[Any]:
    """Return the images as an array of a known dtype, finite and not empty."""
    images = np.asarray(images)
    if images.ndim not in (2, 3, 4) or images.size == 0:
        raise ValueError(
            f"images has the shape {images.shape}: it takes at least one image, as (n, height * "
            "width), (n, height, width) or (n, height, width, channels)."
        )
    if images.dtype not in _DTYPES:
        raise ValueError(
            f"images has the dtype {images.dtype}: it takes uint8, float32 or float64."
        )
    # Image by image, for no array of flags as large as the images.
    if images.dtype != np.uint8 and not all(np.isfinite(image).all() for image in images):
        raise ValueError("images has values that are NaN or infinite: it takes finite numbers.")
    return images


def shape_of_one(images: NDArray[Any], image_shape: Any) -> tuple[int, int, int]:
    """Return (height, width, channels)."""
    if images.ndim > 2:
        own = images.shape[1:]
        if image_shape not in (None, own, list(own)):
            raise ValueError(
                f"image_shape={image_shape!r} is not that of images, {own}: it takes None where "
                "images are not in rows."
            )
        return own[0], own[1], (own[2] if len(own) == 3 else 1)
    return image_shape_of_rows(images.shape[1], image_shape, "images")
