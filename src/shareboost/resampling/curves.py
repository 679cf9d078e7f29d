"""The folds' curves, score against number of features: their table, and the number chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Mean scores this close, against the largest of them, are equal but for rounding.
ROUNDING = 1e-12


class Curve(NamedTuple):
    """What a fold tells of the first 1, 2, ... features, as far as its run went."""

    scores: NDArray[np.float64]  # on the held-out rows
    seconds: NDArray[np.float64]  # since its fit began
    owned: int  # how many of them were asked for


def cv_results(curves: list[Curve]) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Return ``cv_results_`` and the scores, (n_splits, numbers of features)."""
    first = max(1, *(curve.owned for curve in curves))
    last = max(first, *(curve.scores.size for curve in curves))
    n_features = np.arange(first, last + 1)
    # A run that ended early stays what it was.
    places = [np.minimum(n_features, curve.scores.size) - 1 for curve in curves]
    scores = np.array([curve.scores[at] for curve, at in zip(curves, places, strict=True)])
    seconds = [curve.seconds[at] for curve, at in zip(curves, places, strict=True)]
    results = {
        "n_features": n_features,
        "mean_test_score": scores.mean(axis=0),
        "std_test_score": scores.std(axis=0),
        **{f"split{place}_test_score": row for place, row in enumerate(scores)},
        "mean_fit_time": np.mean(seconds, axis=0),
    }
    return results, scores


def chosen(scores: NDArray[np.float64], choice: str) -> int:
    """Return the place of the chosen number of features, the first that is good enough."""
    mean = scores.mean(axis=0)
    rounding = ROUNDING * np.abs(mean).max()
    best = int(np.argmax(mean >= mean.max() - rounding))
    if choice == "best":
        return best
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return int(np.argmax(mean >= mean[best] - error - rounding))
