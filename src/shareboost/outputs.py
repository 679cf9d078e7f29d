"""What a model answers, in arrays of the kind that it was asked with."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

from .arrays import dense, to_float64
from .inputs import backend_of

if TYPE_CHECKING:
    from .model import Model


def decision(scores: Any) -> Any:
    """Return the scores as scikit-learn wants them: a difference for two classes."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def labels_of(classes: NDArray[Any], places: Any) -> Any:
    """Return the labels at those places, where these are if the labels are numbers."""
    if isinstance(places, np.ndarray):
        return classes[places]
    backend = backend_of(places)
    if classes.dtype.kind not in "biuf":
        return classes[backend.numpy(places)]
    return backend.asarray(classes)[places]


def of_scores(asked: str, scores: Any, classes: NDArray[Any]) -> Any:
    """Return "decisions", "predict" (the labels) or the "scores" of rows from their scores."""
    if asked == "predict":
        return labels_of(classes, scores.argmax(axis=1))
    return decision(scores) if asked == "decisions" else scores


def contributions_of(model: Model, X: Any) -> Any:
    """Return what each atom adds to each score, (rows, k, atoms), as an array where X is."""
    backend = backend_of(X)
    with backend.deterministic():
        weights = backend.asarray(model.weights.T)
        columns = to_float64(dense(backend.columns(model.features, X)))
        widths = model.features.widths
        contributions = backend.zeros((X.shape[0], model.intercept.size, widths.size))
        for j, (start, stop) in enumerate(pairwise(np.cumsum([0, *widths]).tolist())):
            contributions[:, :, j] = columns[:, start:stop] @ weights[start:stop]
    return contributions


class StepWeights(NamedTuple):
    """The weights of one model of a path."""

    places: NDArray[np.intp]  # where its columns are among those of the path's features
    weights: NDArray[np.float64]  # (k, places.size)
    intercept: NDArray[np.float64]  # (k,)

    def scores(self, columns: Any) -> Any:
        """Return the scores of rows given by all columns of the path, (rows, k)."""
        backend = backend_of(columns)
        n = self.places.size
        first = np.array_equal(self.places, np.arange(n))  # then no copy is needed
        used = columns[:, :n] if first else columns[:, backend.asarray(self.places)]
        return used @ backend.asarray(self.weights.T) + backend.asarray(self.intercept)


def softmax(scores: Any) -> Any:
    """Return the soft-max over classes, (rows, k)."""
    if isinstance(scores, np.ndarray):
        return scipy.special.softmax(scores, axis=1)
    return scores.softmax(1)


def log_softmax(scores: Any) -> Any:
    """Return the logarithm of the soft-max over classes, (rows, k)."""
    if isinstance(scores, np.ndarray):
        return scipy.special.log_softmax(scores, axis=1)
    return scores.log_softmax(1)
