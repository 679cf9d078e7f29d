"""A trained predictor: chosen atoms and their weights, and nothing of the training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pools import Features


@dataclass(frozen=True)
class Model:
    """Scores ``columns(X) @ coef.T + intercept``, all in the units of X."""

    features: Features
    coef: NDArray[np.float64]  # (k, n_columns)
    intercept: NDArray[np.float64]  # (k,)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class for every row of X, (rows, k)."""
        return np.asarray(self.features.columns(X) @ self.coef.T) + self.intercept
