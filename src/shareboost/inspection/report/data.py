"""All that a report tells, as a plain dict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...export.cost import running_costs
from ...model import sharing
from ...path import PathOfOne
from ...progress import track
from ..comparison import labels_of_rows, n_columns_read, of_errors, staged_labels
from .images import image_data
from .packing import rounded

if TYPE_CHECKING:
    from ...path import Path
    from ...predictor import Predictor

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

    docs/report.md describes all keys. "models" has an entry for each model of the path, of a path
    of more than 300 for some 300 of them; "images" is there for image templates.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted.
    X, y : array-like
        Held-out rows and their labels; one that the classifier does not know is an error.
    X_train, y_train : array-like, optional
        Rows that it was trained on, for its error there, and for what images look like.
    title : str, optional
        Of the page.
    """
    if (X_train is None) != (y_train is None):
        raise ValueError("X_train and y_train are for each other: report takes both or neither.")
    labels = labels_of_rows(clf, X, y)
    train_labels = None if y_train is None else labels_of_rows(clf, X_train, y_train)
    path, classes = clf.path_, clf.classes_
    if not len(path):
        raise ValueError(
            f"clf chose no feature (it ended with {path.stop_reason}), so there is no model to "
            "report: are all columns of X constant, or is tol too large?"
        )
    itself = int(np.flatnonzero(path.n_features <= clf.selected_.size)[-1])
    told = models_told(len(path), itself)
    true = _places(classes, labels)
    # Places of classes, (models, rows).
    predicted = np.stack(list(_staged_places(clf, X, told, "classifying held-out rows")))
    models = _models(clf, told, predicted, true)
    if train_labels is not None:
        staged = _staged_places(clf, X_train, told, "classifying training rows")
        for model, places in zip(models, staged, strict=True):
            model["train_error"] = float(np.mean(places != _places(classes, train_labels)))
    chosen = told.index(itself)
    images = image_data(clf, X, X_train, labels, predicted, true, chosen)
    shown = {"chosen": chosen, "features": features_of(path), "models": models, "images": images}
    return _about(clf, title, true) | shown


def _about(clf: Predictor, title: str | None, true: NDArray[np.intp]) -> dict[str, Any]:
    from ... import __version__

    path = clf.path_
    return {
        "format": FORMAT,
        "title": str(title) if title is not None else f"{type(clf).__name__} of {len(path)} rounds",
        "written_by": f"shareboost {__version__}",
        "classifier": repr(clf),
        "classes": [str(name) for name in clf.classes_.tolist()],
        "n_rows": true.size,
        "n_unknown": int(np.sum(true < 0)),
        "n_trained": getattr(path, "n_rows", None),
        "n_inputs": int(clf.n_features_in_),
        "n_candidates": int(path.n_atoms),
        "stop_reason": str(path.stop_reason),
    }


def models_told(n: int, itself: int) -> list[int]:
    """Return the places of the models that are told of: of many, fewer and fewer of the later."""
    if n <= MOST_MODELS:
        return list(range(n))
    spaced = np.round(np.geomspace(1, n, MOST_MODELS)).astype(int) - 1
    return sorted({itself, *spaced.tolist()})


def _places(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the places of labels among the classes, -1 for one that is not known."""
    known = np.isin(labels, classes)
    return np.where(known, np.searchsorted(classes, np.where(known, labels, classes[0])), -1)


def _staged_places(
    clf: Predictor, X: Any, told: list[int], doing: str
) -> Iterator[NDArray[np.integer[Any]]]:
    """Yield the places of the classes that the models that are told of predict."""
    kind, wanted = np.min_scalar_type(clf.classes_.size), set(told)
    for i, labels in enumerate(track(staged_labels(clf, X), doing, len(clf.path_))):
        if i in wanted:
            yield np.searchsorted(clf.classes_, labels).astype(kind)


def _models(
    clf: Predictor, told: list[int], predicted: NDArray[np.integer[Any]], true: NDArray[np.intp]
) -> list[dict[str, Any]]:
    """Return what there is to tell of those models, their training errors not yet."""
    path, n, k, known = clf.path_, true.size, clf.classes_.size, true >= 0
    steps, read = list(path), n_columns_read(path, clf.n_features_in_)
    costs = running_costs(clf) or {}
    priced = getattr(clf, "costs", None) is not None
    models = []
    for i, places in zip(told, predicted, strict=True):
        step, n_wrong = steps[i], int(np.sum(places != true))
        confusion = np.bincount(true[known] * k + places[known], minlength=k * k)
        models.append(
            {
                "n_features": len(step.atoms),
                "n_inputs_read": int(read[i]),
                "wrong": n_wrong,
                "error": n_wrong / n,
                "interval": list(of_errors(n_wrong, n)),
                "train_error": None,
                "loss": finite(step.loss),
                "price": float(step.cost) if priced else None,
                "costs": {name: int(values[i]) for name, values in costs.items()} or None,
                "confusion": confusion.reshape(k, k).tolist(),
                "features": path.places(step.atoms)[0].tolist(),
                "weights": rounded(sharing(path, step), 4),
            }
        )
    return models


def features_of(path: Path) -> list[dict[str, Any]]:
    """Return the features that any model uses: by what step they came in, and what it saved."""
    steps, start = list(path), getattr(path, "start", None)
    alone = isinstance(path, PathOfOne)
    before = [None if start is None or alone else start.loss, *path.losses]
    came_in = {atom: i for i, atoms in enumerate(path.arrivals()) for atom in atoms}
    first = 0 if start is None else 1  # the number of the first step
    atoms, widths = path.features.ids.tolist(), path.features.widths.tolist()
    features: list[dict[str, Any]] = []
    for name, atom, width in zip(path.names(atoms), atoms, widths, strict=True):
        i = came_in[atom]
        features.append(
            {
                "name": str(name),
                "round": len(features) + 1 if alone else i + first,
                "loss_saved": None if before[i] is None else finite(before[i] - steps[i].loss),
                "n_columns": width,
            }
        )
    return features


def finite(value: float) -> float | None:
    """Return the number, None for one that JSON does not have."""
    return float(value) if np.isfinite(value) else None
