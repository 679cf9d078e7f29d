"""The weights that boosting gives to examples and classes, and the stumps fit to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..losses import Labels
from ..pools import Pool
from ..rows import ByAtom, Rows, Totals
from ..shard import RESIDUAL
from .class_sets import Shared
from .stump_sums import Part, Sums, ratio

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# Weights below this, the largest being 1, have no say in any sum.
NEGLIGIBLE = 1e-30


class Fit(NamedTuple):
    """What a round adds to the scores: ``constants + slopes * 1[v <= theta]``."""

    shared: Shared
    constants: Vector  # (k,): a for the classes that share the stump, k_c for each other
    slopes: Vector  # (k,): b - a for those that share it, else 0
    gain: float  # what the loss falls by to second order


class Margins:
    """The weights of all examples and classes, ``weight exp(-z H)``, and what is fit to them.

    They are kept as logarithms, and taken over the largest of them, so that none overflows.
    """

    def __init__(self, rows: Rows, weight: Vector):
        self.rows = rows
        self.n_classes = rows.n_classes // 2
        self._total_weight = float(weight.sum())
        edges = np.cumsum([block.y.size for block in rows.blocks])[:-1]
        shares = np.split(np.log(weight), edges)
        # Of each block, (k, n).
        self._logs = [np.tile(share, (self.n_classes, 1)) for share in shares]
        self._weights = [np.empty_like(logs) for logs in self._logs]
        self._weigh()

    @property
    def loss(self) -> float:
        """The average over examples, by weight, and classes of ``exp(-z H)``."""
        total = float(np.exp(self._largest) * self.weight.sum())
        return total / (self.n_classes * self._total_weight)

    def _weigh(self) -> None:
        """Take the weights from their logarithms, and their sums over all examples."""
        self._largest = max(float(logs.max()) for logs in self._logs)

        def weigh(i: int) -> tuple[Vector, Vector]:
            weights, y = self._weights[i], self.rows.blocks[i].y
            with np.errstate(under="ignore"):
                np.exp(self._logs[i] - self._largest, out=weights)
            weights[weights < NEGLIGIBLE] = 0.0
            both = np.concatenate([weights, _times_signs(weights, y)])
            self.rows.blocks[i].prepared = self.rows.pool.prepare(both)
            sums = both.sum(axis=1)
            return sums[: self.n_classes], sums[self.n_classes :]

        found = self.rows.map(weigh, range(len(self._logs)))
        self.weight, self.signed = np.sum(list(found), axis=0)  # (k,) each

    def sums(self) -> Sums:
        """Return the sums of all stumps: the one pass over all columns of a round."""
        k = self.n_classes

        def below(pool: Pool, part: slice, totals: Totals, by_atom: ByAtom) -> Part:
            both = pool.correlations(totals.stats[0], part)
            return Part(part.start, both[:k], both[k:])

        found = self.rows.over_parts([(RESIDUAL, False)], below)
        return Sums(self.weight, self.signed, found, self.rows.map)

    def fit(self, shared: Shared) -> Fit:
        """Return the least-squares fit of a stump to the signs of the classes that share it.

        Half of J, the weighted squared error, is the loss after the round to second order,
        up to a constant: what J falls by, of all weight, is twice what the loss falls by.
        """
        blocks = self.rows.blocks

        def by_side(i: int) -> tuple[Matrix, Matrix]:
            passing = self.rows.pool.columns(blocks[i].data, shared.atom)[0].astype(np.float64)
            sides = np.stack([passing, 1.0 - passing], axis=1)  # below and above the threshold
            weights = self._weights[i]
            return weights @ sides, _times_signs(weights, blocks[i].y) @ sides

        weight, signed = np.sum(list(self.rows.map(by_side, range(len(blocks)))), axis=0)
        some = list(shared.classes)
        w, s = weight[some].sum(axis=0), signed[some].sum(axis=0)  # (2,)
        b, a = ratio(s, w)
        constants, slopes = ratio(self.signed, self.weight), np.zeros(self.n_classes)
        explained = constants * self.signed
        explained[some] = 0.0
        constants[some], slopes[some] = a, b - a
        fallen = float(explained.sum() + b * s[0] + a * s[1]) / float(self.weight.sum())
        return Fit(shared, constants, slopes, 0.5 * self.loss * fallen)

    def add(self, fit: Fit) -> None:
        """Add to the scores what a round has fit, and weigh anew."""
        blocks = self.rows.blocks

        def add(i: int) -> None:
            passing = self.rows.pool.columns(blocks[i].data, fit.shared.atom)
            added = fit.constants[:, None] + fit.slopes[:, None] * passing
            self._logs[i] -= _times_signs(added, blocks[i].y)

        list(self.rows.map(add, range(len(blocks))))
        self._weigh()


def _times_signs(numbers: Matrix, y: Labels) -> Matrix:
    """Return the numbers, (k, n), times the signs z: 1 for the class of an example, else -1."""
    signed = -numbers
    own = y, np.arange(y.size)
    signed[own] = numbers[own]
    return signed
