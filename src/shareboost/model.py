"""A trained predictor: chosen atoms and their weights, and nothing of the training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pools import Features

# Columns of this many bytes are computed at a time.
CHUNK_BYTES = 1 << 26


@dataclass(frozen=True)
class Model:
    """Scores ``columns(X) @ coef.T + intercept``, all in the units of X."""

    features: Features
    coef: NDArray[np.float64]  # (k, n_columns)
    intercept: NDArray[np.float64]  # (k,)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class for every row of X, (rows, k).

        Rows are taken some at a time, so that the columns are never all in memory.
        """
        n = X.shape[0]
        step = max(1, CHUNK_BYTES // (8 * max(1, self.features.n_columns)))
        if n <= step:
            return np.asarray(self.features.columns(X) @ self.coef.T) + self.intercept
        X = X.tocsr() if hasattr(X, "tocsr") else X
        return np.concatenate([self.scores(X[i : i + step]) for i in range(0, n, step)])
