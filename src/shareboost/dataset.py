"""Rows with labels and weights: as they were given, those to train on, those held out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_array, column_or_1d

from .arrays import dense, to_float64
from .identity import digest
from .inputs import input_of, on_host, rows_of
from .rows import Chosen, Rows
from .validation import checked_weights

if TYPE_CHECKING:
    from .arrays import Array
    from .backends import Backend
    from .losses import Labels
    from .pools import Pool

Estimator = TypeVar("Estimator")


class Sample(NamedTuple):
    """Rows of X, their labels ``0 .. n_classes - 1`` and their weights."""

    X: Any
    y: Labels
    weight: NDArray[np.float64]
    sample_weight: NDArray[np.float64] | None = None  # without weights of classes, if different
    weight_unit: float = 1.0  # what a weight of 1 stands for

    def take(self, rows: NDArray[np.intp]) -> Sample:
        """Return some of the rows."""
        given = None if self.sample_weight is None else self.sample_weight[rows]
        X, y, weight = rows_of(self.X, rows), self.y[rows], self.weight[rows]
        return Sample(X, y, weight, given, self.weight_unit)

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

    def split(self, fraction: float, random_state: Any) -> tuple[Sample, Sample]:
        """Return the rows to train on and that fraction of every class, held out.

        These have no weights of their classes, which are for training.
        """
        train, held_out = held_out_rows(self.y, fraction, random_state)
        given = self.weight if self.sample_weight is None else self.sample_weight
        return self.take(train), self._replace(weight=given).take(held_out)

    def fitted(self, pool: Pool, backend: Backend, centred: bool) -> Sample:
        """Fit the pool to the rows; return them where the backend has them."""
        with backend.deterministic():
            sample = self._replace(X=backend.rows(self.X))
            pool.fit(sample.X, sample.weight, centred=centred)
        return sample

    def rows(self, pool: Pool, n_classes: int, intercept: bool, backend: Backend, n: int) -> Rows:
        """Return the rows for a run of up to n atoms of the fitted pool."""
        return Rows(self.X, self.y, self.weight, pool, n_classes, intercept, backend)

    def held_out(self, rows: Rows) -> ValidationSet:
        """Return these rows as those that a run on others is scored on."""
        return ValidationSet(self.X, self.y, self.weight, rows.pool, rows.backend)

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
        rows = input_of(self.X).taken_as(rows)
        weight = None if self.weight is None else self.weight[rows]
        return GivenSample(rows_of(self.X, rows), self.y[rows], weight)


class CheckedSample(NamedTuple, Generic[Estimator]):
    """What a fit begins with."""

    checked: Estimator  # a copy, which knows the number and names of columns
    classes: NDArray[Any]
    names: Sequence[str]  # of X's columns
    sample: Any  # Sample, or DaskDataset: weighted by class too; some weights may be zero


def checked_sample(
    estimator: Estimator, X: Any, y: Any, sample_weight: Any, allows_nan: bool
) -> CheckedSample[Estimator]:
    """Return the rows to fit an estimator to, checked; the estimator stays as it is."""
    # Validation writes attributes: on a copy, so that a failed fit changes nothing.
    checked = copy.copy(estimator)
    return input_of(X).sample(checked, X, y, sample_weight, allows_nan)


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


class ValidationSet:
    """A sample that no round is trained on, which goes where the training rows are.

    The columns of an atom are computed when a round first uses it, and kept.
    """

    def __init__(
        self, X: Any, y: Labels, weight: NDArray[np.float64], pool: Pool, backend: Backend
    ):
        self.backend, self.pool = backend, pool
        self.X = backend.rows(X)
        self.y = backend.asarray(y)
        self.weight = backend.asarray(weight)
        self.total_weight = float(weight.sum())
        self._columns: dict[int, Array] = {}

    def score(self, rows: Rows, W: NDArray[np.float64]) -> float:
        """Return the accuracy of the atoms chosen in the rows, the weighted share of right answers.

        W, (k, n_columns), holds their weights, in training units.
        """
        return self.right(rows.chosen, rows.intercept, W) / self.total_weight

    def right(self, chosen: tuple[Chosen, ...], intercept: bool, W: NDArray[np.float64]) -> float:
        """Return the weight of the rows that the chosen atoms answer right."""
        backend = self.backend
        scores = backend.zeros((self.y.shape[0], W.shape[0]))
        stop = int(intercept)
        if intercept:
            scores += backend.asarray(W[:, 0])
        for one in chosen:
            start, stop = stop, stop + one.scales.size
            columns = to_float64(self._columns_of(one.atom)) - backend.asarray(one.centers)
            columns /= backend.asarray(one.scales)
            scores += columns @ backend.asarray(W[:, start:stop].T)
        right = scores.argmax(axis=1) == self.y
        return float(to_float64(right) @ self.weight)

    def _columns_of(self, atom: int) -> Array:
        if atom not in self._columns:
            columns = self.backend.columns(self.pool.features([atom]), self.X)
            self._columns[atom] = dense(columns)
        return self._columns[atom]
