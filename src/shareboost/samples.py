"""Rows with labels and weights: as they were given, those to train on, those held out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _check_feature_names_in, check_array, column_or_1d

from .checkpoints.fingerprint import digest
from .heldout import HeldOut
from .losses import Labels
from .places import Place, is_device_array, is_spread
from .pools import Pool
from .pools.by_name import takes_nan
from .rows import Rows
from .validation import (
    check_data,
    check_labels_of_one_type,
    check_rows,
    check_weights,
    checked_weights,
    encode_labels,
    on_host,
    sample_weights,
)

Estimator = TypeVar("Estimator")


class Sample(NamedTuple):
    """Rows of X, their labels ``0 .. n_classes - 1`` and their weights."""

    X: Any
    y: Labels
    weight: NDArray[np.float64]
    own: NDArray[np.float64] | None = None  # weights without those of classes, where others
    weight_unit: float = 1.0  # what a weight of 1 stands for

    def take(self, rows: NDArray[np.intp]) -> Sample:
        """Return some of the rows."""
        own = None if self.own is None else self.own[rows]
        X, y, weight = rows_of(self.X, rows), self.y[rows], self.weight[rows]
        return Sample(X, y, weight, own, self.weight_unit)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.y.size)

    @property
    def weighted(self) -> Sample:
        """The rows of positive weight."""
        return self.take(np.flatnonzero(self.weight)) if self.weight.min() == 0 else self

    def release(self) -> None:
        """Let go of what is held elsewhere: nothing."""
        return

    def split(self, fraction: float, random_state: Any) -> tuple[Sample, Sample]:
        """Return the rows to train on and that fraction of every class, held out.

        These have their own weights, without those of their classes, which are for training.
        """
        train, held_out = held_out_rows(self.y, fraction, random_state)
        own = self if self.own is None else self._replace(weight=self.own)
        return self.take(train), own.take(held_out)

    def fitted(self, pool: Pool, place: Place, centred: bool) -> Sample:
        """Fit the pool to the rows; return them where the place has them."""
        with place.settled():
            sample = self._replace(X=place.rows(self.X))
            pool.fit(sample.X, sample.weight, centred=centred)
        return sample

    def rows(self, pool: Pool, n_classes: int, intercept: bool, place: Place, n: int) -> Rows:
        """Return the rows for a run of up to n atoms of the fitted pool."""
        return Rows(self.X, self.y, self.weight, pool, n_classes, intercept, place)

    def held_out(self, rows: Rows) -> HeldOut:
        """Return these rows as those that a run on others is scored on."""
        return HeldOut(self.X, self.y, self.weight, rows.pool, rows.place)

    def digests(self, n_classes: int) -> dict[str, str]:
        """Return what tells whether other rows, of so many classes, are the same."""
        return {
            "X": digest(on_host(self.X)),
            "y": digest((self.y, n_classes)),
            "sample_weight": digest((self.weight, self.weight_unit)),
        }


class GivenSample(NamedTuple):
    """Rows of X as they were given, a frame perhaps, their labels and their weights, if any."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Whether a row counts, its weight positive, (n_samples,)."""
        return np.ones(len(self.y), dtype=bool) if self.weight is None else self.weight > 0

    def take(self, rows: NDArray[Any]) -> GivenSample:
        """Return some of the rows, by index, some of them several times, or by mask."""
        if is_spread(self.X) and rows.dtype != bool:
            rows = np.sort(rows)  # which rows, not in which order: they stay in their blocks
        weight = None if self.weight is None else self.weight[rows]
        return GivenSample(rows_of(self.X, rows), self.y[rows], weight)


