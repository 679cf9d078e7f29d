"""Input in NumPy's arrays, SciPy's matrices, frames and lists."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _check_feature_names_in, check_array

from ..dataset import CheckedSample, GivenSample, Sample
from ..inputs import PACKAGES, on_host
from ..outputs import of_scores
from ..pools import takes_nan
from ..predictor import ANSWERS, Predictor
from ..validation import (
    check_data,
    check_labels_of_one_type,
    check_rows,
    check_weights,
    checked_weights,
    encode_labels,
    sample_weights,
)
from .base import Backend
from .numpy import NUMPY


class Input:
    """What is asked of rows that a user gave; here of those that NumPy computes.

    ``checked`` and ``estimator`` stand for an estimator that learns, or knows, the number and names
    of columns.
    """

    # Whether a fit takes all workers of a cluster, so that no two should run at once.
    fits_one_by_one: ClassVar[bool] = False

    def backend(self, X: Any, device: Any) -> Backend:
        """Return the backend for rows X and the estimator's ``device``; raise if they differ."""
        if device is None:
            return NUMPY
        return import_module(f"{PACKAGES['torch']}.input").INPUT.backend(X, device)

    def on_host(self, values: Any) -> Any:
        """Return values as an array of NumPy or a matrix of SciPy, any of these as they are."""
        return values

    def take(self, X: Any, rows: NDArray[Any]) -> Any:
        """Return some rows of X, by index or by mask, as X is: a frame, a tensor, lazy."""
        return _safe_indexing(X, rows)

    def taken_as(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows, by index, in an order in which X has them to give."""
        return rows

    def check_rows(self, estimator: Any, X: Any, finite: Any) -> Any:
        """Return rows for an estimator that knows the number and names of its columns."""
        return check_rows(estimator, X, finite)

    def check_data(
        self, estimator: Any, X: Any, y: Any, allows_nan: bool
    ) -> tuple[Any, NDArray[Any]]:
        """Return X and y as arrays; the estimator learns the number and names of columns."""
        return check_data(estimator, X, y, allows_nan)

    def sample(
        self, checked: Any, X: Any, y: Any, sample_weight: Any, allows_nan: bool
    ) -> CheckedSample[Any]:
        """Return the rows to fit an estimator to, checked."""
        y, sample_weight = on_host(y), on_host(sample_weight)
        check_labels_of_one_type(y)
        data, labels = self.check_data(checked, X, y, allows_nan)
        classes, index = encode_labels(labels)
        weight, unit = check_weights(sample_weight, data, checked.class_weight, classes, index)
        own = sample_weights(sample_weight, data)
        names = _check_feature_names_in(checked)
        return CheckedSample(checked, classes, names, Sample(data, index, weight, own, unit))

    def given_sample(self, checked: Any, X: Any, y: Any, sample_weight: Any) -> GivenSample:
        """Return the rows, X as given where rows can be taken from it, and checked."""
        y, sample_weight = on_host(y), on_host(sample_weight)
        check_labels_of_one_type(y)
        data, labels = self.check_data(checked, X, y, takes_nan(checked.pool))
        weight = None if sample_weight is None else checked_weights(sample_weight, data)
        (X,) = indexable(X if hasattr(X, "shape") else data)
        return GivenSample(X, labels, weight)

    def evaluation_sample(
        self, checked: Any, eval_set: Any, classes: NDArray[Any], finite: Any, backend: Backend
    ) -> Any:
        """Return held-out rows for a fit by a backend, checked against the training data."""
        X, y, *weights = eval_set
        y, weights = on_host(y), list(map(on_host, weights))
        try:
            data = self.check_rows(checked, X, finite)
            check_labels_of_one_type(y)
        except ValueError as error:
            raise ValueError(f"eval_set is not valid: {error}") from None
        labels = check_array(y, ensure_2d=False, dtype=None, input_name="y of eval_set")
        if labels.ndim != 1 or labels.size != data.shape[0]:
            raise ValueError(
                f"eval_set has {data.shape[0]} rows and labels of the shape {labels.shape}: it "
                "takes a label a row."
            )
        if unknown := sorted(set(labels.tolist()) - set(classes.tolist()), key=str):
            raise ValueError(
                f"eval_set has the label {unknown[0]!r}, which y does not hold: it takes the "
                f"labels {classes.tolist()}."
            )
        index = np.searchsorted(classes, labels)
        sample_weight = weights[0] if weights else None
        return Sample(data, index.astype(np.intp), sample_weights(sample_weight, data))

    def like(self, result: Any, X: Any) -> Any:
        """Return a result as an array of X's kind."""
        return result

    def answered(self, clf: Predictor, asked: str, X: Any) -> Any:
        """Return one of ``predictor.ANSWERS`` to rows of X, in arrays of their kind."""
        return self.like(ANSWERS[asked](clf, X), X)

    def staged(self, clf: Predictor, asked: str, X: Any) -> Iterator[Any]:
        """Yield "decisions", "predict" or "scores" of every model of a path.

        The scores are computed; all else is in arrays of X's kind.
        """
        for scores in clf._staged_scores(X):
            yield self.like(of_scores(asked, scores, clf.classes_), X)

    def accuracy(self, predicted: Any, y: Any, sample_weight: Any) -> float:
        """Return the weighted share of rows whose label is the predicted one."""
        from sklearn.metrics import accuracy_score  # a heavy import

        y, sample_weight = on_host(y), on_host(sample_weight)
        return accuracy_score(y, self.on_host(predicted), sample_weight=sample_weight)


INPUT = Input()
