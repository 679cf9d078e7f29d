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


def joined(results: list[dict[str, NDArray[Any]]], alphas: list[Any]) -> dict[str, NDArray[Any]]:
    """Return the results with all weights of the penalty as one table, with a column "alpha"."""
    table = {name: np.concatenate([one[name] for one in results]) for name in results[0]}
    sizes = [one["n_features"].size for one in results]
    return {"alpha": np.repeat(np.array(alphas, dtype=object), sizes), **table}


def chosen(scores: NDArray[np.float64], n_features: NDArray[np.intp], choice: str) -> int:
    """Return the place of the chosen model: the one with the fewest features that is good enough.

    Among good ones with as many features it is the best, and the first of equals.
    """
    mean = scores.mean(axis=0)
    rounding = ROUNDING * np.abs(mean).max()
    least = mean.max() - rounding
    if choice == "one_se":
        best = _fewest(mean >= least, n_features, mean, rounding)
        least = mean[best] - scores[:, best].std(ddof=1) / np.sqrt(len(scores)) - rounding
    return _fewest(mean >= least, n_features, mean, rounding)


def _fewest(
    good: NDArray[np.bool_], n_features: NDArray[np.intp], mean: NDArray[np.float64], noise: float
) -> int:
    """Return the place of the best mean among the good ones of the fewest features."""
    good = good & (n_features == n_features[good].min())
    return int(np.argmax(good & (mean >= mean[good].max() - noise)))
