"""Numbers as a report writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rounded(values: NDArray[np.floating[Any]], digits: int) -> Any:
    """Return nested lists of the values, to so many significant digits."""
    wide = np.asarray(values, dtype=np.float64)
    size = np.abs(wide)
    exponents = np.floor(np.log10(np.where(size > 1e-290, size, 1.0)))
    power = 10.0 ** (digits - 1 - exponents)
    return (np.round(wide * power) / power).tolist()


def finite(value: float) -> float | None:
    """Return the number, None for one that JSON does not have."""
    return float(value) if np.isfinite(value) else None
