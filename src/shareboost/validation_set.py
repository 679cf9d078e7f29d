"""Rows held out of training, and how the rounds do on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array
from .losses import Labels
from .pools.base import Pool
from .rows import Chosen, Rows

if TYPE_CHECKING:
    from .backends import Backend


class HeldOut:
    """A sample that no round is trained on, which goes where the training rows are.

    The columns of an atom are computed when a round first uses it, and kept.
    """

    def __init__(
        self, X: Any, y: Labels, weight: NDArray[np.float64], pool: Pool, backend: Backend
    ):
        self.backend = backend
        self.pool = pool
        self.X = backend.rows(X)
        self.y = backend.asarray(y)
        self.weight = backend.asarray(weight)
        self.total_weight = float(weight.sum())
        self._columns: dict[int, Array] = {}

    def score(self, rows: Rows, W: NDArray[np.float64]) -> float:
        """Return the accuracy of the atoms chosen in the rows, the weighted share of right answers.

        W, (k, n_columns), holds their weights, in training units.
        """
        return self.right(rows.chosen, rows.intercept, W) / self.total_weight

    def right(self, chosen: tuple[Chosen, ...], intercept: bool, W: NDArray[np.float64]) -> float:
        """Return the weight of the rows that the chosen atoms answer right."""
        backend = self.backend
        scores = backend.zeros((self.y.shape[0], W.shape[0]))
        stop = int(intercept)
        if intercept:
            scores += backend.asarray(W[:, 0])
        for one in chosen:
            start, stop = stop, stop + one.scales.size
            columns = backend.wide(self._columns_of(one.atom)) - backend.asarray(one.centers)
            columns /= backend.asarray(one.scales)
            scores += columns @ backend.asarray(W[:, start:stop].T)
        right = scores.argmax(axis=1) == self.y
        return float(backend.wide(right) @ self.weight)

    def _columns_of(self, atom: int) -> Array:
        if atom not in self._columns:
            self._columns[atom] = self.backend.columns(self.pool.features([atom]), self.X)
        return self._columns[atom]
