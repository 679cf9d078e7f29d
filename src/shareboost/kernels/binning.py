"""Codes of values, column by column, for stumps."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .compiled import compiled

Array = NDArray[Any]

# Columns whose codes are written side by side: their lines of the cache are read once.
TILE = 64


@compiled()
def count_bytes(values: Array, weight: Array, out: Array) -> None:
    """Add the weight of every row to the count of its value, in each column.

    values (n, c), bytes; weight (n,); out (c, 256).
    """
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[j, values[i, j]] += weight[i]


@compiled()
def look_up(values: Array, tables: Array, out: Array) -> None:
    """Write the code of every value.

    values (n, c), bytes; tables (c, 256), the code of every value; out (c, n).
    """
    n, c = values.shape
    for first in range(0, c, TILE):
        for start in range(0, n, TILE):
            for j in range(first, min(first + TILE, c)):
                for i in range(start, min(start + TILE, n)):
                    out[j, i] = tables[j, values[i, j]]


@compiled()
def store(codes: Array, common: Array, pointers: Array, stored: Array, examples: Array) -> None:
    """Write the codes that are not the common one of their column, and their rows.

    codes (c, n); common (c,); pointers (c + 1,), where the entries of a column start in stored
    and examples.
    """
    for j in range(codes.shape[0]):
        place = pointers[j]
        for i in range(codes.shape[1]):
            if codes[j, i] != common[j]:
                stored[place] = codes[j, i]
                examples[place] = i
                place += 1


@compiled()
def sums_from_both_ends(mass: Array, edges: Array, up_to: Array, beyond: Array) -> None:
    """Write the sum of each column's masses up to every cell, and that beyond it.

    mass (cells,), of column j from ``edges[j]`` to ``edges[j + 1]``; up_to and beyond (cells,).
    """
    for j in range(edges.size - 1):
        running = 0.0
        for cell in range(edges[j], edges[j + 1]):
            running += mass[cell]
            up_to[cell] = running
        running = 0.0
        for cell in range(edges[j + 1] - 1, edges[j] - 1, -1):
            beyond[cell] = running
            running += mass[cell]


@compiled()
def find_codes(values: Array, pointers: Array, cuts: Array, starts: Array, out: Array) -> None:
    """Write the number of a column's cuts below each of its stored values; NaN is above all.

    values (stored,), of column j from ``pointers[j]`` to ``pointers[j + 1]``; cuts, rising in
    each column, of column j from ``starts[j]`` to ``starts[j + 1]``; out (stored,).
    """
    for j in range(starts.size - 1):
        for place in range(pointers[j], pointers[j + 1]):
            value = values[place]
            low, high = starts[j], starts[j + 1]
            while low < high:
                middle = (low + high) // 2
                if value <= cuts[middle]:
                    high = middle
                else:
                    low = middle + 1
            out[place] = low - starts[j]
