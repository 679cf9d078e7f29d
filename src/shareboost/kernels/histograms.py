"""Sums of residuals by code, and those below every threshold from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


def tag_of(n_classes: int) -> tuple[int, ...]:
    """Return a tuple as long as there are classes.

    A tuple's length is known when a kernel is compiled, so that its loop over classes is
    unrolled: half the time of a loop of unknown length, for 10 classes.
    """
    return (0,) * n_classes


@njit(cache=True, nogil=True)
def add_dense(codes: Array, rows: Array, edges: Array, tag: tuple[int, ...], out: Array) -> None:
    """Add each row's residual to the bin of its code, for every column.

    codes (c, n); rows (n, k), in whose type those of one call are added; edges (c + 1,),
    where the bins of a column start; out (bins, k), float64.
    """
    n = codes.shape[1]
    for j in range(codes.shape[0]):
        start, n_bins = edges[j], edges[j + 1] - edges[j]
        if n_bins > n:  # clearing the bins would cost more than filling them
            for i in range(n):
                b = start + np.intp(codes[j, i])
                for q in range(len(tag)):
                    out[b, q] += rows[i, q]
            continue
        # Two sets of bins: equal codes in a row need not wait for each other.
        even = np.zeros((n_bins, len(tag)), dtype=rows.dtype)
        odd = np.zeros((n_bins, len(tag)), dtype=rows.dtype)
        for i in range(0, n - 1, 2):
            a, b = np.intp(codes[j, i]), np.intp(codes[j, i + 1])
            for q in range(len(tag)):
                even[a, q] += rows[i, q]
            for q in range(len(tag)):
                odd[b, q] += rows[i + 1, q]
        if n % 2:
            for q in range(len(tag)):
                even[np.intp(codes[j, n - 1]), q] += rows[n - 1, q]
        for b in range(n_bins):
            for q in range(len(tag)):
                out[start + b, q] += even[b, q] + odd[b, q]


@njit(cache=True, nogil=True)
def add_sparse(
    codes: Array,
    examples: Array,
    pointers: Array,
    zero_codes: Array,
    rows: Array,
    edges: Array,
    tag: tuple[int, ...],
    out: Array,
) -> None:
    """Do what ``add_dense`` does, for columns that store only some of their rows.

    codes and examples (stored,), of column j from ``pointers[j]`` to ``pointers[j + 1]``;
    all other rows have the code ``zero_codes[j]``.
    """
    total = np.zeros(len(tag), dtype=np.float64)
    for i in range(rows.shape[0]):
        for q in range(len(tag)):
            total[q] += rows[i, q]
    for j in range(zero_codes.size):
        rest = total.copy()
        for place in range(pointers[j], pointers[j + 1]):
            i, b = examples[place], edges[j] + np.intp(codes[place])
            for q in range(len(tag)):
                out[b, q] += rows[i, q]
                rest[q] -= rows[i, q]
        for q in range(len(tag)):
            out[edges[j] + zero_codes[j], q] += rest[q]


@njit(cache=True, nogil=True)
def running_sums(sums: Array, edges: Array, out: Array) -> None:
    """Write the running sum up to every bin but a column's last, class by class.

    sums (bins, k), as made by ``add_dense``; out (k, atoms).
    """
    k = sums.shape[1]
    running = np.empty(k)
    place = 0
    for j in range(edges.size - 1):
        running[:] = 0.0
        for b in range(edges[j], edges[j + 1] - 1):
            for q in range(k):
                running[q] += sums[b, q]
                out[q, place] = running[q]
            place += 1
