"""JointBoost as its paper tells it: every set, every column, every threshold, every row.

Truth for the tests of ``JointBoostClassifier``: slow, obvious, float64. Columns are cut
between any two neighbouring values; NaN lies above all numbers.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import NamedTuple

# Errors J that differ by less than this share of all weight are tied.
ROUNDING = 1e-9


class NaiveRound(NamedTuple):
    atom: int
    classes: tuple[int, ...]
    a: float  # of the classes above the threshold
    b: float  # below
    constants: list[float]  # of every class; those of the classes that share are not used
    error: float  # J
    weight: float  # J where nothing is added


def stumps(X):
    """Return column and threshold of every stump."""
    found = []
    for j in range(X.shape[1]):
        numbers = sorted({v for v in X[:, j].tolist() if not math.isnan(v)})
        cuts = [(low + high) / 2 for low, high in pairwise(numbers)]
        if numbers and any(math.isnan(v) for v in X[:, j].tolist()):
            cuts.append(numbers[-1])
        found += [(j, cut) for cut in cuts]
    return found


def sign(y, c):
    return 1.0 if y == c else -1.0


def mean_sign(terms):
    """Return the weighted mean of signs, of pairs (weight, sign); 0 of none."""
    weight = sum(w for w, _ in terms)
    return sum(w * z for w, z in terms) / weight if weight > 0 else 0.0


def fit(below, classes, y, w):
    """Return a, b, the constants and J of a stump, by row, and the classes that share it."""
    n, k = len(y), len(w)
    sides = [
        [(w[c][i], sign(y[i], c)) for c in classes for i in range(n) if below[i] == side]
        for side in (False, True)
    ]
    a, b = mean_sign(sides[0]), mean_sign(sides[1])
    constants = [mean_sign([(w[c][i], sign(y[i], c)) for i in range(n)]) for c in range(k)]
    error = 0.0
    for c in range(k):
        for i in range(n):
            h = (b if below[i] else a) if c in classes else constants[c]
            error += w[c][i] * (sign(y[i], c) - h) ** 2
    return a, b, constants, error


def errors(columns, classes, y, w):
    """Return J of every stump for a set of classes."""
    return [fit(below, classes, y, w)[3] for below in columns]


def forward_sets(columns, y, w, slack):
    """Return the sets that grow by the class of the least J, with J of every stump."""
    k = len(w)
    met = []
    chosen = ()
    while len(chosen) < k:
        tried = {c: errors(columns, (*chosen, c), y, w) for c in range(k) if c not in chosen}
        least = min(min(found) for found in tried.values())
        c = min(c for c, found in tried.items() if min(found) <= least + slack)
        chosen = (*chosen, c)
        met.append((chosen, tried[c]))
    return met


def all_sets(columns, y, w, slack):
    """Return all sets, the small ones first, with J of every stump."""
    k = len(w)
    sets = [some for size in range(1, k + 1) for some in combinations(range(k), size)]
    return [(some, errors(columns, some, y, w)) for some in sets]


SEARCHES = {"forward": forward_sets, "exhaustive": all_sets}


def best_round(columns, y, w, search):
    """Return the round of the least J: of tied ones the lowest stump, then the first set."""
    total = sum(map(sum, w))
    met = SEARCHES[search](columns, y, w, ROUNDING * total)
    least = min(min(found) for _, found in met) + ROUNDING * total
    atom, _, classes = min(
        (atom, place, some)
        for place, (some, found) in enumerate(met)
        for atom, error in enumerate(found)
        if error <= least
    )
    return NaiveRound(atom, tuple(sorted(classes)), *fit(columns[atom], classes, y, w), total)


def weights(H, y, weight):
    return [
        [weight[i] * math.exp(-sign(y[i], c) * H[c][i]) for i in range(len(y))]
        for c in range(len(H))
    ]


def joint_boost(X, y, weight, k, search, n_rounds):
    """Return the rounds, and the scores and the loss after each of them."""
    columns = [[bool(v <= cut) for v in X[:, j].tolist()] for j, cut in stumps(X)]
    H = [[0.0] * len(y) for _ in range(k)]
    found = []
    for _ in range(n_rounds):
        best = best_round(columns, y, weights(H, y, weight), search)
        below = columns[best.atom]
        for c in range(k):
            for i in range(len(y)):
                shared = best.b if below[i] else best.a
                H[c][i] += shared if c in best.classes else best.constants[c]
        loss = sum(map(sum, weights(H, y, weight))) / (k * sum(weight))
        found.append((best, [list(row) for row in H], loss))
    return found
