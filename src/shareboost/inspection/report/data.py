"""All that a report tells, as a plain dict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...class_weights import sharing
from ...export.inference_cost import running_costs
from ...model import ModelPath
from ...path import PathOfOne
from ...predictor import Predictor
from ...progress import track
from ..comparison import labels_of_rows, n_columns_read, staged_labels
from ..intervals import of_errors
from .images import image_data
from .numbers import finite, rounded

FORMAT = 1  # of the dict
# Weights of all models grow by the square of their number; a page holds no more than these.
MOST_MODELS = 300


def report_data(
    clf: Predictor,
    X: Any,
    y: ArrayLike,
    *,
    X_train: Any = None,
    y_train: ArrayLike | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """Return what a report tells of a fitted classifier, in types that JSON has.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted. Every model of its path is told of.
    X, y : array-like
        Held-out rows and their labels. A label that the classifier does not know counts as an
        error.
    X_train, y_train : array-like, optional
        Rows that it was trained on, for its error there, and for what images look like.
    title : str, optional
        Of the page.

    Returns
    -------
    dict
        "models" has an entry for each model of the path, of a path of more than 300 for some 300
        of them: how many features it uses and which, their weights, its errors with a 95 %
        interval, its confusion matrix (rows are labels, columns predictions) and its costs.
        "features" describes the features that these name by number. "images" is there for image
        templates. docs/report.md describes all keys.
    """
    if (X_train is None) != (y_train is None):
        raise ValueError("X_train and y_train are for each other: report takes both or neither.")
    labels = labels_of_rows(clf, X, y)
    train_labels = None if X_train is None else labels_of_rows(clf, X_train, y_train)  # type: ignore[arg-type]
    path = clf.path_
    if not len(path):
        raise ValueError(
            f"clf chose no feature (it ended with {path.stop_reason}), so there is no model to "
            "report: are all columns of X constant, or is tol too large?"
        )
    own = int(np.flatnonzero(path.n_features <= clf.selected_.size)[-1])  # the classifier itself
    told = models_told(len(path), own)
    chosen = told.index(own)
    predicted = _staged_places(clf, X, told)
    known, true = _places_of(clf.classes_, labels)
    confusions = _confusions(predicted, known, true, clf.classes_.size)
    return {
        "format": FORMAT,
        "title": str(title) if title is not None else f"{type(clf).__name__} of {len(path)} rounds",
        "written_by": _written_by(),
        "classifier": repr(clf),
        "classes": [str(name) for name in clf.classes_.tolist()],
        "n_rows": int(labels.size),
        "n_unknown": int(labels.size - known.sum()),
        "n_trained": getattr(path, "n_rows", None),
        "n_inputs": int(clf.n_features_in_),
        "n_candidates": int(path.n_atoms),
        "stop_reason": str(path.stop_reason),
        "chosen": chosen,
        "features": _features(path),
        "models": _models(
            clf, told, confusions, labels.size, _train_errors(clf, X_train, train_labels, told)
        ),
        "images": image_data(clf, X, X_train, labels, predicted, chosen),
    }


def models_told(n: int, own: int) -> list[int]:
    """Return the places of the models that are told of, among them the last and that of its own.

    All of n where they are few, else of the later ones fewer and fewer.
    """
    if n <= MOST_MODELS:
        return list(range(n))
    spaced = np.round(np.geomspace(1, n, MOST_MODELS)).astype(int) - 1
    return sorted({own, *spaced.tolist()})


def _staged_places(clf: Predictor, X: Any, told: list[int]) -> NDArray[np.integer[Any]]:
    """Return the place in ``classes_`` of what those models predict, (models, rows)."""
    kind = np.min_scalar_type(clf.classes_.size)
    wanted = set(told)
    every = track(staged_labels(clf, X), "classifying held-out rows", len(clf.path_))
    staged = (found for i, found in enumerate(every) if i in wanted)
    return np.stack([np.searchsorted(clf.classes_, labels).astype(kind) for labels in staged])


def _places_of(
    classes: NDArray[Any], labels: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which labels are known, and the place in classes of those that are."""
    known = np.isin(labels, classes)
    return known, np.searchsorted(classes, labels[known])


def _confusions(
    predicted: NDArray[np.integer[Any]], known: NDArray[np.bool_], true: NDArray[np.intp], k: int
) -> list[NDArray[np.intp]]:
    """Return the counts of every model by label and prediction, (k, k) each."""
    return [
        np.bincount(true * k + found[known], minlength=k * k).reshape(k, k) for found in predicted
    ]


def _train_errors(
    clf: Predictor, X_train: Any, labels: NDArray[Any] | None, told: list[int]
) -> Iterator[float | None]:
    """Yield those models' errors on the rows that they were trained on, None without rows."""
    if labels is None:
        yield from [None] * len(told)
    else:
        wanted = set(told)
        every = track(staged_labels(clf, X_train), "classifying training rows", len(clf.path_))
        for i, found in enumerate(every):
            if i in wanted:
                yield float(np.mean(found != labels))


def _models(
    clf: Predictor,
    told: list[int],
    confusions: list[NDArray[np.intp]],
    n: int,
    train_errors: Iterator[float | None],
) -> list[dict[str, Any]]:
    """Return what there is to tell of those models, measured on n rows."""
    path = clf.path_
    steps = list(path)
    read = n_columns_read(path, clf.n_features_in_)
    costs = running_costs(clf) or {}
    found = []
    for i, confusion, train_error in zip(told, confusions, train_errors, strict=True):
        step = steps[i]
        wrong = n - int(np.trace(confusion))
        found.append(
            {
                "n_features": len(step.atoms),
                "n_inputs_read": int(read[i]),
                "wrong": wrong,
                "error": wrong / n,
                "interval": list(of_errors(wrong, n)),
                "train_error": train_error,
                "loss": finite(step.loss),
                "price": float(step.cost) if getattr(clf, "costs", None) is not None else None,
                "costs": {name: int(values[i]) for name, values in costs.items()} or None,
                "confusion": confusion.tolist(),
                "features": path.places(step.atoms)[0].tolist(),
                "weights": rounded(sharing(path, step), 4),
            }
        )
    return found


def _features(path: ModelPath) -> list[dict[str, Any]]:
    """Return the features that any model uses: by what step they came in, and what it saved."""
    steps = list(path)
    start = getattr(path, "start", None)
    alone = isinstance(path, PathOfOne)
    before = [None if start is None or alone else start.loss, *path.losses[:-1]]
    came_in = {atom: i for i, atoms in enumerate(path.arrivals()) for atom in atoms}
    first = 0 if start is None else 1  # the number of the first step
    names = path.features.atom_names(path.input_names)
    found = []
    for place, atom in enumerate(path.features.ids.tolist()):
        i = came_in[atom]
        earlier = before[i]
        found.append(
            {
                "name": str(names[place]),
                "round": place + 1 if alone else i + first,
                "loss_saved": None if earlier is None else finite(earlier - steps[i].loss),
                "n_columns": int(path.features.widths[place]),
            }
        )
    return found


def _written_by() -> str:
    from ... import __version__

    return f"shareboost {__version__}"