def rows_of(X: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of X, a frame or a device's array too, by index or by mask.

    Those of Dask's arrays and frames are lazy, and their index is in rising order.
    """
    if is_spread(X):
        from .on_cluster.given_rows import some_rows

        return some_rows(X, rows)
    if not is_device_array(X):
        return _safe_indexing(X, rows)
    from .on_device import as_tensor
    from .on_device.tensors import like, taken

    return like(taken(as_tensor(X), rows), X)


class CheckedSample(NamedTuple, Generic[Estimator]):
    """What a fit begins with."""

    checked: Estimator  # a copy, which knows the number and names of columns
    classes: NDArray[Any]
    names: Sequence[str]  # of X's columns
    sample: Any  # Sample, or SpreadSample: weighted by class too; some weights may be zero


def checked_sample(
    estimator: Estimator, X: Any, y: Any, sample_weight: Any, allows_nan: bool
) -> CheckedSample[Estimator]:
    """Return the rows to fit an estimator to, checked; the estimator stays as it is."""
    # Validation writes attributes: on a copy, so that a failed fit changes nothing.
    checked = copy.copy(estimator)
    if is_spread(X):
        from .on_cluster.checks import checked_sample as on_cluster

        return on_cluster(checked, X, y, sample_weight, allows_nan)
    y, sample_weight = on_host(y), on_host(sample_weight)
    check_labels_of_one_type(y)
    data, labels = check_data(checked, X, y, allows_nan)
    classes, index = encode_labels(labels)
    class_weight = checked.class_weight  # type: ignore[attr-defined]
    weight, unit = check_weights(sample_weight, data, class_weight, classes, index)
    own = sample_weights(sample_weight, data)
    names = _check_feature_names_in(checked)
    return CheckedSample(checked, classes, names, Sample(data, index, weight, own, unit))


def given_sample(checked: Any, X: Any, y: Any, sample_weight: Any) -> GivenSample:
    """Return the rows, X as given where rows can be taken from it, and checked.

    The estimator ``checked`` learns the number and names of columns.
    """
    y, sample_weight = on_host(y), on_host(sample_weight)
    check_labels_of_one_type(y)
    if is_spread(X):
        from .on_cluster.checks import with_known_rows

        X, n_rows = with_known_rows(checked, X)
        return GivenSample(X, *row_values(y, sample_weight, n_rows))
    data, labels = check_data(checked, X, y, takes_nan(checked.pool))
    weight = None if sample_weight is None else checked_weights(sample_weight, data)
    (X,) = indexable(X if hasattr(X, "shape") else data)
    return GivenSample(X, labels, weight)


def held_out_rows(
    y: NDArray[Any], fraction: float, random_state: Any
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to train on and that fraction of every class, held out, both rising."""
    try:
        train, held_out = train_test_split(
            np.arange(y.size), test_size=fraction, stratify=y, random_state=random_state
        )
    except ValueError as error:
        raise ValueError(
            f"validation_fraction={fraction} cannot be held out of {y.size} rows of "
            f"positive weight: {error}"
        ) from None
    return np.sort(train), np.sort(held_out)


def evaluation_sample(
    checked: Any, eval_set: Any, classes: NDArray[Any], finite: Any, place: Place
) -> Any:
    """Return ``eval_set``, (X, y) or (X, y, sample_weight), checked against the training data."""
    if not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
        raise ValueError(
            "eval_set takes one pair (X, y), or (X, y, sample_weight), of held-out rows; it got "
            f"{type(eval_set).__name__}"
            + (f" of {len(eval_set)} entries." if hasattr(eval_set, "__len__") else ".")
        )
    X, y, *weights = eval_set
    if is_spread(X):
        return _spread_evaluation(checked, eval_set, classes, finite, place)
    if is_device_array(X):
        place.check_beside(X, "eval_set")
    y, weights = on_host(y), list(map(on_host, weights))
    try:
        data = check_rows(checked, X, finite)
        check_labels_of_one_type(y)
    except ValueError as error:
        raise ValueError(f"eval_set is not valid: {error}") from None
    labels = check_array(y, ensure_2d=False, dtype=None, input_name="y of eval_set")
    if labels.ndim != 1 or labels.size != data.shape[0]:
        raise ValueError(
            f"eval_set has {data.shape[0]} rows and labels of the shape {labels.shape}: it takes "
            "a label a row."
        )
    if unknown := sorted(set(labels.tolist()) - set(classes.tolist()), key=str):
        raise ValueError(
            f"eval_set has the label {unknown[0]!r}, which y does not hold: it takes the labels "
            f"{classes.tolist()}."
        )
    index = np.searchsorted(classes, labels)
    sample_weight = weights[0] if weights else None
    return Sample(data, index.astype(np.intp), sample_weights(sample_weight, data))


def _spread_evaluation(
    checked: Any, eval_set: Any, classes: NDArray[Any], finite: Any, place: Place
) -> Any:
    """Return held-out rows of Dask, for a fit on rows of Dask."""
    from .on_cluster.checks import evaluation_sample
    from .on_cluster.place import Cluster

    if not isinstance(place, Cluster):
        raise ValueError(
            "eval_set is Dask's, and X is not: give both in arrays of one kind, or compute it."
        )
    return evaluation_sample(checked, eval_set, classes, finite == "allow-nan")


def row_values(
    y: Any, sample_weight: Any, n_rows: int
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return the labels and the weights, if any, of so many rows, checked."""
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"))
    if len(labels) != n_rows:
        raise ValueError(
            f"X and y differ in length: X has {n_rows} rows, y {len(labels)} labels. y takes a "
            "label a row."
        )
    rows = np.empty((n_rows, 0))
    return labels, None if sample_weight is None else checked_weights(sample_weight, rows)
