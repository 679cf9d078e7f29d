"""What the workers compute of a block: checked rows, and totals over the encoded ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, column_or_1d

from ...arrays import Segments, cast, numpy_type, to_float64
from ...dataset import Sample, ValidationSet
from ...inputs import backend_name, backend_of, input_of, on_host
from ...losses import Labels, Loss
from ...pools.base import Pool
from ...rows import Totals
from ...shard import CURVATURE, Chosen, Shard, Wanted
from ...validation import check_labels_of_one_type, checked_weights, in_our_words
from ..base import Backend

Vector = NDArray[np.float64]


class DaskBlock(NamedTuple):
    """What one block holds, and which of its rows are used."""

    n_rows: int
    kind: str  # of its rows: "dense", "sparse" or "tensors"
    dtype: np.dtype[Any]
    n_bytes: int  # of its rows
    labels: NDArray[Any]  # those that occur, rising
    weights: Vector  # sums of the weights of each label
    largest: Vector  # weight of each label
    keys: tuple[Any, ...] = ()  # of its rows, labels and weights, if any, in a graph
    some: NDArray[np.intp] | None = None  # rows that are used; None for those of positive weight


def summarised(
    checked: Any, finite: Any, X: Any, y: Any, weight: Any = None
) -> DaskBlock | Exception:
    """Return what a block holds, or what a local fit would raise for it."""
    try:
        if X.ndim != 2 or X.shape[1] != checked.n_features_in_:
            n = checked.n_features_in_
            raise ValueError(
                f"X has a block of the shape {tuple(X.shape)} where {n} columns are declared: it "
                f"takes blocks of the shape (rows, {n})."
            )
        try:
            rows = _checked_rows(checked, X, finite) if X.shape[0] else np.empty(X.shape)
        except ValueError as error:
            raise in_our_words(error) from None
        check_labels_of_one_type(on_host(y))
        labels = _labels(y)
        if len(labels) != rows.shape[0]:
            raise ValueError(
                f"X and y differ in length: a block of X has {rows.shape[0]} rows, that of y "
                f"{len(labels)} labels. y takes a label a row, in the blocks of X."
            )
        weights = _weights(weight, len(labels))
        unique, place = np.unique(labels, return_inverse=True)
    except (TypeError, ValueError, FloatingPointError) as error:
        return error
    largest = np.zeros(unique.size)
    np.maximum.at(largest, place, weights)
    sums = np.bincount(place, weights, minlength=unique.size).astype(np.float64)
    tensors, sparse = backend_name(rows) == "torch", sp.issparse(rows)
    kind = "tensors" if tensors else "sparse" if sparse else "dense"
    n_bytes = bytes_of(rows, True)
    return DaskBlock(rows.shape[0], kind, numpy_type(rows), n_bytes, unique, sums, largest)


def _checked_rows(checked: Any, X: Any, finite: Any) -> Any:
    """Return the rows of a block as an array, compressed rows or a tensor."""
    rows = input_of(X).check_rows(checked, X, finite)
    return rows.tocsr() if sp.issparse(rows) else rows


def _labels(y: Any) -> NDArray[Any]:
    """Return one label per row."""
    how = {"ensure_2d": False, "dtype": None, "ensure_min_samples": 0, "input_name": "y"}
    return column_or_1d(check_array(on_host(y), **how), warn=False)


def _weights(weight: Any, n_rows: int) -> Vector:
    """Return one weight per row."""
    weights = np.ones(n_rows) if weight is None else np.asarray(on_host(weight))
    if weights.shape == (n_rows,) and weights.dtype.kind in "biuf" and not weights.any():
        return np.zeros(n_rows)  # of a block without any weight, or without rows
    return checked_weights(weights, np.empty((n_rows, 0)))


@dataclass(frozen=True)
class BlockPreparer:
    """How the rows of a block, their labels and weights become those of the fit."""

    checked: Any  # knows the number and names of columns
    dtype: np.dtype[Any]  # of all blocks together
    classes: NDArray[Any]
    most: float  # the largest weight of a row
    factors: Vector  # (k,): the weight of each class
    top: float = 1.0  # the largest weight of a row, over ``most`` and times that of its class
    limit: float = 0.0  # weights below it have no say in any sum

    def __call__(self, some: NDArray[np.intp] | None, X: Any, y: Any, weight: Any = None) -> Sample:
        """Return some of the rows; None for those of positive weight."""
        X = _checked_rows(self.checked, X, False)
        index, weights = self.encoded(y, weight)
        X = X.astype(self.dtype, copy=False) if sp.issparse(X) else cast(X, self.dtype)
        if some is None and weights.min() == 0.0:
            some = np.flatnonzero(weights)
        sample = Sample(X, index, weights)
        return sample if some is None else sample.take(some)

    def labels(self, y: Any, weight: Any = None) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return a block's rows of positive weight, by index, and their labels, small."""
        index, weights = self.encoded(y, weight)
        rows = np.flatnonzero(weights)
        return rows, index[rows].astype(np.min_scalar_type(self.classes.size))

    def encoded(self, y: Any, weight: Any) -> tuple[Labels, Vector]:
        """Return the number of every row's class, and its weight in the fit."""
        index = np.searchsorted(self.classes, _labels(y)).astype(np.intp)
        # In the order of a local fit, to have the same bits.
        weights = _weights(weight, index.size) / self.most * self.factors[index] / self.top
        weights[weights < self.limit] = 0.0
        return index, weights


