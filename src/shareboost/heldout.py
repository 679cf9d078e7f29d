"""Rows held out of training, and how the rounds do on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .places.base import Array
from .rows import Rows
from .samples import Sample


class HeldOut:
    """A sample that no round is trained on, which goes where the training rows are.

    The columns of an atom are computed when a round first uses it, and kept.
    """

    def __init__(self, sample: Sample, rows: Rows):
        self.place = rows.place
        self.pool = rows.pool
        self.X = self.place.rows(sample.X)
        self.y = self.place.asarray(sample.y)
        self.weight = self.place.asarray(sample.weight)
        self.total_weight = float(sample.weight.sum())
        self._columns: dict[int, Array] = {}

    def score(self, rows: Rows, W: NDArray[np.float64]) -> float:
        """Return the accuracy of the atoms chosen in the rows, the weighted share of right answers.

        W, (k, n_columns), holds their weights, in training units.
        """
        place = self.place
        scores = place.zeros((self.y.shape[0], W.shape[0]))
        edges = rows.starts
        if rows.intercept:
            scores += place.asarray(W[:, 0])
        for chosen, start, stop in zip(
            rows.chosen, edges[rows.intercept :], edges[rows.intercept + 1 :], strict=False
        ):
            columns = place.wide(self._columns_of(chosen.atom)) - place.asarray(chosen.centers)
            columns /= place.asarray(chosen.scales)
            scores += columns @ place.asarray(W[:, start:stop].T)
        right = scores.argmax(axis=1) == self.y
        return float(place.wide(right) @ self.weight) / self.total_weight

    def _columns_of(self, atom: int) -> Array:
        if atom not in self._columns:
            self._columns[atom] = self.place.columns(self.pool.features([atom]), self.X)
        return self._columns[atom]
