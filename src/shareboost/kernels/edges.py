"""The kernel behind ``edges``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled

Array = NDArray[Any]


@compiled()
def _filtered(image: Array, weights: Array, down: bool, out: Array) -> None:
    """Write the image correlated with weights, (2 r + 1,), along one side; 0 lies outside."""
    height, width = image.shape
    radius = weights.size // 2
    length = height if down else width
    for i in range(height):
        for j in range(width):
            at = i if down else j
            total = np.float64(0.0)
            for near in range(max(0, at - radius), min(length, at + radius + 1)):
                value = image[near, j] if down else image[i, near]
                total += weights[near - at + radius] * np.float64(value)
            out[i, j] = total


@compiled()
def edges_block(
    images: Array, smooth: Array, slope: Array, largest: Any, rounding: Any, out: Array
) -> None:
    """Write the edges of images, (n, height, width), by direction, (n, height, width, k).

    ``smooth`` and ``slope`` are the weights along an edge and across it. No value is above
    ``largest``; ``rounding`` is added to each.
    """
    n, height, width = images.shape
    n_directions = out.shape[3]
    between, across, down = np.empty((3, height, width))
    out[:] = 0
    for image in range(n):
        _filtered(images[image], smooth, True, between)
        _filtered(between, slope, False, across)
        _filtered(images[image], smooth, False, between)
        _filtered(between, slope, True, down)
        for i in range(height):
            for j in range(width):
                size = min(math.hypot(across[i, j], down[i, j]), largest)
                if size == 0.0:
                    continue
                turn = math.atan2(down[i, j], across[i, j]) * (n_directions / (2.0 * math.pi))
                first = math.floor(turn)
                part = turn - first
                # atan2's rounding may lead to the next direction, never beyond it.
                before, after = int(first) % n_directions, (int(first) + 1) % n_directions
                out[image, i, j, before] = (1.0 - part) * size + rounding
                out[image, i, j, after] = part * size + rounding
