"""The kernels of the rivals: stumps that classes share (JointBoost), projections (mixed norms).

How well does a stump split the signs of a set of classes that share it? With w and s the sums, over
the classes of the set and the examples for which the stump is 1, of weights and of weights times
signs, and T and ``mean * T`` those over all examples, the stump explains ``T * split`` of the signs
beyond their mean,

    split = (s - mean w)^2 / (w (T - w)).

A side lighter than a ``floor`` counts as that: its sums are rounding. Throughout, weight and signed
(k, atoms) are the sums of each class; set_weight and set_signed (atoms,) those of a set; totals,
means and floors have an entry for each class or set asked about.
"""

from __future__ import annotations

import numpy as np

from .compiled import Array, compiled

# Stumps a chunk, a power of two: their sums stay in the nearest cache, and about those of one
# column are ruled out together.
CHUNK = 256

# The compiler takes 8 stumps at once where no division can raise an error, where a loop starts
# at 0 and where it writes all its numbers, not only the largest of them: 0.5 ns a stump and
# set; 2.7 ns without.


@compiled(error_model="numpy")
def best_alone(
    weight: Array, signed: Array, totals: Array, means: Array, floors: Array, out: Array
) -> None:
    """Write the best split of any stump of each chunk for each class alone; out (k, chunks)."""
    splits = np.empty(CHUNK)
    for chunk in range(out.shape[1]):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, weight.shape[1])
        for q in range(out.shape[0]):
            w, s = weight[q, start:stop], signed[q, start:stop]
            total, mean, floor = totals[q], means[q], floors[q]
            for i in range(stop - start):
                splits[i] = _split(w[i], s[i], total, mean, floor)
            out[q, chunk] = _largest(splits, stop - start)


@compiled(error_model="numpy")
def add_class(
    weight: Array,
    signed: Array,
    total: float,
    mean: float,
    floor: float,
    set_weight: Array,
    set_signed: Array,
    out: Array,
) -> None:
    """Add a class's sums, (atoms,), to those of a set; write the best split of each chunk.

    total, mean and floor are those of the set with the class; out (chunks,).
    """
    splits = np.empty(CHUNK)
    for chunk in range(out.size):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, weight.size)
        w, s = weight[start:stop], signed[start:stop]
        set_w, set_s = set_weight[start:stop], set_signed[start:stop]
        for i in range(stop - start):
            set_w[i] += w[i]
            set_s[i] += s[i]
            splits[i] = _split(set_w[i], set_s[i], total, mean, floor)
        out[chunk] = _largest(splits, stop - start)


@compiled(error_model="numpy")
def best_with_each(
    weight: Array,
    signed: Array,
    set_weight: Array,
    set_signed: Array,
    classes: Array,
    totals: Array,
    means: Array,
    floors: Array,
    wanted: Array,
    out: Array,
) -> None:
    """Write the best split of any stump for a set with one more class, for each of them.

    classes (c,), which to add; totals, means and floors (c,), of the set with that class; wanted
    (c, chunks), where to look; out (c,), 0 where nowhere.
    """
    splits = np.empty(CHUNK)
    out[:] = 0.0
    for chunk in range(wanted.shape[1]):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, set_weight.size)
        set_w, set_s = set_weight[start:stop], set_signed[start:stop]
        for j in range(classes.size):
            if not wanted[j, chunk]:
                continue
            w, s = weight[classes[j], start:stop], signed[classes[j], start:stop]
            total, mean, floor = totals[j], means[j], floors[j]
            for i in range(stop - start):
                splits[i] = _split(set_w[i] + w[i], set_s[i] + s[i], total, mean, floor)
            out[j] = max(out[j], _largest(splits, stop - start))


@compiled(error_model="numpy")
def best_of_every_set(
    weight: Array, signed: Array, totals: Array, means: Array, floors: Array, out: Array
) -> None:
    """Write the best split of any stump for every set of classes.

    totals, means, floors and out (2^k,): class q is in set m where bit q of m is 1.

    Sets come in the order of their numbers. The sums of one are its lowest class's own and
    those of its other classes, which were the last with their lowest class: an addition a
    set, and no subtraction whose rounding would pile up.
    """
    k, n = weight.shape
    w = np.zeros((k + 1, CHUNK))  # of the last set whose lowest class is q; k: of no class
    s = np.zeros((k + 1, CHUNK))
    splits = np.empty(CHUNK)
    out[:] = 0.0
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        for m in range(1, 1 << k):
            low, rest = _lowest(m, k), _lowest(m & (m - 1), k)
            rest_w, rest_s, set_w, set_s = w[rest], s[rest], w[low], s[low]
            low_w, low_s = weight[low, start:stop], signed[low, start:stop]
            total, mean, floor = totals[m], means[m], floors[m]
            for i in range(stop - start):
                set_w[i] = rest_w[i] + low_w[i]
                set_s[i] = rest_s[i] + low_s[i]
                splits[i] = _split(set_w[i], set_s[i], total, mean, floor)
            out[m] = max(out[m], _largest(splits, stop - start))


@compiled(error_model="numpy", inline="always")
def _split(weight: float, signed: float, total: float, mean: float, floor: float) -> float:
    """Return the split of one stump."""
    apart = signed - mean * weight
    return apart * apart / (max(weight, floor) * max(total - weight, floor))


@compiled()
def _largest(numbers: Array, size: int) -> float:
    """Return the largest of the first numbers, none below 0; of ``CHUNK``, all overwritten."""
    for i in range(size, CHUNK):
        numbers[i] = 0.0
    half = CHUNK // 2
    while half > 0:  # halves are compared 8 numbers at once
        for i in range(half):
            numbers[i] = max(numbers[i], numbers[half + i])
        half //= 2
    return numbers[0]


@compiled()
def _lowest(m: int, k: int) -> int:
    """Return the lowest class of set m; k where it has none."""
    low = 0
    while low < k and not (m >> low) & 1:
        low += 1
    return low


@compiled()
def l1_thresholds(values: Array, edges: Array, radii: Array, out: Array) -> None:
    """Write what the entries of each group shrink by when it is projected on the l1 ball.

    values (n,), of group j from ``edges[j]`` to ``edges[j + 1]``; radii and out (groups,). The
    threshold is the number theta >= 0 with ``sum(max(|v| - theta, 0)) = radius``, and 0 inside
    the ball.
    Michelot's algorithm: entries at or below the threshold of those that are left drop out
    until none does, which takes as many passes as entries at most and few in fact.
    """
    for j in range(edges.size - 1):
        total = 0.0
        for i in range(edges[j], edges[j + 1]):
            total += abs(values[i])
        radius = radii[j]
        if total <= radius:
            out[j] = 0.0
            continue
        count = edges[j + 1] - edges[j]
        theta = (total - radius) / count
        while True:
            left, kept = 0.0, 0
            for i in range(edges[j], edges[j + 1]):
                size = abs(values[i])
                if size > theta:
                    left += size
                    kept += 1
            if kept == count or kept == 0:
                break
            count = kept
            # It rises in exact numbers; rounding must not turn it back.
            theta = max(theta, (left - radius) / count)
        out[j] = theta
