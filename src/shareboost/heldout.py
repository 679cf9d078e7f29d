"""Rows held out of training, and how the rounds do on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .pools import Pool
from .rows import Rows
from .samples import Sample


class HeldOut:
    """A sample that no round is trained on.

    The columns of an atom are computed when a round first uses it, and kept.
    """

    def __init__(self, sample: Sample, pool: Pool):
        self.sample = sample
        self.pool = pool
        self._columns: dict[int, NDArray[Any]] = {}

    def score(self, rows: Rows, W: NDArray[np.float64]) -> float:
        """Return the accuracy of the atoms chosen in the rows, the weighted share of right answers.

        W, (k, n_columns), holds their weights, in training units.
        """
        scores = np.zeros((self.sample.y.size, W.shape[0]))
        edges = rows.starts
        if rows.intercept:
            scores += W[:, 0]
        for chosen, start, stop in zip(
            rows.chosen, edges[rows.intercept :], edges[rows.intercept + 1 :], strict=False
        ):
            columns = (self._columns_of(chosen.atom) - chosen.centers) / chosen.scales
            scores += columns @ W[:, start:stop].T
        right = scores.argmax(axis=1) == self.sample.y
        return float(self.sample.weight @ right / self.sample.weight.sum())

    def _columns_of(self, atom: int) -> NDArray[Any]:
        if atom not in self._columns:
            found = self.pool.features([atom]).columns(self.sample.X)
            self._columns[atom] = found.toarray() if sp.issparse(found) else found
        return self._columns[atom]
