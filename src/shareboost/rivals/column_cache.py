"""Columns of some atoms in double precision, and the loss of weights on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..losses import Loss
from ..rows import Block, Rows, may_overflow

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Places = NDArray[np.intp]


class HeldColumns:
    """The columns of some atoms on all rows, scaled and, with an intercept, centred."""

    def __init__(self, rows: Rows):
        self.rows = rows
        self.free = int(rows.intercept)  # constant columns, before those of the atoms
        self.bytes_a_column = 8 * sum(block.y.size for block in rows.shard.blocks)
        self.units: dict[int, tuple[Vector, Vector]] = {}  # centres and scales, of all met so far
        self._columns: dict[int, list[Matrix]] = {}  # of each atom, (columns, n) of each block

    def widths(self, atoms: Sequence[int]) -> list[int]:
        """Return the number of columns of each atom, held or not."""
        return [self.rows.pool.scales(atom).size for atom in atoms]

    def starts(self, atoms: Sequence[int]) -> Places:
        """Return where the weights of each atom start, after the intercept's."""
        return np.cumsum([0, *self.widths(atoms)])[:-1].astype(np.intp)

    def hold(self, atoms: Sequence[int]) -> None:
        """Hold these atoms and no others."""
        new = [atom for atom in atoms if atom not in self._columns]
        kept = {atom: self._columns[atom] for atom in atoms if atom in self._columns}
        self._columns = kept | dict(zip(new, self.rows.shard.map(self._computed, new), strict=True))

    def on(self, atoms: Sequence[int], loss: Loss) -> LossOnColumns:
        """Return the average loss on the columns of some of the atoms held."""

        def together(place: int) -> Matrix:
            constant = np.ones((self.free, self.rows.shard.blocks[place].y.size))
            return np.concatenate([constant, *(self._columns[atom][place] for atom in atoms)])

        columns = list(self.rows.shard.map(together, range(len(self.rows.shard.blocks))))
        return LossOnColumns(self.rows, loss, columns, self.starts(atoms))

    def _computed(self, atom: int) -> list[Matrix]:
        """Return the columns of an atom, (columns, n) of each block."""
        rows, scales = self.rows, self.rows.pool.scales(atom)
        columns = [rows.pool.columns(b.data, atom).astype(np.float64) for b in rows.shard.blocks]
        centers = np.zeros(scales.size)
        if rows.intercept:
            pairs = zip(columns, rows.shard.blocks, strict=True)
            centers = sum((some @ b.weight for some, b in pairs), centers) / rows.total_weight
        self.units[atom] = centers, scales
        return [(some - centers[:, None]) / scales[:, None] for some in columns]


class Point(NamedTuple):
    """Weights, and what they make of the rows."""

    weights: Matrix  # (intercept + c, k)
    scores: list[Matrix]  # (k, n) of each block
    residuals: list[Matrix]  # (k, n) of each block
    loss: float  # average


class LossOnColumns:
    """The average loss of weights, (intercept + c, k), on some columns, and its gradient.

    Scores are linear in the weights, so those of a point between or beyond two others need
    no product with the columns.
    """

    def __init__(self, rows: Rows, loss: Loss, columns: list[Matrix], starts: Places):
        self.rows = rows
        self.loss = loss
        self.columns = columns  # (intercept + c, n) of each block
        self.starts = starts  # of the atoms' rows of weights, after the intercept's

    @property
    def steepest(self) -> float:
        """A bound on the curvature: half the sum of the columns' mean squares (Boehning)."""
        squares = sum(
            float(np.einsum("cn,cn,n->", columns, columns, block.weight, optimize=True))
            for block, columns in zip(self.rows.shard.blocks, self.columns, strict=True)
        )
        return 0.5 * squares / self.rows.total_weight

    def at(self, weights: Matrix) -> Point:
        """Return the loss at some weights."""
        product = may_overflow(lambda columns: weights.T @ columns)
        return self._point(weights, list(self.rows.shard.map(product, self.columns)))

    def beyond(self, last: Point, before: Point, share: float) -> Point:
        """Return the loss beyond the last point, by a share of the way from the one before."""
        if share == 0.0:
            return last
        weights = last.weights + share * (last.weights - before.weights)
        pairs = zip(last.scores, before.scores, strict=True)
        scores = self.rows.shard.map(lambda pair: pair[0] + share * (pair[0] - pair[1]), pairs)
        return self._point(weights, list(scores))

    def gradient(self, point: Point) -> Matrix:
        """Return the gradient at a point of any weights, (intercept + c, k)."""
        pairs = zip(self.columns, point.residuals, strict=True)
        parts = self.rows.shard.map(lambda pair: pair[0] @ pair[1].T, pairs)
        zero = np.zeros((self.columns[0].shape[0], point.weights.shape[1]))
        return sum(parts, zero) / self.rows.total_weight

    def curvature(self, one: Point, two: Point) -> float:
        """Return the product of the differences of two points' gradients and weights."""

        def part(place: int) -> float:
            residuals = one.residuals[place] - two.residuals[place]
            return float(np.vdot(residuals, one.scores[place] - two.scores[place]))

        return sum(self.rows.shard.map(part, range(len(self.columns)))) / self.rows.total_weight

    def _point(self, weights: Matrix, scores: list[Matrix]) -> Point:
        @may_overflow
        def part(pair: tuple[Block, Matrix]) -> tuple[float, Matrix]:
            block, residual = pair[0], pair[1].copy()
            return self.loss.value_and_residual(residual, block.y, block.weight), residual

        parts = list(self.rows.shard.map(part, zip(self.rows.shard.blocks, scores, strict=True)))
        loss = sum(value for value, _ in parts) / self.rows.total_weight
        return Point(weights, scores, [residual for _, residual in parts], loss)
