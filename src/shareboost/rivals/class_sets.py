"""Which classes share a stump in a round of JointBoost: the best set, with the best stump for it.

A round fits ``h(v, c) = b 1[v <= theta] + a 1[v > theta]`` to the signs z of the classes in a
set S, and a constant to each other class, at the least weighted squared error J. With W and Z
the sums over examples of the weights w, and of ``w z``, for every class and side of a stump,
which add over the classes of S, J falls against constants alone by the *gain* of S and the stump

    sum over sides of Z_S^2 / W_S  -  sum over c in S of Z_c^2 / W_c
    = T_S split  +  Z_S^2 / T_S  -  sum over c in S of Z_c^2 / W_c,

with T_S the weight of both sides; only ``split`` depends on the stump (``kernels.rivals``).
A class alone gains at least nothing: no round is better without a stump.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# A side of a stump counts for at least this share of the set's weight: the sums of a lighter
# one may be rounding, and it gains no more than 4 times its share. And at least for a weight
# whose square is still a number.
LIGHTEST_SIDE, LIGHTEST = 1e-9, 1e-40
# Gains that differ by less than this share of all weight are tied. Sums in float64 are good to
# 1e-12 of it and better.
ROUNDING = 1e-9
# A bound on a gain may be too low by this share of all weight: by 4 times the lightest side,
# which counts for more than it weighs, and by rounding.
BOUND_SLACK = 10.0 * LIGHTEST_SIDE
# 2^12 sets take about as long as the forward search for 100 classes.
MOST_CLASSES_EXHAUSTIVE = 12


class Part(NamedTuple):
    """Sums over the examples for which each stump of a range is 1."""

    start: int  # the first atom
    weight: Matrix  # (k, atoms), of w
    signed: Matrix  # (k, atoms), of w z


SetPart = tuple[Part, slice, Matrix]


class Sums(NamedTuple):
    """All that a search needs of the examples."""

    weight: Vector  # (k,), of all examples
    signed: Vector
    parts: Sequence[Part]  # of all stumps, in order
    map: Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # by all threads

    @property
    def slack(self) -> float:
        """By how much gains may differ that are tied."""
        return ROUNDING * float(self.weight.sum())

    def tied(self, gains: Vector) -> NDArray[np.intp]:
        """Return the places of all gains that equal the largest up to rounding."""
        return np.flatnonzero(gains >= gains.max() - self.slack)

    def sets(self, members: NDArray[np.bool_]) -> SetTotals:
        """Return the totals of sets of classes, (sets, k)."""
        weight, signed, constants = (
            np.where(members, numbers, 0.0).sum(axis=1)
            for numbers in (self.weight, self.signed, ratio(self.signed**2, self.weight))
        )
        floors = np.maximum(LIGHTEST_SIDE * weight, LIGHTEST)
        return SetTotals(weight, ratio(signed, weight), floors, constants)


class SetTotals(NamedTuple):
    """What the gains of sets take, but for the stumps: a number for each set."""

    weight: Vector
    means: Vector
    floors: Vector  # of the weight of a side
    constants: Vector  # what these explain of the classes, the sum of Z^2 / W

    def gains(self, splits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gains of stumps from their splits, (sets,) or (chunks, sets)."""
        return self.weight * (splits + self.means**2) - self.constants


class ClassSet(NamedTuple):
    """A set of classes, and what J falls by where they share the best stump for them."""

    classes: tuple[int, ...]  # in the order in which the search added their sums
    gain: float


class Shared(NamedTuple):
    """A stump and the classes that share it."""

    atom: int
    classes: tuple[int, ...]  # rising


def best_shared(sums: Sums, search: str) -> Shared:
    """Return the stump and the set of classes that J falls by most for.

    Among those that are tied it is the lowest atom, and then the set that was met first.
    """
    met = SEARCHES[search](sums)
    gains = np.array([class_set.gain for class_set in met])
    tied = [met[place].classes for place in sums.tied(gains)]
    least = float(gains.max()) - sums.slack
    atoms = [_first_atom(sums, classes, least) for classes in tied]
    first = int(np.argmin(atoms))
    return Shared(atoms[first], tuple(sorted(tied[first])))


def _first_atom(sums: Sums, classes: tuple[int, ...], least: float) -> int:
    """Return the lowest atom with which the set gains at least that."""
    totals = sums.sets(np.isin(np.arange(sums.weight.size), classes)[None])
    total, mean, floor, constant = (float(numbers[0]) for numbers in totals)
    split = ((least + constant) / total if total > 0.0 else 0.0) - mean**2  # of that gain
    for part in sums.parts:
        # In the order of the search: the same sums to the last bit.
        weight, signed = (sum(numbers[c] for c in classes) for numbers in part[1:])
        sides = np.maximum(weight, floor) * np.maximum(total - weight, floor)
        places = np.flatnonzero((signed - mean * weight) ** 2 / sides >= split)
        if places.size:
            return part.start + int(places[0])
    return sys.maxsize  # tied but for the last bit of its gain


