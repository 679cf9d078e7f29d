"""Sums of residuals times columns that store only some of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import WIDTH
from .compiled import compiled

Array = NDArray[Any]


@compiled(fastmath={"reassoc", "contract", "nsz"})
def add_sparse_product(
    values: Array, examples: Array, pointers: Array, rows: Array, tag: tuple[int, ...], out: Array
) -> None:
    """Add the sums of ``rows[example] * value`` over the entries of each column to out.

    values and examples (stored,), of column j from ``pointers[j]`` to ``pointers[j + 1]``; rows
    (n, width), in whose type those of one call are added; out (columns, k), float64.
    """
    k = len(tag) if len(tag) > 0 else out.shape[1]
    width = -(-k // WIDTH) * WIDTH
    sums = np.empty(width, dtype=rows.dtype)
    for j in range(out.shape[0]):
        start, stop = np.intp(pointers[j]), np.intp(pointers[j + 1])
        in_fours = stop - (stop - start) % 4
        sums[:] = 0
        for place in range(start, in_fours, 4):
            # A sum is loaded and stored once for four entries.
            v0, v1, v2, v3 = (
                values[place],
                values[place + 1],
                values[place + 2],
                values[place + 3],
            )
            r0, r1 = rows[examples[place]], rows[examples[place + 1]]
            r2, r3 = rows[examples[place + 2]], rows[examples[place + 3]]
            for q in range(width):
                sums[q] += (v0 * r0[q] + v1 * r1[q]) + (v2 * r2[q] + v3 * r3[q])
        for place in range(in_fours, stop):
            value, row = values[place], rows[examples[place]]
            for q in range(width):
                sums[q] += value * row[q]
        for q in range(k):
            out[j, q] += sums[q]
