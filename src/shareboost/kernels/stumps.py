"""Codes of values, sums by code, and those below every threshold, for stumps and for hinges."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from . import WIDTH
from .compiled import Array, compiled

Tag = tuple[int, ...]

# Columns whose codes are written side by side: their lines of the cache are read once.
TILE = 64


@compiled()
def count_bytes(values: Array, weight: Array, out: Array) -> None:
    """Add each row's weight to the count of its value: bytes (n, c), weight (n,), out (c, 256)."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[j, values[i, j]] += weight[i]


@compiled()
def look_up(values: Array, tables: Array, out: Array) -> None:
    """Write the code of every value: bytes (n, c), tables of codes (c, 256), out (c, n)."""
    n, c = values.shape
    for first in range(0, c, TILE):
        for start in range(0, n, TILE):
            for j in range(first, min(first + TILE, c)):
                for i in range(start, min(start + TILE, n)):
                    out[j, i] = tables[j, values[i, j]]


@compiled()
def store(codes: Array, common: Array, pointers: Array, stored: Array, examples: Array) -> None:
    """Write the codes that are not the common one of their column, and their rows.

    codes (c, n); common (c,); the entries of column j start in stored and examples at pointers[j].
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


def _add_vector(typing_context: Any, to: Any, i: Any, source: Any, j: Any) -> Any:
    """Add ``source[j : j + WIDTH]`` to ``to[i : i + WIDTH]``, both one-dimensional.

    Of one type of floats, or the source of a narrower one. Where a loop over classes is short, the
    compiler unrolls it and then does not see that its steps could be one: this says so.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def place(kind: Any, array: Any, offset: Any) -> tuple[Any, Any, int]:
            vector = ir.VectorType(context.get_value_type(kind.dtype), WIDTH)
            data = context.make_array(kind)(context, builder, array).data
            pointer = builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())
            return pointer, vector, kind.dtype.bitwidth // 8

        target, wide, align = place(to, arguments[0], arguments[1])
        origin, narrow, own_align = place(source, arguments[2], arguments[3])
        added = builder.load(origin, align=own_align)
        if narrow != wide:
            added = builder.fpext(added, wide)
        total = builder.fadd(builder.load(target, align=align), added)
        builder.store(total, target, align=align)
        return context.get_dummy_value()

    return types.void(to, types.uintp, source, types.uintp), build


def _in_python(to: Any, i: int, source: Any, j: int) -> None:
    to[i : i + WIDTH] += source[j : j + WIDTH]


# Called as add_vector(to, i, source, j), from Python where NUMBA_DISABLE_JIT is set.
add_vector: Any = _in_python if config.DISABLE_JIT else intrinsic(_add_vector)  # type: ignore[attr-defined]


@compiled()
def add_dense(codes: Array, rows: Array, edges: Array, tag: Tag, out: Array) -> None:
    """Add each row's residual to the bin of its code, for every column.

    codes (c, n); rows (n, width), in whose type those of one call are added; edges (c + 1,),
    where the bins of a column start; out (bins, k), float64.
    """
    n, width, k = codes.shape[1], rows.shape[1], out.shape[1]
    numbers = rows.ravel()
    bins = np.empty((2, _most_bins(edges, n) * width), dtype=rows.dtype)
    for j in range(codes.shape[0]):
        start, n_bins = edges[j], edges[j + 1] - edges[j]
        own = codes[j]
        if n_bins > n:  # clearing the bins would cost more than filling them
            for i in range(n):
                b = start + np.intp(own[i])
                for q in range(k):
                    out[b, q] += rows[i, q]
            continue
        # Two sets of bins: equal codes in a row need not wait for each other.
        even, odd = bins[0, : n_bins * width], bins[1, : n_bins * width]
        even[:] = 0
        odd[:] = 0
        for i in range(0, n - 1, 2):
            _add_row(even, own[i], numbers, i, width, tag)
            _add_row(odd, own[i + 1], numbers, i + 1, width, tag)
        if n % 2:
            _add_row(even, own[n - 1], numbers, n - 1, width, tag)
        _add_bins(even, odd, tag, out[start : start + n_bins])


