"""What a worker makes of a block as it was given: checked rows, labels and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, column_or_1d

from ...arrays import cast, numpy_type
from ...dataset import Sample
from ...inputs import backend_name, input_of, on_host, rows_of
from ...losses import Labels
from ...validation import check_labels_of_one_type, in_our_words
from .executor import Refusal

Vector = NDArray[np.float64]


class Survey(NamedTuple):
    """What one block holds."""

    n_rows: int
    kind: str  # of its rows: "dense", "sparse" or "tensors"
    dtype: np.dtype[Any]
    n_bytes: int  # of its rows
    labels: NDArray[Any]  # those that occur, rising
    weights: Vector  # sums of the weights of each label
    largest: Vector  # weight of each label
    lowest: float  # weight of all


def survey(checked: Any, finite: Any, X: Any, y: Any, weight: Any) -> Survey | Refusal:
    """Return what a block holds, or why it cannot be trained on."""
    try:
        rows = _checked_in_our_words(checked, X, finite)
        check_labels_of_one_type(on_host(y))
        labels = _labels(y, rows.shape[0])
        own = _weights(weight, rows.shape[0])
        unique, place = np.unique(labels, return_inverse=True)
    except (TypeError, ValueError, FloatingPointError) as error:
        return Refusal(error)
    largest = np.zeros(unique.size)
    np.maximum.at(largest, place, own)
    return Survey(
        rows.shape[0],
        _kind(rows),
        numpy_type(rows),
        _bytes(rows),
        unique,
        np.bincount(place, own, minlength=unique.size).astype(np.float64),
        largest,
        float(own.min(initial=np.inf)),
    )


def _checked_in_our_words(checked: Any, X: Any, finite: Any) -> Any:
    """Return the rows of a block, checked; raise as a local fit does."""
    n = checked.n_features_in_
    if X.ndim != 2 or X.shape[1] != n:
        raise ValueError(
            f"X has a block of the shape {tuple(X.shape)} where {n} columns are declared: it takes "
            f"blocks of the shape (rows, {n})."
        )
    try:
        return checked_rows(checked, X, finite)
    except ValueError as error:
        raise in_our_words(error) from None


def checked_rows(checked: Any, X: Any, finite: Any) -> Any:
    """Return the rows of a block as an array, compressed rows or a tensor."""
    if X.shape[0] == 0:  # which scikit-learn refuses
        found = X if hasattr(X, "dtype") else X.to_numpy()
        return found.tocsr() if sp.issparse(found) else found
    found = input_of(X).check_rows(checked, X, finite)
    return found.tocsr() if sp.issparse(found) else found


def _labels(y: Any, n_rows: int | None = None) -> NDArray[Any]:
    """Return a label a row, of as many rows as are told."""
    y = on_host(y)
    y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if len(y):
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    y = column_or_1d(y, warn=False)
    if n_rows is not None and len(y) != n_rows:
        raise ValueError(
            f"X and y differ in length: a block of X has {n_rows} rows, that of y {len(y)} labels. "
            "y takes a label a row, in the blocks of X."
        )
    return y


def _weights(weight: Any, n_rows: int) -> Vector:
    """Return a weight a row."""
    if weight is None:
        return np.ones(n_rows)
    weight = on_host(weight)
    try:
        found = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight takes a number for every row: {error}.") from None
    if found.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has a block of the shape {found.shape} beside {n_rows} rows of X: it "
            "takes a number for every row, in the blocks of X."
        )
    if not np.isfinite(found).all():
        raise ValueError("sample_weight has NaN or infinite values: it takes finite numbers.")
    if found.min(initial=0.0) < 0:
        raise ValueError(
            f"sample_weight has negative values, the lowest {found.min():g}: it takes "
            "non-negative numbers."
        )
    return found


def _kind(rows: Any) -> str:
    if backend_name(rows) == "torch":
        return "tensors"
    return "sparse" if sp.issparse(rows) else "dense"


def _bytes(rows: Any) -> int:
    if sp.issparse(rows):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    return int(rows.nbytes)


@dataclass(frozen=True)
class Recipe:
    """How the rows of a block, their labels and weights become those of the fit."""

    checked: Any  # knows the number and names of columns
    dtype: np.dtype[Any]  # of all blocks together
    classes: NDArray[Any]
    most: float  # the largest weight of a row
    factors: Vector  # (k,): the weight of each class
    top: float  # the largest weight of a row, over ``most`` and times that of its class
    limit: float  # weights below it have no say in any sum

    def __call__(self, rows: NDArray[np.intp] | None, X: Any, y: Any, weight: Any) -> Sample:
        """Return the rows of positive weight, of all or of those numbers."""
        X = checked_rows(self.checked, X, False)
        index, found = self._labelled(_labels(y, X.shape[0]), weight)
        X = X.astype(self.dtype, copy=False) if sp.issparse(X) else cast(X, self.dtype)
        if rows is None and found.min(initial=1.0) == 0.0:
            rows = np.flatnonzero(found)
        if rows is not None:
            X, index, found = rows_of(X, rows), index[rows], found[rows]
        return Sample(X, index, found)

    def labels(self, y: Any, weight: Any) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return the numbers of a block's rows of positive weight, and their labels, small."""
        index, found = self._labelled(_labels(y), weight)
        rows = np.flatnonzero(found)
        return rows, index[rows].astype(np.min_scalar_type(self.classes.size))

    def of_class(self, weight: Vector | float) -> Vector:
        """Return what a weight comes to in a row of each class, (k,)."""
        return weight / self.most * self.factors / self.top

    def _labelled(self, y: NDArray[Any], weight: Any) -> tuple[Labels, Vector]:
        """Return the number of every row's class, and its weight."""
        index = np.searchsorted(self.classes, y).astype(np.intp)
        # In the order of a local fit, to have the same bits.
        found = _weights(weight, y.size) / self.most * self.factors[index] / self.top
        found[found < self.limit] = 0.0
        return index, found
