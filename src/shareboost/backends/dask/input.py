"""Input in Dask's arrays and frames, which are computed on the cluster of a connected client."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from ...dataset import CheckedSample, GivenSample, row_values
from ...inputs import backend_name, on_host
from ...predictor import Predictor
from ...validation import check_labels_of_one_type
from ..base import Backend
from ..input import Input
from ..numpy import NumpyBackend
from .blocks import check_columns, lengths_of, some_rows
from .dataset import checked_sample, evaluation_sample
from .prediction import accuracy, answered, staged


class DaskBackend(NumpyBackend):
    """The workers of a connected client have the rows; what is decided here is NumPy's.

    Workers compute where their blocks are, in NumPy or on a device of theirs.
    """

    name = "dask"


class DaskInput(Input):
    """Rows that lie in blocks; what is predicted of them is lazy."""

    fits_one_by_one = True

    def backend(self, X: Any, device: Any) -> Backend:
        return DaskBackend()

    def on_host(self, values: Any) -> Any:
        if isinstance(values, da.Array) and backend_name(values._meta) == "torch":
            values = da.map_blocks(on_host, values, meta=on_host(values._meta))
        return values.compute()

    def take(self, X: Any, rows: NDArray[Any]) -> Any:
        return some_rows(X, rows)

    def taken_as(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows if rows.dtype == bool else np.sort(rows)  # they stay in their blocks

    def check_rows(self, estimator: Any, X: Any, finite: Any) -> Any:
        check_columns(estimator, X)
        return X

    def sample(
        self, checked: Any, X: Any, y: Any, sample_weight: Any, allows_nan: bool
    ) -> CheckedSample[Any]:
        return checked_sample(checked, X, y, sample_weight, allows_nan)

    def given_sample(self, checked: Any, X: Any, y: Any, sample_weight: Any) -> GivenSample:
        y, sample_weight = on_host(y), on_host(sample_weight)
        check_labels_of_one_type(y)
        check_columns(checked, X, learn=True)
        if isinstance(X, da.Array) and math.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        return GivenSample(X, *row_values(y, sample_weight, sum(lengths_of(X))))

    def evaluation_sample(
        self, checked: Any, eval_set: Any, classes: NDArray[Any], finite: Any, backend: Backend
    ) -> Any:
        if not isinstance(backend, DaskBackend):
            raise ValueError(
                "eval_set is Dask's, and X is not: give both in arrays of one kind, or compute it."
            )
        return evaluation_sample(checked, eval_set, classes, finite == "allow-nan")

    def answered(self, clf: Predictor, asked: str, X: Any) -> Any:
        return answered(clf, asked, X)

    def staged(self, clf: Predictor, asked: str, X: Any) -> Iterator[Any]:
        return staged(clf, asked, X)

    def accuracy(self, predicted: Any, y: Any, sample_weight: Any) -> float:
        return accuracy(predicted, y, sample_weight)


INPUT = DaskInput()
