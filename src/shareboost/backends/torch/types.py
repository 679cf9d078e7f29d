"""Types of numbers, NumPy's and torch's."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch


@cache
def tensor_type(dtype: np.dtype[Any]) -> torch.dtype:
    """Return torch's type of NumPy's."""
    return getattr(torch, dtype.name)


def numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    """Return NumPy's type of torch's; half precision of eight bits of exponent has none."""
    if dtype == torch.bfloat16:
        return np.dtype(np.float32)
    return np.dtype(str(dtype).removeprefix("torch."))
