"""Classifiers against each other: their error against the number of features that they use."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ..input_columns import columns_read
from ..inputs import input_of, on_host
from ..predictor import Predictor
from ..validation import check_labels_of_one_type, is_number, sample_weights

if TYPE_CHECKING:
    from ..path import Path

NORMAL_QUANTILE = 1.959963984540054  # two-sided, 95%


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The error of every model of a path, in its order: figures 2 and 3 of the paper."""

    n_features: NDArray[np.intp]  # that each model uses
    fractions: NDArray[np.float64]  # the same as a share of all candidates, as in figure 3
    n_columns: NDArray[np.intp]  # of X, that each model reads
    errors: NDArray[np.float64]  # the share of the rows, by weight, that it gets wrong

    def features_needed(self, error: float) -> int | None:
        """Return the fewest features that reach at most that error, None where no model does."""
        if not is_number(error) or not 0 <= error <= 1:
            raise ValueError(f"error={error!r} is not valid: it takes a share of rows, 0 to 1.")
        enough = self.n_features[self.errors <= error]
        return int(enough.min()) if enough.size else None


def error_curve(
    clf: Predictor, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> ErrorCurve:
    """Return the error of every model that ``clf.staged_predict`` yields the predictions of.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted.
    X : array, sparse matrix or frame of shape (n_samples, n_features_in)
        Rows, best of all such that the classifier has not seen.
    y : array-like of shape (n_samples,)
        Their labels. One that the classifier does not know counts as an error, but some must
        be known.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from shareboost import ShareBoostClassifier
    >>> from shareboost.inspection.comparison import error_curve
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = ShareBoostClassifier(n_features=5).fit(X[::2], y[::2])
    >>> curve = error_curve(clf, X[1::2], y[1::2])
    >>> curve.n_features
    array([1, 2, 3, 4, 5])
    >>> curve.features_needed(error=0.1)
    2
    """
    labels, path = labels_of_rows(clf, X, y), clf.path_
    weight = sample_weights(on_host(sample_weight), X)
    errors = [weight @ (staged != labels) / weight.sum() for staged in staged_labels(clf, X)]
    read = np.array(n_columns_read(path, clf.n_features_in_), dtype=np.intp)
    fractions = path.n_features / max(path.n_atoms, 1)
    return ErrorCurve(path.n_features, fractions, read, np.array(errors, dtype=np.float64))


def staged_labels(clf: Predictor, X: Any) -> Iterator[NDArray[Any]]:
    """Yield the labels that every model predicts, as NumPy's."""
    for scores in input_of(X).staged(clf, "scores", X):
        yield clf.classes_[on_host(scores.argmax(axis=1))]


def check_has_path(clf: Any, fitted: bool = True) -> None:
    """Refuse what is no classifier with a path of models, and one that is not fitted."""
    if not isinstance(clf, Predictor):
        raise TypeError(
            f"clf is a {type(clf).__name__}, which has no path of models: it takes a "
            "ShareBoostClassifier, ShareBoostCV or rival, without a pipeline around it."
        )
    if fitted:
        check_is_fitted(clf)


def labels_of_rows(clf: Predictor, X: Any, y: ArrayLike) -> NDArray[Any]:
    """Return the labels of rows that a fitted classifier is measured on, checked: some known."""
    check_has_path(clf)
    y = on_host(y)
    check_labels_of_one_type(y)
    labels: NDArray[Any] = column_or_1d(y)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y has missing labels (NaN): it takes a label for every row.")
    check_consistent_length(X, labels)
    if not np.isin(labels, clf.classes_).any():
        raise ValueError(
            f"y holds none of the classifier's classes, {clf.classes_.tolist()}, but labels such "
            f"as {labels.tolist()[0]!r}."
        )
    return labels


def n_columns_read(path: Path, n_columns_in: int) -> list[int]:
    """Return how many of X's columns each model reads."""
    return [
        columns_read(path.features.take(path.places(step.atoms)[0]), n_columns_in).size
        for step in path
    ]


def of_errors(wrong: int, tested: int) -> tuple[float, float]:
    """Return the 95% interval of a share of errors, by Wilson's score."""
    z2, share = NORMAL_QUANTILE**2, wrong / tested
    middle = (share + z2 / (2 * tested)) / (1 + z2 / tested)
    spread = math.sqrt(share * (1 - share) / tested + z2 / (4 * tested**2))
    reach = NORMAL_QUANTILE / (1 + z2 / tested) * spread
    return max(0.0, middle - reach), min(1.0, middle + reach)
