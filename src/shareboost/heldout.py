"""Rows held out of training, and how the rounds do on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .path import Path, Round
from .pools import Pool
from .samples import Sample


class HeldOut:
    """A sample that no round is trained on.

    The columns of an atom are computed when a round first uses it, and kept.
    """

    def __init__(self, sample: Sample, pool: Pool):
        self.sample = sample
        self.pool = pool
        self._columns: dict[int, NDArray[Any]] = {}

    def score(self, path: Path, round_: Round) -> float:
        """Return the accuracy of a round of the path, the weighted share of right answers."""
        model = path.model(round_)
        columns = [self._columns_of(int(atom)) for atom in model.features.ids]
        scores = np.concatenate(columns, axis=1) @ model.coef.T + model.intercept
        right = scores.argmax(axis=1) == self.sample.y
        return float(self.sample.weight @ right / self.sample.weight.sum())

    def _columns_of(self, atom: int) -> NDArray[Any]:
        if atom not in self._columns:
            found = self.pool.features([atom]).columns(self.sample.X)
            self._columns[atom] = found.toarray() if sp.issparse(found) else found
        return self._columns[atom]
