"""The masks of templates, one side of them: a mask is a product of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def gaussians(
    length: int, patch: int, n: int, sigma: float
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return n Gaussian weights over a patch's places along one side, and their centres.

    The weights are (n, places); the centres, spread evenly over the places, are those of
    the patch in pixels.
    """
    places = np.arange(length - patch + 1)
    n = min(n, places.size)  # no two masks nearer than a pixel
    middle = (np.arange(n) + 0.5) * places.size / n - 0.5
    weights = np.exp(-0.5 * ((places - middle[:, None]) / sigma) ** 2)
    # Never zero: a weight of zero would hide which place is best from the codes.
    weights = np.maximum(weights, 1e-30).astype(np.float32)
    return weights, middle + (patch - 1) / 2.0
