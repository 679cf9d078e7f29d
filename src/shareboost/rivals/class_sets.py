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
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# A side of a stump counts for at least this share of the set's weight: the sums of a lighter
# one may be rounding, and it gains no more than 4 times its share.
LIGHTEST_SIDE = 1e-9
# The least that any side counts for; its square is still a number.
LIGHTEST = 1e-40
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


@dataclass(frozen=True)
class Sums:
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
    contenders = [met[place].classes for place in sums.tied(gains)]
    least = float(gains.max()) - sums.slack
    atoms = [_first_atom(sums, classes, least) for classes in contenders]
    first = int(np.argmin(atoms))
    return Shared(atoms[first], tuple(sorted(contenders[first])))


def _first_atom(sums: Sums, classes: tuple[int, ...], least: float) -> int:
    """Return the lowest atom with which the set gains at least that."""
    from ..kernels.rivals import first_above

    totals = sums.sets(np.isin(np.arange(sums.weight.size), classes)[None])
    total, mean, floor, constant = (float(numbers[0]) for numbers in totals)
    split = ((least + constant) / total if total > 0.0 else 0.0) - mean**2  # of that gain
    for part in sums.parts:
        weight, signed = np.zeros((2, part.weight.shape[1]))
        for c in classes:  # in the order of the search: the same sums to the last bit
            weight += part.weight[c]
            signed += part.signed[c]
        place = first_above(weight, signed, total, mean, floor, split)
        if place >= 0:
            return part.start + place
    return sys.maxsize  # tied but for the last bit of its gain


def exhaustive(sums: Sums) -> list[ClassSet]:
    """Return all sets of at least one class, those of fewer classes first."""
    from ..kernels.rivals import best_of_every_set

    k = sums.weight.size
    members, order = _all_sets(k)
    totals = sums.sets(members)

    def best(part: Part) -> Vector:
        out = np.empty(1 << k)
        best_of_every_set(part.weight, part.signed, *totals[:3], out)
        return out

    gains = totals.gains(np.max(list(sums.map(best, sums.parts)), axis=0)).tolist()
    return [ClassSet(classes, gains[m]) for m, classes in order]


@cache
def _all_sets(k: int) -> tuple[NDArray[np.bool_], list[tuple[int, tuple[int, ...]]]]:
    """Return the members of all sets, (2^k, k), and in the order of the search their classes.

    Class q is in set m where bit q of m is 1. The classes of a set fall: as the kernel adds
    their sums.
    """
    members = ((np.arange(1 << k)[:, None] >> np.arange(k)) & 1).astype(bool)
    sets = [tuple(np.flatnonzero(row).tolist()) for row in members]
    order = sorted(range(1, 1 << k), key=lambda m: (len(sets[m]), sets[m]))
    return members, [(m, sets[m][::-1]) for m in order]


def forward(sums: Sums) -> list[ClassSet]:
    """Return the k sets that grow from none by the class that then gains most, the first of equals.

    Of the 2^k sets k (k + 1) / 2 are tried, each with all stumps.
    """
    search = _Forward(sums)
    return [search.grow() for _ in range(sums.weight.size)]


SEARCHES = {"forward": forward, "exhaustive": exhaustive}


class _Forward:
    """A set that grows, and bounds on what it could gain with each other class.

    ``Z^2 / W`` is convex and homogeneous, so a set with one more class gains at most what the
    set gains and what the class gains alone. Chunks of stumps whose sum of the two is below
    a gain that is known already are not looked at: on Isolet, 92 to 99 of 100 of them, and a
    search takes a sixth of the time. Two threads would take longer for what is left (27 ms for
    all 26 steps, against 44).
    """

    def __init__(self, sums: Sums):
        from ..kernels.rivals import CHUNK, best_alone

        self.sums = sums
        self.classes: list[int] = []  # of the set
        self._members = np.zeros(sums.weight.size, dtype=bool)  # they too
        self._every = np.eye(sums.weight.size, dtype=bool)  # class, alone in its set
        sizes = [part.weight.shape[1] for part in sums.parts]
        edges = accumulate((-(-size // CHUNK) for size in sizes), initial=0)
        # Each part, its chunks among all, and the sums of w and w z of the set for its stumps.
        self._parts = [
            (part, slice(*edge), np.zeros((2, size)))
            for part, edge, size in zip(sums.parts, pairwise(edges), sizes, strict=True)
        ]
        totals = sums.sets(self._every)

        def alone(of_part: tuple[Part, slice, Matrix]) -> Matrix:
            (_, weight, signed), chunks, _ = of_part
            best = np.empty((len(weight), chunks.stop - chunks.start))
            best_alone(weight, signed, *totals[:3], best)
            return best

        splits = np.hstack(list(sums.map(alone, self._parts)))
        self._alone = totals.gains(splits.T).T  # (k, chunks)
        self._gains = np.zeros(self._alone.shape[1])  # (chunks,), of the set

    def grow(self) -> ClassSet:
        """Add the class that then gains most; return the set."""
        from ..kernels.rivals import add_class

        others = np.flatnonzero(~self._members)
        gains = self._gains_with(others) if self.classes else self._alone.max(axis=1)
        place = self.sums.tied(gains)[0]
        c = int(others[place])
        self.classes.append(c)
        self._members[c] = True
        totals = self.sums.sets(self._members[None])
        total, mean, floor = (float(values[0]) for values in totals[:3])
        for (_, w, s), chunks, (set_w, set_s) in self._parts:
            add_class(w[c], s[c], total, mean, floor, set_w, set_s, self._gains[chunks])
        self._gains = totals.gains(self._gains)
        return ClassSet(tuple(self.classes), float(gains[place]))

    def _gains_with(self, others: NDArray[np.intp]) -> Vector:
        """Return the gains of the set with one more class; too low ones where they are not best."""
        totals = self.sums.sets(self._every[others] | self._members)
        bounds = self._gains + self._alone[others]  # (others, chunks)
        wanted = np.zeros_like(bounds, dtype=bool)
        wanted[:, self._gains.argmax()] = True
        known = self._look(others, totals, wanted).max()
        wanted = bounds >= known - BOUND_SLACK * self.sums.weight.sum()
        return self._look(others, totals, wanted)

    def _look(
        self, others: NDArray[np.intp], totals: SetTotals, wanted: NDArray[np.bool_]
    ) -> Vector:
        """Return the best gain of the wanted chunks, (others, chunks), for each class."""
        from ..kernels.rivals import best_with_each

        best, out = np.zeros((2, others.size))
        for (_, w, s), chunks, (set_w, set_s) in self._parts:
            here = np.ascontiguousarray(wanted[:, chunks])
            if here.any():
                best_with_each(w, s, set_w, set_s, others, *totals[:3], here, out)
                np.maximum(best, out, out=best)
        return totals.gains(best)


def ratio(numbers: Vector, weight: Vector) -> Vector:
    """Return the numbers over the weights; 0 where there is no weight."""
    return np.divide(numbers, weight, out=np.zeros_like(weight), where=weight > 0.0)
