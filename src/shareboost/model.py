"""A trained predictor: chosen atoms and their weights, and nothing of the training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pools.columns import ColumnFeatures
from .pools.features import Features

# Columns of about this many bytes are computed at a time, and rows of at least so many: what a
# step leaves is then still in a cache when the next one comes.
CHUNK_BYTES = 1 << 20
CHUNK_ROWS = 4096
MOST_BYTES = 1 << 26  # however few the rows


@dataclass(frozen=True)
class Model:
    """Scores ``columns(X) @ weights.T + intercept``, all in the units of X."""

    features: Features
    weights: NDArray[np.float64]  # (k, n_columns)
    intercept: NDArray[np.float64]  # (k,)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class for every row of X, (rows, k)."""
        found = np.empty((X.shape[0], self.intercept.size))
        for rows, scores in self._scored(X):
            found[rows] = scores.T
        return found

    def best(self, X: Any) -> NDArray[np.intp]:
        """Return the place of the highest score of every row of X, the first of equals, (rows,).

        No score is kept, and the largest is found one class at a time for all rows of a
        chunk: NumPy's ``argmax`` of each row takes longer than the scores themselves.
        """
        kind = np.min_scalar_type(self.intercept.size - 1).type
        best = np.zeros(X.shape[0], dtype=kind)
        for rows, (largest, *others) in self._scored(X):
            for q, scores in enumerate(others, start=1):
                above = np.multiply(scores > largest, kind(q))  # q, which is more than any before
                np.maximum(best[rows], above, out=best[rows])
                np.maximum(largest, scores, out=largest)
        return best.astype(np.intp)

    def _scored(self, X: Any) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield ranges of rows and the scores there, (k, rows); never all columns at once.

        Columns of X are read in the order of X, so that rows without the others, whose columns
        need no copy, have the same scores to the last bit.
        """
        features, weights, all_of_X = self.features, self.weights, False
        if (columns_in := features.input_columns) is not None:
            order = np.argsort(columns_in, kind="stable")
            features, weights = ColumnFeatures(columns_in[order]), weights[:, order]
            every = np.arange(X.shape[1])
            all_of_X = isinstance(X, np.ndarray) and np.array_equal(features.ids, every)
        a_row = 8 * max(1, weights.shape[1])
        step = max(1, min(max(CHUNK_ROWS, CHUNK_BYTES // a_row), MOST_BYTES // a_row))
        if X.shape[0] > step and hasattr(X, "tocsr"):
            X = X.tocsr()
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            columns = np.ascontiguousarray(X[rows]) if all_of_X else features.columns(X[rows])
            # Converted first: NumPy's own conversion of a transposed matrix is slow.
            scores: NDArray[np.float64] = weights @ columns.astype(np.float64, copy=False).T
            scores += self.intercept[:, None]
            yield rows, scores
