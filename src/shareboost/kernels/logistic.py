"""The logistic loss of all classes, its residual and its gradient, for a block of examples.

One call does it all, so that threads that share the blocks seldom wait for Python's lock. Shapes
are those of ``losses``.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from .compiled import Array, compiled
from .products import add_product, add_product_transposed

# Examples at a time: what a step leaves is still in the first cache when the next one comes.
CHUNK = 512
# Classes whose exponentials are added one by one; then such sums are. One sum of 5,000 classes
# in float32 would be off by 1e-5 of itself, and so would the gradient: a refit could not converge.
GROUP = 64
# Integers as wide as the floats of each type: exponents are written into their bits.
BITS: dict[str, Array] = {"f": np.empty(0, dtype=np.int32), "d": np.empty(0, dtype=np.int64)}

LOG2_E = 1.4426950408889634
# ln 2 in two parts, for float32 and for float64: the first has few digits, so that its products
# with the exponents are exact.
LN_2 = (0.693359375, -2.12194440e-4), (0.6931471803691238, 1.9082149292705877e-10)
SERIES = tuple(1.0 / factorial(i) for i in range(13))  # of the exponential


@compiled(fastmath={"contract"}, error_model="numpy")
def evaluate(
    W: Array,
    columns: Array,
    y: Array,
    weight: Array,
    margin: float,
    bits: Array,
    residual: Array,
    gradient: Array,
) -> float:
    """Return the total loss at W; write the residual, and add the gradient to ``gradient``.

    W (k, c) and columns (at least c, n), in whose type is computed; bits of ``BITS``; residual (k,
    n); gradient (k, columns wanted). Without columns at all the scores are what is in ``residual``.

    The true class is kept apart, so that neither the loss nor the residual of an example is rounded
    away where it leads by far.
    """
    if len(columns):  # W may have none of them yet
        residual[:] = 0
        add_product(W, columns, 0, residual)
    k, n = residual.shape
    kind = residual.dtype.type
    largest, own = np.empty(CHUNK, residual.dtype), np.empty(CHUNK, residual.dtype)
    true, some = np.empty(CHUNK, residual.dtype), np.empty(CHUNK, residual.dtype)
    rest = np.empty(CHUNK, residual.dtype)
    exponents = np.empty(CHUNK, dtype=bits.dtype)
    loss = 0.0
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        # Taking the margin off the true class equals adding it to all the others.
        for i in range(size):
            own[i] = residual[y[start + i], start + i] - kind(margin)
            residual[y[start + i], start + i] = own[i]
            largest[i] = residual[0, start + i]
        for q in range(1, k):
            row = residual[q, start : start + size]
            for i in range(size):
                largest[i] = row[i] if row[i] > largest[i] else largest[i]
        for i in range(size):
            true[i] = own[i]
            own[i] -= largest[i]  # at most 0
            residual[y[start + i], start + i] = -np.inf  # whose exponential is 0
        rest[:] = 0
        some[:] = 0
        for q in range(k + 1):
            row = residual[q, start : start + size] if q < k else true
            if q % GROUP == 0 or q == k:
                for i in range(size):
                    rest[i] += some[i]
                    some[i] = 0
            _exponentials(row, largest, exponents, size)
            for i in range(size):
                some[i] += row[i]
        share = largest  # in its memory
        for i in range(size):
            # ln(1 + rest), where the true class leads, must not lose a small rest.
            above = np.float64(rest[i])
            if own[i] < 0:
                above += np.float64(true[i]) - 1.0
            loss += weight[start + i] * (np.log1p(above) - own[i])
            share[i] = weight[start + i] / (true[i] + rest[i])
        for q in range(k):
            row = residual[q, start : start + size]
            for i in range(size):
                row[i] *= share[i]
        for i in range(size):
            residual[y[start + i], start + i] = -rest[i] * share[i]
    add_product_transposed(residual, columns[: gradient.shape[1]], gradient)
    return loss


@compiled(fastmath={"contract"}, inline="always")
def _exponentials(row: Array, largest: Array, exponents: Array, size: int) -> None:
    """Overwrite the first numbers of a row by ``exp(row - largest)``, for differences of at most 0.

    ``e^x = 2^m e^r`` with a whole m and r between plus and minus half of ln 2, right to about one
    unit of the last digit. What would be below the least normal number is 0; NaN stays NaN.
    ``exponents`` are integers as wide as the row's numbers.
    """
    kind, c = row.dtype.type, SERIES
    single = row.itemsize == 4
    digits, bias = (23, 127) if single else (52, 1023)
    high, low = LN_2[0] if single else LN_2[1]
    least = kind((1 - bias) * high)
    powers = exponents.view(row.dtype)
    for i in range(size):
        x = row[i] - largest[i]
        # A conversion rounds towards zero.
        exponents[i] = x * kind(LOG2_E) - kind(0.5) if x > least else kind(0)
    for i in range(size):
        x, m = row[i] - largest[i], kind(exponents[i])
        r = (x - m * kind(high)) - m * kind(low)
        p = kind(c[7])
        if not single:
            p += r * (kind(c[8]) + r * (kind(c[9]) + r * kind(c[10])))
            p += r**4 * (kind(c[11]) + r * kind(c[12]))
        p = kind(c[4]) + r * (kind(c[5]) + r * (kind(c[6]) + r * p))
        p = kind(c[0]) + r * (kind(c[1]) + r * (kind(c[2]) + r * (kind(c[3]) + r * p)))
        exponents[i] = (exponents[i] + bias) << digits
        row[i] = kind(0) if x < least else p * powers[i]
