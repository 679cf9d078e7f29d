"""The logistic loss of a block of examples, but for exponentials and logarithms: NumPy's are fast.

Shapes are those of ``losses``. Some hundred examples at a time, so that what a step leaves is
still in the first cache when the next one comes.
"""

from __future__ import annotations

import numpy as np

from .compiled import Array, compiled

CHUNK = 512
# Classes whose exponentials are added one by one; then such sums are. One sum of 5,000 classes
# in float32 would be off by 1e-5 of itself, and so would the gradient: a refit could not converge.
GROUP = 64


def at_once(scores: Array, y: Array, weight: Array, margin: float) -> None:
    """Return None: here the loss is made step by step."""


@compiled(error_model="numpy")
def lead(scores: Array, y: Array, margin: float, own: Array) -> None:
    """Take the margin off the true class, then the largest score off all; write the true one's.

    scores (k, n), overwritten; y (n,); own (n,), at most 0.
    """
    k, n = scores.shape
    margin = scores.dtype.type(margin)
    largest = np.empty(CHUNK, dtype=scores.dtype)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        for i in range(start, start + size):
            scores[y[i], i] -= margin
        for i in range(size):
            largest[i] = scores[0, start + i]
        for q in range(1, k):
            row = scores[q, start : start + size]
            for i in range(size):
                largest[i] = row[i] if row[i] > largest[i] else largest[i]
        for q in range(k):
            row = scores[q, start : start + size]
            for i in range(size):
                row[i] -= largest[i]
        for i in range(start, start + size):
            own[i] = scores[y[i], i]


@compiled(error_model="numpy")
def residual_of(exps: Array, y: Array, weight: Array, rest: Array, total: Array) -> None:
    """Overwrite the exponentials of what ``lead`` left with the residual.

    exps (k, n); y and weight (n,). Writes the sums over all classes but the true one to rest,
    (n,), and those over all classes to total, (n,). The true class is kept apart, so that its
    residual is not rounded away where it leads by far.
    """
    k, n = exps.shape
    share, some = np.empty(CHUNK, dtype=exps.dtype), np.empty(CHUNK, dtype=exps.dtype)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        mine, others = total[start : start + size], rest[start : start + size]
        others[:] = 0
        for i in range(size):
            mine[i] = exps[y[start + i], start + i]
            exps[y[start + i], start + i] = 0
        for first in range(0, k, GROUP):
            some[:] = 0
            for q in range(first, min(first + GROUP, k)):
                row = exps[q, start : start + size]
                for i in range(size):
                    some[i] += row[i]
            for i in range(size):
                others[i] += some[i]
        for i in range(size):
            mine[i] += others[i]
            share[i] = weight[start + i] / mine[i]
        for q in range(k):
            row = exps[q, start : start + size]
            for i in range(size):
                row[i] *= share[i]
        for i in range(size):
            exps[y[start + i], start + i] = -others[i] * share[i]
