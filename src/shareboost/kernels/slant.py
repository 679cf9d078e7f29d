"""The kernel behind ``deskew``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled


@compiled()
def slant(image: NDArray[Any]) -> tuple[float, float]:
    """Return how far columns move a row, and the row around which they do.

    That is the covariance of row and column over the variance of the row, with the pixels of
    the image, (height, width, channels), for weights. (0, 0) where there is no such thing.
    """
    total = rows = columns = squares = products = largest = 0.0
    height, width, n_channels = image.shape
    for value in image.flat:
        largest = max(largest, abs(np.float64(value)))
    if largest == 0.0:
        return 0.0, 0.0
    for i in range(height):
        for j in range(width):
            for channel in range(n_channels):
                value = np.float64(image[i, j, channel]) / largest  # sums stay finite
                total += value
                rows += value * i
                columns += value * j
                squares += value * i * i
                products += value * i * j
    if total <= 0.0:
        return 0.0, 0.0
    variance = squares / total - (rows / total) ** 2
    if variance <= 1e-9 * height * height:
        return 0.0, 0.0
    return (products / total - rows / total * columns / total) / variance, rows / total


@compiled()
def deskew_block(images: NDArray[Any], rounding: Any, out: NDArray[Any]) -> None:
    """Move the rows of images, (n, height, width, channels), sideways until none is slanted."""
    n, height, width, n_channels = images.shape
    for image in range(n):
        per_row, middle = slant(images[image])
        for i in range(height):
            # No row moves further than out of the image.
            shift = min(max(per_row * (i - middle), -np.float64(width)), np.float64(width))
            whole = int(np.floor(shift))
            part = shift - whole
            for j in range(width):
                left, right = j + whole, j + whole + 1
                for channel in range(n_channels):
                    a = b = 0.0
                    if 0 <= left < width:
                        a = np.float64(images[image, i, left, channel])
                    if 0 <= right < width:
                        b = np.float64(images[image, i, right, channel])
                    value = (1.0 - part) * a + part * b
                    # The last bit may not leave the range of the two.
                    value = min(max(value, min(a, b)), max(a, b))
                    out[image, i, j, channel] = value + rounding
