"""The types in which columns are computed and summed, and ranges of rows or atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Beyond this ratio of a column's size to its spread, float32 sums lose its variation.
LARGEST_OFFSET_IN_FLOAT32 = 1e3
# Beyond this magnitude, or below its inverse, float32 sums may overflow or vanish.
LARGEST_SIZE_IN_FLOAT32 = 1e25


def sums_type(
    dtype: np.dtype[Any], offsets: NDArray[np.floating], sizes: NDArray[np.floating]
) -> np.dtype[Any]:
    """Return the type in which columns of that type are summed.

    Float64 where the sums would lose a column's variation in float32: for a large offset,
    in units of its deviation, and for a very large or small magnitude.
    """
    far = (
        offsets.max(initial=0.0) > LARGEST_OFFSET_IN_FLOAT32
        or sizes.max(initial=1.0) > LARGEST_SIZE_IN_FLOAT32
        or sizes.min(initial=1.0) < 1.0 / LARGEST_SIZE_IN_FLOAT32
    )
    return np.dtype(np.float64) if far else dtype


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 where it holds every value of ``dtype``, else float64."""
    exact = np.result_type(dtype, np.float32)
    return np.dtype(np.float32) if exact == np.float32 else np.dtype(np.float64)


def ranges(n: int, step: int) -> list[slice]:
    """Return the slices of ``step`` that cover ``range(n)``."""
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]
