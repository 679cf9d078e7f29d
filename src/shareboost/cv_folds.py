"""One fold of a cross-validation: its split checked, its run, its score for every number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from inspect import signature
from numbers import Integral, Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from .classifier import ShareBoostClassifier
from .inputs import input_of, on_host
from .predictor import ANSWERS

if TYPE_CHECKING:
    from .dataset import GivenSample
    from .path import Path

Scorer = Callable[..., Any]


class Split(NamedTuple):
    """Indices, or masks, of the rows to train on and of those held out."""

    train: NDArray[Any]
    test: NDArray[Any]


class FoldClassifier(ShareBoostClassifier):
    """A classifier that knows its scores of the held-out rows.

    A scorer is given one for each number of features. Only of the very object that holds
    the held-out rows are the scores known; a scorer may ask for those of any other.
    """

    _known: tuple[Any, Path | None, Any] = (None, None, None)

    def rounds(self, X: Any) -> Iterator[Self]:
        """Yield the classifiers of the first 1, 2, ... features.

        The columns of all atoms are computed once. Without any atom, yield this one.
        """
        for t, scores in enumerate(input_of(X).staged(self, "scores", X), start=1):
            round_ = self.at(t)
            round_._known = X, round_.path_, scores
            yield round_
        if not len(self.path_):
            yield self

    def _answered(self, asked: str, X: Any) -> Any:
        """Return NumPy's arrays, which scorers read, of rows on a device or a cluster too."""
        known = self._known_scores(X) is not None
        return on_host(ANSWERS[asked](self, X) if known else super()._answered(asked, X))

    def _scores(self, X: Any) -> Any:
        known = self._known_scores(X)
        return super()._scores(X) if known is None else known

    def _best(self, X: Any) -> Any:
        known = self._known_scores(X)
        return super()._best(X) if known is None else known.argmax(axis=1)

    def _known_scores(self, X: Any) -> Any:
        """Return the scores of the very rows they are known of, else None."""
        rows, path, scores = self._known
        # A further fit has another path, and so has at(t).
        return scores if X is rows and self.path_ is path else None


def checked_splits(cv: Any, rows: GivenSample, groups: Any, least: int = 1) -> list[Split]:
    """Return the folds of the rows, at least so many; groups are those of rows."""
    n, groups = len(rows.y), on_host(groups)
    try:
        splitter = check_cv(cv, rows.y, classifier=True)
        # A frame of Dask would be computed for its length.
        X = rows.X if isinstance(rows.X.shape[0], Integral) else np.empty((n, 0))
        splits = [
            # An empty list would become an array of floats.
            Split(*(np.asarray(part, None if len(part) else np.intp) for part in split))
            for split in splitter.split(X, rows.y, groups)
        ]
        for place in (place for split in splits for place in split):
            rows.y[place]  # before any fit
    except (IndexError, TypeError, ValueError) as error:
        hint = ""
        if "groups" in str(error):
            hint = " Give fit those of the rows; the estimator's groups are those of columns."
        raise ValueError(f"cv cannot split the {n} rows: {error}{hint}") from error
    if len(splits) < least:
        told = f"cv has {len(splits)} folds: it takes at least 1, and 2 for the standard error of"
        raise ValueError(f'{told} choice="one_se".')
    return splits


def curve(clf: FoldClassifier, rows: GivenSample, split: Split, scorer: Scorer) -> Curve:
    """Return the curve of one fold; the classifier stays as it is."""
    clf = clone(clf)  # so that a RandomState begins alike in every fold
    held_out = rows.take(split.test)
    started = perf_counter()
    clf.fit(*rows.take(split.train))
    took = perf_counter() - started
    scores = [_score(scorer, round_, held_out) for round_ in clf.rounds(held_out.X)]
    path = clf.path_
    # What came before the rounds, such as fitting the pool, is in every number's time.
    seconds = path.seconds + (took - path.seconds[-1]) if len(path) else np.array([took])
    return Curve(np.array(scores), seconds, path.n_owned)


def _score(scorer: Scorer, clf: FoldClassifier, rows: GivenSample) -> float:
    """Return the classifier's score on the rows, weighted where the scorer takes weights."""
    weighted = rows.weight is not None and _takes_weights(scorer)
    weights = {"sample_weight": rows.weight} if weighted else {}
    score = scorer(clf, rows.X, rows.y, **weights)
    if not isinstance(score, Real) or not math.isfinite(score):
        raise ValueError(
            f"scoring gave {score!r} on a fold of {len(rows.y)} rows with the classes "
            f"{np.unique(rows.y).tolist()}, after training on {clf.classes_.tolist()}: it "
            "takes a scorer that gives one finite number."
        )
    return float(score)


def _takes_weights(scorer: Scorer) -> bool:
    if hasattr(scorer, "_accept_sample_weight"):  # those of scikit-learn look at their metric
        return bool(scorer._accept_sample_weight())
    return "sample_weight" in signature(scorer).parameters


# Mean scores this close, against the largest of them, are equal but for rounding.
ROUNDING = 1e-12


class Curve(NamedTuple):
    """What a fold tells of the first 1, 2, ... features, as far as its run went."""

    scores: NDArray[np.float64]  # on the held-out rows
    seconds: NDArray[np.float64]  # since its fit began
    owned: int  # how many of them were asked for


def cv_results(
    curves: list[Curve], alpha: Any
) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Return ``cv_results_`` of one alpha and the scores, (n_splits, numbers of features)."""
    first = max(1, *(curve.owned for curve in curves))
    last = max(first, *(curve.scores.size for curve in curves))
    n_features = np.arange(first, last + 1)
    # A run that ended early stays what it was.
    places = [np.minimum(n_features, curve.scores.size) - 1 for curve in curves]
    scores = np.array([curve.scores[at] for curve, at in zip(curves, places, strict=True)])
    seconds = [curve.seconds[at] for curve, at in zip(curves, places, strict=True)]
    results = {
        "alpha": np.full(n_features.size, alpha, dtype=object),
        "n_features": n_features,
        "mean_test_score": scores.mean(axis=0),
        "std_test_score": scores.std(axis=0),
        **{f"split{place}_test_score": row for place, row in enumerate(scores)},
        "mean_fit_time": np.mean(seconds, axis=0),
    }
    return results, scores


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
