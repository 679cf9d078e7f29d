"""Products of few rows, one a class, with large matrices, dense and sparse.

BLAS first copies a matrix into an order of its own, which pays where many rows share the copy.
A number loaded here serves several rows straight away, from the registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import WIDTH
from .compiled import Array, compiled

# Sums may be taken in any order; infinities and NaN stay what they are.
ANY_ORDER = {"reassoc", "contract", "nsz", "arcp"}
# Examples whose products are summed in the type of the rows.
CHUNK = 4096


@compiled(fastmath=ANY_ORDER)
def add_product(rows: Array, data: Array, first: int, out: Array) -> None:
    """Add ``rows @ data``, of the columns from the first on, to out.

    rows (k, n), in whose type is computed; data (at least n, at least first + d), of any type; out
    (k, d). Eight rows of the data meet five of the others at a time; where there are fewer, one of
    them again, for nothing: a second loop would take as long to compile as the first.
    """
    k, n = rows.shape
    d = out.shape[1]
    stop = first + d
    kind = rows.dtype.type
    nowhere = np.zeros((4, d), dtype=out.dtype)  # apart: no two rows may be one
    for i in range(0, n - 7, 8):
        x0, x1 = data[i, first:stop], data[i + 1, first:stop]
        x2, x3 = data[i + 2, first:stop], data[i + 3, first:stop]
        x4, x5 = data[i + 4, first:stop], data[i + 5, first:stop]
        x6, x7 = data[i + 6, first:stop], data[i + 7, first:stop]
        for q in range(0, k, 5):
            a0, a1 = _eight(rows[q], i), _eight(rows[min(q + 1, k - 1)], i)
            a2, a3 = _eight(rows[min(q + 2, k - 1)], i), _eight(rows[min(q + 3, k - 1)], i)
            a4 = _eight(rows[min(q + 4, k - 1)], i)
            o0 = out[q]
            o1 = out[q + 1] if q + 1 < k else nowhere[0]
            o2 = out[q + 2] if q + 2 < k else nowhere[1]
            o3 = out[q + 3] if q + 3 < k else nowhere[2]
            o4 = out[q + 4] if q + 4 < k else nowhere[3]
            for j in range(d):
                low = kind(x0[j]), kind(x1[j]), kind(x2[j]), kind(x3[j])
                high = kind(x4[j]), kind(x5[j]), kind(x6[j]), kind(x7[j])
                o0[j] += _dot(a0, low, high)
                o1[j] += _dot(a1, low, high)
                o2[j] += _dot(a2, low, high)
                o3[j] += _dot(a3, low, high)
                o4[j] += _dot(a4, low, high)
    for i in range(n - n % 8, n):
        for q in range(k):
            a, o, x = rows[q, i], out[q], data[i, first:stop]
            for j in range(d):
                o[j] += a * kind(x[j])


@compiled(fastmath=ANY_ORDER)
def _eight(r: Array, i: int) -> Any:
    return r[i], r[i + 1], r[i + 2], r[i + 3], r[i + 4], r[i + 5], r[i + 6], r[i + 7]


@compiled(fastmath=ANY_ORDER)
def _dot(a: Any, low: Any, high: Any) -> Any:
    first = a[0] * low[0] + a[1] * low[1] + a[2] * low[2] + a[3] * low[3]
    return first + (a[4] * high[0] + a[5] * high[1] + a[6] * high[2] + a[7] * high[3])


@compiled(fastmath=ANY_ORDER)
def add_product_transposed(rows: Array, data: Array, out: Array) -> None:
    """Add ``rows @ data.T`` to out.

    rows (k, n), in whose type ``CHUNK`` examples are summed; data (c, n), of any type; out
    (k, c). Four rows of the data meet five of the others at a time, as in ``add_product``. What
    a row of the data gives does not depend, to the last bit, on the rows beside it.
    """
    k, n = rows.shape
    c = data.shape[0]
    kind = rows.dtype.type
    zero = kind(0)
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        for j in range(0, c, 4):
            # The last one again where there are fewer than four: all are summed alike.
            j1, j2, j3 = min(j + 1, c - 1), min(j + 2, c - 1), min(j + 3, c - 1)
            x0, x1 = data[j, start:stop], data[j1, start:stop]
            x2, x3 = data[j2, start:stop], data[j3, start:stop]
            for q in range(0, k, 5):
                r0, r1 = rows[q, start:stop], rows[min(q + 1, k - 1), start:stop]
                r2, r3 = rows[min(q + 2, k - 1), start:stop], rows[min(q + 3, k - 1), start:stop]
                r4 = rows[min(q + 4, k - 1), start:stop]
                s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = s20 = s21 = zero
                s22 = s23 = s30 = s31 = s32 = s33 = s40 = s41 = s42 = s43 = zero
                for i in range(stop - start):
                    v0, v1, v2, v3 = kind(x0[i]), kind(x1[i]), kind(x2[i]), kind(x3[i])
                    a0, a1, a2, a3, a4 = r0[i], r1[i], r2[i], r3[i], r4[i]
                    s00, s01, s02, s03 = s00 + a0 * v0, s01 + a0 * v1, s02 + a0 * v2, s03 + a0 * v3
                    s10, s11, s12, s13 = s10 + a1 * v0, s11 + a1 * v1, s12 + a1 * v2, s13 + a1 * v3
                    s20, s21, s22, s23 = s20 + a2 * v0, s21 + a2 * v1, s22 + a2 * v2, s23 + a2 * v3
                    s30, s31, s32, s33 = s30 + a3 * v0, s31 + a3 * v1, s32 + a3 * v2, s33 + a3 * v3
                    s40, s41, s42, s43 = s40 + a4 * v0, s41 + a4 * v1, s42 + a4 * v2, s43 + a4 * v3
                _add_four(out, q, j, (s00, s01, s02, s03))
                _add_four(out, q + 1, j, (s10, s11, s12, s13))
                _add_four(out, q + 2, j, (s20, s21, s22, s23))
                _add_four(out, q + 3, j, (s30, s31, s32, s33))
                _add_four(out, q + 4, j, (s40, s41, s42, s43))


@compiled()
def _add_four(out: Array, q: int, j: int, sums: Any) -> None:
    """Add four sums to row q of out from j on, as many as there is room for."""
    if q < out.shape[0]:
        for i in range(min(4, out.shape[1] - j)):
            out[q, j + i] += sums[i]


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
            v0, v1 = values[place], values[place + 1]
            v2, v3 = values[place + 2], values[place + 3]
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