def exhaustive(sums: Sums) -> list[ClassSet]:
    """Return all sets of at least one class, those of fewer classes first."""
    from ..kernels.rivals import best_of_every_set

    members, sets = _all_sets(sums.weight.size)
    totals = sums.sets(members)

    def best(part: Part) -> Vector:
        out = np.empty(len(members))
        best_of_every_set(part.weight, part.signed, *totals[:3], out)
        return out

    gains = totals.gains(np.max(list(sums.map(best, sums.parts)), axis=0)).tolist()
    return [ClassSet(classes, gains[m]) for m, classes in sets]


@cache
def _all_sets(k: int) -> tuple[NDArray[np.bool_], list[tuple[int, tuple[int, ...]]]]:
    """Return the members of all sets, (2^k, k), and the number and classes of each but the empty.

    Class q is in set m where bit q of m is 1. The classes of a set fall: as the kernel adds
    their sums.
    """
    members = ((np.arange(1 << k)[:, None] >> np.arange(k)) & 1).astype(bool)
    sets = [some for size in range(1, k + 1) for some in combinations(range(k), size)]
    return members, [(sum(1 << q for q in some), some[::-1]) for some in sets]


def forward(sums: Sums) -> list[ClassSet]:
    """Return the k sets that grow from none by the class that then gains most, the first of equals.

    Of the 2^k sets k (k + 1) / 2 are tried, each with all stumps.

    ``Z^2 / W`` is convex and homogeneous, so a set with one more class gains at most what the
    set gains and what the class gains alone. Chunks of stumps whose sum of the two is below
    a gain that is known already are not looked at: on Isolet, 92 to 99 of 100 of them, and a
    search takes a sixth of the time. Two threads would take longer for what is left (27 ms for
    all 26 steps, against 44).
    """
    from ..kernels.rivals import CHUNK, add_class, best_alone

    sizes = [part.weight.shape[1] for part in sums.parts]
    edges = accumulate((-(-size // CHUNK) for size in sizes), initial=0)
    # Each part, its chunks among all, and the sums of w and w z of the set for its stumps.
    parts: list[SetPart] = [
        (part, slice(*edge), np.zeros((2, size)))
        for part, edge, size in zip(sums.parts, pairwise(edges), sizes, strict=True)
    ]
    every = np.eye(sums.weight.size, dtype=bool)  # class, alone in its set
    totals = sums.sets(every)

    def best_splits(part: SetPart) -> Matrix:
        (_, weight, signed), chunks, _ = part
        best = np.empty((len(weight), chunks.stop - chunks.start))
        best_alone(weight, signed, *totals[:3], best)
        return best

    alone = totals.gains(np.hstack(list(sums.map(best_splits, parts))).T).T  # (k, chunks)
    of_set = np.zeros(alone.shape[1])  # (chunks,), what the set gains
    met: list[ClassSet] = []
    classes: tuple[int, ...] = ()  # of the set, and they as a mask
    members = np.zeros_like(every[0])
    while not members.all():
        others = np.flatnonzero(~members)
        gains = alone.max(axis=1)
        if classes:
            totals = sums.sets(every[others] | members)
            bounds = of_set + alone[others]  # (others, chunks)
            wanted = np.broadcast_to(np.arange(of_set.size) == of_set.argmax(), bounds.shape)
            known = _best_gains(parts, others, totals, wanted).max()
            wanted = bounds >= known - BOUND_SLACK * sums.weight.sum()
            gains = _best_gains(parts, others, totals, wanted)
        place = sums.tied(gains)[0]
        c = int(others[place])
        classes, members[c] = (*classes, c), True
        totals = sums.sets(members[None])
        total, mean, floor = (float(values[0]) for values in totals[:3])
        for (_, w, s), chunks, (set_w, set_s) in parts:
            add_class(w[c], s[c], total, mean, floor, set_w, set_s, of_set[chunks])
        of_set = totals.gains(of_set)
        met.append(ClassSet(classes, float(gains[place])))
    return met


SEARCHES = {"forward": forward, "exhaustive": exhaustive}


def _best_gains(
    parts: list[SetPart], others: NDArray[np.intp], totals: SetTotals, wanted: NDArray[np.bool_]
) -> Vector:
    """Return the best gain of the set with each other class in the wanted chunks."""
    from ..kernels.rivals import best_with_each

    best, out = np.zeros((2, others.size))
    for (_, w, s), chunks, (set_w, set_s) in parts:
        here = np.ascontiguousarray(wanted[:, chunks])  # (others, chunks)
        if here.any():
            best_with_each(w, s, set_w, set_s, others, *totals[:3], here, out)
            np.maximum(best, out, out=best)
    return totals.gains(best)


def ratio(numbers: Vector, weight: Vector) -> Vector:
    """Return the numbers over the weights; 0 where there is no weight."""
    return np.divide(numbers, weight, out=np.zeros_like(weight), where=weight > 0.0)
