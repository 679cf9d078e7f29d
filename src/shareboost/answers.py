"""What a model answers, in arrays of the kind that it was asked with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

from .model import Model
from .places import is_device_array, place_of


def given_back(result: Any, X: Any) -> Any:
    """Return a result as an array of X's kind: NumPy's, or where X is that of a device, that."""
    if not is_device_array(X):
        return result
    from .on_device.tensors import like

    return like(result, X)


def labels_of(classes: NDArray[Any], places: Any, X: Any) -> Any:
    """Return the labels at those places, as an array of X's kind if they are numbers."""
    if not is_device_array(X):
        return classes[places]
    place = place_of(X, None)
    if classes.dtype.kind not in "biuf":
        return classes[place.numpy(places)]
    return given_back(place.asarray(classes)[places], X)


def scores_of(model: Model, X: Any) -> Any:
    """Return the scores of a tensor's rows, (rows, k), on its device; no moved rows."""
    place: Any = place_of(X, None)
    with place.settled():
        weights, intercept = place.asarray(model.weights.T), place.asarray(model.intercept)
        if X.layout != place.xp.strided:  # compressed rows, which are not cut
            return place.wide(place.columns(model.features, X)) @ weights + intercept
        scores = place.zeros((X.shape[0], len(intercept)))

        def write(some: slice) -> None:
            scores[some] = place.wide(place.columns(model.features, X[some])) @ weights + intercept

        place.memory.chunks(len(X), 24 * max(1, len(weights)), write, "the chosen columns")
    return scores


def contributions_of(model: Model, X: Any) -> Any:
    """Return what each atom adds to each score, (rows, k, atoms), as an array where X is."""
    place = place_of(X, None)
    with place.settled():
        weights = place.asarray(model.weights.T)
        columns = place.wide(place.columns(model.features, X))
        widths = model.features.widths
        found = place.zeros((X.shape[0], model.intercept.size, widths.size))
        for j, (stop, width) in enumerate(zip(np.cumsum(widths), widths, strict=True)):
            own = slice(int(stop - width), int(stop))
            found[:, :, j] = columns[:, own] @ weights[own]
    return found


class StepWeights(NamedTuple):
    """The weights of one model of a path."""

    own: NDArray[np.intp]  # where its columns are among those of the path's features
    weights: NDArray[np.float64]  # (k, own.size)
    intercept: NDArray[np.float64]  # (k,)

    def scores(self, columns: Any) -> Any:
        """Return the scores of rows given by all columns of the path, (rows, k)."""
        place = place_of(columns, None)
        first = np.array_equal(self.own, np.arange(self.own.size))  # then no copy is needed
        used = columns[:, : self.own.size] if first else columns[:, place.asarray(self.own)]
        return used @ place.asarray(self.weights.T) + place.asarray(self.intercept)


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
