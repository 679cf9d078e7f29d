"""What sums over examples tell of a stump and the classes that share it.

A round of JointBoost fits ``h(v, c) = b 1[v <= theta] + a 1[v > theta]`` to the signs z of
the classes in a set S, and a constant to each other class, at the least weighted squared
error J. With W and Z the sums over examples of the weights w, and of ``w z``, all is known
from those of every class and side of a stump: they add over the classes of S.

What J falls by against constants alone, the *gain* of S and the stump, is

    sum over sides of Z_S^2 / W_S  -  sum over c in S of Z_c^2 / W_c
    = T_S split  +  Z_S^2 / T_S  -  sum over c in S of Z_c^2 / W_c,

with T_S the weight of both sides; only ``split`` depends on the stump (``kernels.sharing``).
A class alone gains at least nothing: no round is better without a stump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
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

    @property
    def constants(self) -> Vector:
        """What a constant explains of each class, Z^2 / W, (k,)."""
        return ratio(self.signed**2, self.weight)

    def tied(self, gains: Vector) -> NDArray[np.intp]:
        """Return the places of all gains that equal the largest up to rounding."""
        return np.flatnonzero(gains >= gains.max() - self.slack)

    def sets(self, members: NDArray[np.bool_]) -> SetTotals:
        """Return the totals of sets of classes, (sets, k)."""
        weight, signed = (
            np.where(members, numbers, 0.0).sum(axis=1) for numbers in (self.weight, self.signed)
        )
        floors = np.maximum(LIGHTEST_SIDE * weight, LIGHTEST)
        constants = np.where(members, self.constants, 0.0).sum(axis=1)
        return SetTotals(weight, ratio(signed, weight), floors, constants)


class SetTotals(NamedTuple):
    """What the gains of sets take, but for the stumps: a number for each set."""

    weight: Vector
    means: Vector
    floors: Vector  # of the weight of a side
    constants: Vector  # what these explain of the classes

    def gains(self, splits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gains of stumps from their splits, (sets,) or (chunks, sets)."""
        return self.weight * (splits + self.means**2) - self.constants

    def splits(self, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the splits of stumps from their gains."""
        return ratio(gains + self.constants, self.weight) - self.means**2


class ClassSet(NamedTuple):
    """A set of classes, and what J falls by where they share the best stump for them."""

    classes: tuple[int, ...]  # in the order in which the search added their sums
    gain: float


def ratio(numbers: Vector, weight: Vector) -> Vector:
    """Return the numbers over the weights; 0 where there is no weight."""
    return np.divide(numbers, weight, out=np.zeros_like(weight), where=weight > 0.0)