class Point(NamedTuple):
    """Where residuals are taken: weights of the first columns, and a loss."""

    W: NDArray[np.float64]
    loss: Loss


class State(NamedTuple):
    """What the rows of every block must be before they answer."""

    chosen: tuple[Chosen, ...] = ()
    point: Point | None = None  # None: the residuals do not matter


class WorkerShard(Shard):
    """The rows of one block.

    What it holds of earlier answers, columns and residuals, saves work and changes nothing: a shard
    that was made anew on another worker answers alike.
    """

    def __init__(self, pool: Pool, n_classes: int, intercept: bool, backend: Backend):
        super().__init__(pool, n_classes, intercept, backend)
        self._state = State()
        self._lock = RLock()

    def __getstate__(self) -> tuple[Any, ...]:
        """Return what never changes: a question may be answered while this is sent or spilled."""
        numpy = self.backend.numpy
        blocks = [(block.data, numpy(block.y), numpy(block.weight)) for block in self.blocks]
        return self.pool, self.n_classes, self.intercept, self.backend, blocks

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        *given, blocks = state
        WorkerShard.__init__(self, *given)
        self.blocks = [self._block(*block) for block in blocks]

    def __sizeof__(self) -> int:
        """Return the bytes of all arrays, by which Dask decides what to move and what to spill."""
        held = sum(int(block.columns.nbytes + block.residual.nbytes) for block in self.blocks)
        return held + bytes_encoded(False, self)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Hold what the backend needs; one question at a time."""
        with self._lock, self.backend.deterministic() as threads:
            self.map = threads
            try:
                yield
            finally:
                self.map = map

    def settle(self, state: State) -> None:
        """Bring columns and residuals into a state."""
        kept, stop = 0, int(self.intercept)
        for held, new in zip(self._state.chosen, state.chosen, strict=False):
            if held.atom != new.atom or not all(map(np.array_equal, held[1:], new[1:])):
                break
            kept, stop = kept + 1, stop + held.scales.size
        point = self._state.point
        if point is not None and point.W.shape[1] > stop:
            point = None
        self._state = State(state.chosen[:kept], point)
        for chosen in state.chosen[kept:]:
            start, stop = stop, stop + chosen.scales.size
            self.write(chosen.atom, start, stop)
            self._rescale(start, stop, chosen.centers, chosen.scales)
        self._state = State(state.chosen, point)
        if (wanted := state.point) is not None and not (
            point and point.loss == wanted.loss and np.array_equal(point.W, wanted.W)
        ):
            self.evaluate(*wanted, 0)

    def evaluate(self, W: Any, loss: Loss, n_columns: int) -> tuple[Any, Any]:
        self._state = self._state._replace(point=None)  # whatever happens on the way
        value, gradient = super().evaluate(W, loss, n_columns)
        self._state = self._state._replace(point=Point(W, loss))
        return value, gradient

    def statistics(
        self, mean: NDArray[np.float64], wanted: Sequence[Wanted], parts: Sequence[slice]
    ) -> tuple[Any, ...]:
        """Return the sums of curvatures, and one by one the statistics wanted of every part."""
        signals = {signal for signal, _ in wanted}
        (curvatures,) = self.prepare(mean, CURVATURE in signals)
        of_parts = self.over_parts(parts, wanted, lambda part, sums: map(to_float64, sums))
        for block in self.blocks:  # as large as the residuals, and made anew every time
            block.prepared = block.curvature = None
        return curvatures, *chain.from_iterable(of_parts)


def encoded(
    n_classes: int, intercept: bool, device: Any, pool: Pool, sample: Sample
) -> WorkerShard:
    """Return the rows of a block in the pool's encoding."""
    backend = backend_of(sample.X, device)
    shard = WorkerShard(backend.form(pool), n_classes, intercept, backend)
    with shard.at_work():
        shard.encode(backend.rows(sample.X), sample.y, sample.weight)
    return shard


