"""Which classes share a stump: the best set of them, with the best stump for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .forward_search import forward
from .stump_sums import ClassSet, Part, Sums, Vector

# 2^12 sets take about as long as the forward search for 100 classes.
MOST_CLASSES_EXHAUSTIVE = 12


class Shared(NamedTuple):
    """A stump and the classes that share it."""

    atom: int
    classes: tuple[int, ...]  # rising


def exhaustive(sums: Sums) -> list[ClassSet]:
    """Return all sets of at least one class, those of fewer classes first."""
    from ..kernels.sharing import best_of_every_set

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


SEARCHES: dict[str, Callable[[Sums], list[ClassSet]]] = {
    "forward": forward,
    "exhaustive": exhaustive,
}


def best_shared(sums: Sums, search: str) -> Shared:
    """Return the stump and the set of classes that J falls by most for.

    Among those that are tied it is the lowest atom, and then the set that was met first.
    """
    met = SEARCHES[search](sums)
    gains = np.array([found.gain for found in met])
    contenders = [met[place].classes for place in sums.tied(gains)]
    least = float(gains.max()) - sums.slack
    atoms = [_first_atom(sums, classes, least) for classes in contenders]
    first = int(np.argmin(atoms))
    return Shared(atoms[first], tuple(sorted(contenders[first])))


def _first_atom(sums: Sums, classes: tuple[int, ...], least: float) -> int:
    """Return the lowest atom with which the set gains at least that."""
    from ..kernels.sharing import first_above

    totals = sums.sets(np.isin(np.arange(sums.weight.size), classes)[None])
    total, mean, floor = (float(numbers[0]) for numbers in totals[:3])
    needed = float(totals.splits(np.array([least]))[0])

    for part in sums.parts:
        weight, signed = np.zeros((2, part.weight.shape[1]))
        for c in classes:  # in the order of the search: the same sums to the last bit
            weight += part.weight[c]
            signed += part.signed[c]
        place = first_above(weight, signed, total, mean, floor, needed)
        if place >= 0:
            return part.start + place
    return sys.maxsize  # tied but for the last bit of its gain
