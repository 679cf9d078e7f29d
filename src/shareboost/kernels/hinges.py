"""Sums of residuals, times powers of a column, by the bins of the column."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .compiled import compiled

Array = NDArray[Any]


@compiled()
def add_powers(
    codes: Array, values: Array, pivots: Array, rows: Array, edges: Array, out: Array
) -> None:
    """Add each row's residual, times powers of its value, to the bin of its code, by column.

    codes and values (c, n); pivots (c,), taken off the values; rows (n, width); edges (c + 1,),
    where the bins of a column start; out (bins, powers, k).
    """
    for j in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            value = values[j, i] - pivots[j]
            _add_row(out[edges[j] + codes[j, i]], rows[i], value)


@compiled()
def add_stored_powers(
    codes: Array,
    values: Array,
    examples: Array,
    pointers: Array,
    rows: Array,
    edges: Array,
    out: Array,
) -> None:
    """Do what ``add_powers`` does for columns that store only some of their rows, without pivots.

    codes, values and examples (stored,), of column j from ``pointers[j]`` to ``pointers[j + 1]``.
    """
    for j in range(edges.size - 1):
        for place in range(pointers[j], pointers[j + 1]):
            _add_row(out[edges[j] + codes[place]], rows[examples[place]], values[place])


@compiled()
def _add_row(out: Array, row: Array, value: float) -> None:
    """Add a row of numbers times the powers of a value, 0 and up, to out (powers, k)."""
    power = 1.0
    for p in range(out.shape[0]):
        for q in range(out.shape[1]):
            out[p, q] += power * row[q]
        power *= value