def asked(state: State, calls: Sequence[Any], shard: WorkerShard) -> tuple[Any, ...]:
    """Return what calls, ``(question, *arguments)``, of the shard return in a state, as NumPy's."""
    with shard.at_work():
        shard.settle(state)
        totals = [total for question, *given in calls for total in question(shard, *given)]
        numpy = shard.backend.numpy
        return tuple(one if isinstance(one, np.ndarray) else numpy(one) for one in totals)


def columns_of(atom: int, some: Any, shard: WorkerShard) -> NDArray[Any]:
    """Return the columns of an atom, (columns, n), in X's units, of some rows."""
    pool, numpy = shard.pool, shard.backend.numpy
    with shard.at_work():
        parts = [numpy(pool.columns(block.data, atom)) for block in shard.blocks]
    return np.concatenate(parts, axis=1)[:, some].astype(pool.dtype_, copy=False)


def labels_of(some: Any, shard: WorkerShard) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the labels, in as few bytes as they take, and the weights, of some rows."""
    numpy = shard.backend.numpy
    y = np.concatenate([numpy(block.y) for block in shard.blocks])
    weight = np.concatenate([numpy(block.weight) for block in shard.blocks])
    return y[some].astype(np.min_scalar_type(shard.n_classes)), weight[some]


def scored(
    task: Callable[..., Any], parts: Sequence[slice], pool: Pool, totals: tuple[Any, ...]
) -> list[Any]:
    """Return the scores of every part, by totals over all rows."""

    def by_atom(of_columns: NDArray[np.float64], part: slice) -> NDArray[np.float64]:
        return Segments(pool.starts(part), len(of_columns)).sums(of_columns)

    curvatures, *stats = totals
    n = len(stats) // len(parts)
    return [
        task(pool, part, Totals(stats[i * n : (i + 1) * n], curvatures), by_atom)
        for i, part in enumerate(parts)
    ]


def held_out(device: Any, pool: Pool, sample: Sample) -> ValidationSet:
    """Return the rows of a block that are held out."""
    return ValidationSet(sample.X, sample.y, sample.weight, pool, backend_of(sample.X, device))


def right(
    chosen: tuple[Chosen, ...], intercept: bool, W: NDArray[np.float64], rows: ValidationSet
) -> tuple[float, float]:
    """Return the weight of the right answers to held-out rows, and of all."""
    with rows.backend.deterministic():
        return rows.right(chosen, intercept, W), rows.total_weight


def added(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the sums of totals."""
    return tuple(map(operator.add, left, right))


def bytes_encoded(views: bool, shard: WorkerShard) -> int:
    """Return the bytes of encoded rows, of views of other arrays too if asked for."""
    return sum(bytes_of(block.data, views) for block in shard.blocks)


def bytes_of(data: Any, views: bool) -> int:
    """Return the bytes of arrays in a block's encoding, of views of others too if asked for."""
    if isinstance(data, (list, tuple)):
        return sum(bytes_of(part, views) for part in data)
    if hasattr(data, "tocsr"):
        return bytes_of((data.data, data.indices, data.indptr), views)
    if not hasattr(data, "nbytes") or (not views and getattr(data, "base", None) is not None):
        return 0
    return int(data.nbytes)
