"""Sums of numbers of examples times coded columns, and times their squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import MIDDLE
from .compiled import compiled

Array = NDArray[Any]

# Rows whose residuals stay in the first cache while a column's codes pass by.
CHUNK = 1024


@compiled(fastmath=True)
def add_moments(codes: Array, rows: Array, out: Array) -> None:
    """Add to out the sums of rows times codes, and those of rows times their squares.

    codes (c, n), bytes, less ``MIDDLE``; rows (k, n), float32; out (2, k, c), float64.
    """
    k, n = rows.shape
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        for j in range(codes.shape[0]):
            column = codes[j, start:stop]
            for q in range(k):
                row = rows[q, start:stop]
                first, second = np.float32(0.0), np.float32(0.0)
                for i in range(stop - start):
                    code = np.float32(column[i]) - np.float32(MIDDLE)
                    product = code * row[i]
                    first += product
                    second += code * product
                out[0, q, j] += first
                out[1, q, j] += second
