"""Why a row gets its class: what its features add to one score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import dense
from ..inputs import on_host
from ..outputs import decision
from .comparison import check_has_path

if TYPE_CHECKING:
    from ..predictor import Predictor


class Explanation(NamedTuple):
    """The contributions of a row's features to the score of a class, the largest first.

    The start, the contributions and ``others`` add up to the score. For two classes it is the
    score of the class less that of the other.
    """

    label: Any
    names: list[str]
    values: NDArray[np.float64]  # NaN for a feature of several columns
    contributions: NDArray[np.float64]
    n_others: int  # features beyond those that are named
    others: float  # what they contribute together
    start: float  # the intercept, or the mean score of the background
    score: float


def explanations(
    clf: Predictor, X: Any, n_features: int, class_of_interest: Any = None, background: Any = None
) -> Iterator[Explanation]:
    """Yield an explanation of each row, which names up to ``n_features`` features.

    Without a class of interest it is that of the class that is predicted. With a background,
    contributions are taken less their means over its rows.
    """
    check_has_path(clf)
    X, model = on_host(X), clf._model()
    contributions, scores = clf._contributions(X), clf.decision_function(X)
    start = decision(model.intercept[None])[0]
    if background is not None:
        means = clf._contributions(on_host(background)).mean(axis=0)
        contributions, start = contributions - means, start + means.sum(axis=-1)
    if scores.ndim == 1:  # of the second class less the first
        signs = np.array([-1.0, 1.0])
        contributions = contributions[:, None] * signs[:, None]
        scores, start = scores[:, None] * signs, start * signs
    values, names = _values(clf, X), clf.path_.names(clf.selected_)
    for row, q in enumerate(_places(clf, X, class_of_interest)):
        of_class = contributions[row, q]
        order = np.argsort(-np.abs(of_class), kind="stable")
        some, rest = order[:n_features], order[n_features:]
        yield Explanation(
            clf.classes_[q],
            names=[names[place] for place in some],
            values=values[row, some],
            contributions=of_class[some],
            n_others=rest.size,
            others=float(of_class[rest].sum()),
            start=float(start[q]),
            score=float(scores[row, q]),
        )


def _places(clf: Predictor, X: Any, class_of_interest: Any) -> NDArray[np.intp]:
    """Return the place in ``classes_`` of the class to explain, for each row."""
    predicted = np.searchsorted(clf.classes_, clf.predict(X))
    if class_of_interest is None:
        return predicted
    classes = clf.classes_.tolist()
    if class_of_interest not in classes:
        raise ValueError(
            f"class_of_interest={class_of_interest!r} is not a valid label: It should be one of "
            f"{classes}."
        )
    return np.full_like(predicted, classes.index(class_of_interest))


def _values(clf: Predictor, X: Any) -> NDArray[np.float64]:
    """Return the value of each feature, (rows, features), NaN for those of several columns."""
    model, rows = clf._read_model(X)
    columns, widths = dense(model.features.columns(rows)), model.features.widths
    values: NDArray[np.float64] = np.full((len(columns), widths.size), np.nan)
    values[:, widths == 1] = columns[:, (np.cumsum(widths) - widths)[widths == 1]]
    return values
