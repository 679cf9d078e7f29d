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
BITS = {"f": np.empty(0, dtype=np.int32), "d": np.empty(0, dtype=np.int64)}

LOG2_E = 1.4426950408889634
# ln 2 in two parts, for float32 and for float64: the first has few digits, so that its products
# with the exponents are exact.
LN_2 = (0.693359375, -2.12194440e-4), (0.6931471803691238, 1.9082149292705877e-10)
SERIES = tuple(1.0 / factorial(i) for i in range(13))  # of the exponential


@compiled(error_model="numpy")
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
    n); gradient (k, columns wanted).
    """
    residual[:] = 0
    add_product(W, columns[: W.shape[1]], residual)
    loss = value_and_residual(residual, y, weight, margin, bits)
    add_product_transposed(residual, columns[: gradient.shape[1]], gradient)
    return loss


@compiled(error_model="numpy")
def value_and_residual(scores: Array, y: Array, weight: Array, margin: float, bits: Array) -> float:
    """Return the total loss; overwrite the scores, (k, n), with the residual."""
    n = scores.shape[1]
    loss = 0.0
    for start in range(0, n, CHUNK):
        loss += residual_of(scores, y, weight, margin, bits, start, min(start + CHUNK, n))
    return loss


@compiled(error_model="numpy")
def residual_of(
    scores: Array, y: Array, weight: Array, margin: float, bits: Array, start: int, stop: int
) -> float:
    """Return the loss of some examples; overwrite their scores with the residual.

    The true class is kept apart, so that its residual is not rounded away where it leads by far.
    """
    k, n = scores.shape[0], stop - start
    kind = scores.dtype.type
    y, weight = y[start:stop], weight[start:stop]
    own = np.empty(n, dtype=scores.dtype)  # of the true class, at most 0
    rest = np.zeros(n, dtype=scores.dtype)  # sum of the exponentials of all others
    some = np.empty(n, dtype=scores.dtype)
    largest = np.empty(n, dtype=scores.dtype)
    exponents = np.empty(n, dtype=bits.dtype)
    # Taking the margin off the true class equals adding it to all the others.
    for i in range(n):
        scores[y[i], start + i] -= kind(margin)
        largest[i] = scores[0, start + i]
    for q in range(1, k):
        row = scores[q, start:stop]
        for i in range(n):
            largest[i] = row[i] if row[i] > largest[i] else largest[i]
    for i in range(n):
        own[i] = scores[y[i], start + i] - largest[i]
    for first in range(0, k, GROUP):
        some[:] = 0
        for q in range(first, min(first + GROUP, k)):
            row = scores[q, start:stop]
            for i in range(n):
                row[i] -= largest[i]
            exponential(row, exponents)
            for i in range(n):
                some[i] += kind(0) if q == y[i] else row[i]
        for i in range(n):
            rest[i] += some[i]
    share, total = some, largest
    for i in range(n):
        total[i] = scores[y[i], start + i] + rest[i]
        share[i] = weight[i] / total[i]
    for q in range(k):
        row = scores[q, start:stop]
        for i in range(n):
            row[i] *= share[i]
    for i in range(n):
        scores[y[i], start + i] = -rest[i] * share[i]
    return losses(own, rest, total, weight)


@compiled(fastmath={"contract"})
def exponential(x: Array, exponents: Array) -> None:
    """Overwrite x, (n,), at most 0, with its exponential, to about one unit of its last digit.

    ``e^x = 2^m e^r`` with a whole m and r between plus and minus half of ln 2. What would be below
    the least normal number is 0; NaN stays NaN. ``exponents`` are integers as wide as x.
    """
    kind, c = x.dtype.type, SERIES
    single = x.itemsize == 4
    digits, bias = (23, 127) if single else (52, 1023)
    high, low = LN_2[0] if single else LN_2[1]
    least = kind((1 - bias) * high)
    powers = exponents.view(x.dtype)
    for i in range(x.size):
        # A conversion rounds towards zero.
        exponents[i] = x[i] * kind(LOG2_E) - kind(0.5) if x[i] > least else kind(0)
    for i in range(x.size):
        m = kind(exponents[i])
        r = (x[i] - m * kind(high)) - m * kind(low)
        p = kind(c[7])
        if not single:
            p += r * (
                kind(c[8])
                + r * (kind(c[9]) + r * (kind(c[10]) + r * (kind(c[11]) + r * kind(c[12]))))
            )
        p = kind(c[4]) + r * (kind(c[5]) + r * (kind(c[6]) + r * p))
        p = kind(c[0]) + r * (kind(c[1]) + r * (kind(c[2]) + r * (kind(c[3]) + r * p)))
        exponents[i] = (exponents[i] + bias) << digits
        x[i] = kind(0) if x[i] < least else p * powers[i]


@compiled(error_model="numpy")
def losses(own: Array, rest: Array, total: Array, weight: Array) -> float:
    """Return the weighted sum of ``ln(total) - own``.

    Where the true class leads, its exponential is 1, and ``ln(1 + rest)`` must not lose a small
    rest.
    """
    loss = 0.0
    for i in range(own.size):
        above = np.float64(rest[i]) if own[i] == 0 else np.float64(total[i]) - 1.0
        loss += weight[i] * (np.log1p(above) - own[i])
    return loss