@compiled()
def add_stored(
    codes: Array, examples: Array, pointers: Array, rows: Array, edges: Array, tag: Tag, out: Array
) -> None:
    """Do what ``add_dense`` does, for columns that store only some of their rows.

    codes and examples (stored,), of column j from ``pointers[j]`` to ``pointers[j + 1]``. All
    other rows of a column have one code in common, for whose bin see ``fill_common``.
    """
    width, k = rows.shape[1], out.shape[1]
    numbers = rows.ravel()
    bins = np.empty((2, _most_bins(edges, rows.shape[0]) * width), dtype=rows.dtype)
    for j in range(edges.size - 1):
        first, n_bins = edges[j], edges[j + 1] - edges[j]
        start, stop = np.intp(pointers[j]), np.intp(pointers[j + 1])
        if n_bins > stop - start:
            for place in range(start, stop):
                b = first + np.intp(codes[place])
                for q in range(k):
                    out[b, q] += rows[examples[place], q]
            continue
        even, odd = bins[0, : n_bins * width], bins[1, : n_bins * width]
        even[:] = 0
        odd[:] = 0
        for place in range(start, stop - 1, 2):
            _add_row(even, codes[place], numbers, examples[place], width, tag)
            _add_row(odd, codes[place + 1], numbers, examples[place + 1], width, tag)
        if (stop - start) % 2:
            _add_row(even, codes[stop - 1], numbers, examples[stop - 1], width, tag)
        _add_bins(even, odd, tag, out[first : first + n_bins])


@compiled()
def _add_row(bins: Array, code: int, numbers: Array, example: int, width: int, tag: Tag) -> None:
    """Add an example's numbers to the bin of its code, both padded to whole vectors."""
    if len(tag) > 0:  # the same number, known to the compiler
        width = -(-len(tag) // WIDTH) * WIDTH
    to, source = np.uintp(code) * np.uintp(width), np.uintp(example) * np.uintp(width)
    for q in range(0, width, WIDTH):
        add_vector(bins, to + np.uintp(q), numbers, source + np.uintp(q))


@compiled()
def _add_bins(even: Array, odd: Array, tag: Tag, out: Array) -> None:
    """Add both sets of bins, padded to whole vectors, to those of out, which are not."""
    k = len(tag) if len(tag) > 0 else out.shape[1]
    width = np.uintp(-(-k // WIDTH) * WIDTH)
    to = out.ravel()
    for b in range(np.uintp(out.shape[0])):
        for q in range(0, k, WIDTH):
            place = b * width + np.uintp(q)
            add_vector(even, place, odd, place)
            if q + WIDTH <= k:
                add_vector(to, b * np.uintp(k) + np.uintp(q), even, place)
        for q in range(k // WIDTH * WIDTH, k):
            to[b * np.uintp(k) + np.uintp(q)] += even[b * width + np.uintp(q)]


@compiled()
def _most_bins(edges: Array, limit: int) -> int:
    """Return the most bins of a column that has at most ``limit`` of them."""
    most = 0
    for j in range(edges.size - 1):
        if edges[j + 1] - edges[j] <= limit:
            most = max(most, edges[j + 1] - edges[j])
    return most


@compiled()
def fill_common(sums: Array, edges: Array, common: Array) -> None:
    """Write what the rows that are not stored add to: the total less all other bins.

    sums (bins + 1, k), as ``add_stored`` left them after all blocks, the last row the total of
    all rows; common (c,), the code of those rows, which stored ones may have, too.
    """
    total, k = sums.shape[0] - 1, sums.shape[1]
    for j in range(common.size):
        own = edges[j] + common[j]
        for q in range(k):
            sums[own, q] = sums[total, q]
        for b in range(edges[j], edges[j + 1]):
            if b != own:
                for q in range(k):
                    sums[own, q] -= sums[b, q]


@compiled()
def running_sums(sums: Array, edges: Array, out: Array) -> None:
    """Write the running sum of sums (bins, k) up to all bins but each column's last, (k, atoms)."""
    k = out.shape[0]
    running = np.empty(k)
    place = 0
    for j in range(edges.size - 1):
        running[:] = 0.0
        for b in range(edges[j], edges[j + 1] - 1):
            for q in range(k):
                running[q] += sums[b, q]
                out[q, place] = running[q]
            place += 1


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
            _add_powers_of(out[edges[j] + codes[j, i]], rows[i], value)


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
            _add_powers_of(out[edges[j] + codes[place]], rows[examples[place]], values[place])


@compiled()
def _add_powers_of(out: Array, row: Array, value: float) -> None:
    """Add a row of numbers times the powers of a value, 0 and up, to out (powers, k)."""
    power = 1.0
    for p in range(out.shape[0]):
        for q in range(out.shape[1]):
            out[p, q] += power * row[q]
        power *= value
