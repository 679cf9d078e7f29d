"""What the workers compute of a block: checked rows, and totals over the encoded ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from dask.sizeof import sizeof
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, column_or_1d

from ...arrays import Segments, cast, numpy_type, to_float64
from ...dataset import Sample, ValidationSet
from ...inputs import backend_name, backend_of, input_of, on_host, rows_of
from ...losses import Labels, Loss
from ...pools.base import Pool
from ...rows import Totals
from ...shard import CURVATURE, Chosen, Shard, Wanted
from ...validation import check_labels_of_one_type, checked_weights, in_our_words
from ..base import Backend

Vector = NDArray[np.float64]
SomeRows = NDArray[np.intp] | None  # of a block, by index; None for all


# Blocks as they were given.


class BlockSummary(NamedTuple):
    """What one block holds."""

    n_rows: int
    kind: str  # of its rows: "dense", "sparse" or "tensors"
    dtype: np.dtype[Any]
    n_bytes: int  # of its rows
    labels: NDArray[Any]  # those that occur, rising
    weights: Vector  # sums of the weights of each label
    largest: Vector  # weight of each label


def summarised(checked: Any, finite: Any, X: Any, y: Any, weight: Any) -> BlockSummary | Exception:
    """Return what a block holds, or what a local fit would raise for it."""
    try:
        if X.ndim != 2 or X.shape[1] != checked.n_features_in_:
            n = checked.n_features_in_
            raise ValueError(
                f"X has a block of the shape {tuple(X.shape)} where {n} columns are declared: it "
                f"takes blocks of the shape (rows, {n})."
            )
        try:
            rows = _checked_rows(checked, X, finite)
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
    n_bytes = _n_bytes(rows, True)
    return BlockSummary(rows.shape[0], kind, numpy_type(rows), n_bytes, unique, sums, largest)


def _checked_rows(checked: Any, X: Any, finite: Any) -> Any:
    """Return the rows of a block as an array, compressed rows or a tensor."""
    if X.shape[0]:
        X = input_of(X).check_rows(checked, X, finite)
    elif not hasattr(X, "dtype"):  # a frame without rows, which scikit-learn refuses
        X = X.to_numpy()
    return X.tocsr() if sp.issparse(X) else X


def _labels(y: Any) -> NDArray[Any]:
    """Return one label per row."""
    y = on_host(y)
    y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if len(y):
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    return column_or_1d(y, warn=False)


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
    top: float  # the largest weight of a row, over ``most`` and times that of its class
    limit: float  # weights below it have no say in any sum

    def __call__(self, some: SomeRows, X: Any, y: Any, weight: Any) -> Sample:
        """Return the rows of positive weight, of all or of those given."""
        X = _checked_rows(self.checked, X, False)
        index, weights = self._encoded(y, weight)
        X = X.astype(self.dtype, copy=False) if sp.issparse(X) else cast(X, self.dtype)
        if some is None and weights.min(initial=1.0) == 0.0:
            some = np.flatnonzero(weights)
        if some is not None:
            X, index, weights = rows_of(X, some), index[some], weights[some]
        return Sample(X, index, weights)

    def labels(self, y: Any, weight: Any) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return a block's rows of positive weight, by index, and their labels, small."""
        index, weights = self._encoded(y, weight)
        rows = np.flatnonzero(weights)
        return rows, index[rows].astype(np.min_scalar_type(self.classes.size))

    def scaled(self, weight: Vector, index: Labels) -> Vector:
        """Return the weights in the fit of rows of those classes."""
        # In the order of a local fit, to have the same bits.
        return weight / self.most * self.factors[index] / self.top

    def _encoded(self, y: Any, weight: Any) -> tuple[Labels, Vector]:
        """Return the number of every row's class, and its weight."""
        index = np.searchsorted(self.classes, _labels(y)).astype(np.intp)
        weights = self.scaled(_weights(weight, index.size), index)
        weights[weights < self.limit] = 0.0
        return index, weights


# Encoded rows.


class Point(NamedTuple):
    """Where residuals are taken: weights of the first columns, and a loss."""

    W: NDArray[np.float64]
    loss: Loss


class State(NamedTuple):
    """What the rows of every block must be before they answer."""

    chosen: tuple[Chosen, ...] = ()
    point: Point | None = None  # None: the residuals do not matter


# A question of a shard, which returns totals, and its arguments.
Call = tuple[Any, ...]


class WorkerShard(Shard):
    """The rows of one block.

    An answer depends on the encoded rows, the state and the calls alone. What the shard still holds
    of earlier answers, columns and residuals, saves work and changes nothing: a shard that was made
    anew on another worker answers alike.
    """

    def __init__(
        self, pool: Pool, n_classes: int, intercept: bool, sample: Sample, device: Any
    ) -> None:
        backend = backend_of(sample.X, device)
        super().__init__(backend.form(pool), n_classes, intercept, backend)
        self.n_rows = len(sample.y)
        self._state = State()
        self._lock = RLock()
        with self.at_work():
            if self.n_rows:
                self.encode(backend.rows(sample.X), sample.y, sample.weight)

    def __getstate__(self) -> dict[str, Any]:
        """Return what never changes: a question may be answered while this is sent or spilled."""
        names = ("pool", "n_classes", "intercept", "backend", "n_rows")
        numpy = self.backend.numpy
        blocks = [(block.data, numpy(block.y), numpy(block.weight)) for block in self.blocks]
        return {name: getattr(self, name) for name in names} | {"blocks": blocks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        blocks = state.pop("blocks")
        self.__dict__.update(state, map=map, _lock=RLock(), _state=State())
        self.blocks = [self._block(*block) for block in blocks]

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
        """Return the sums of curvatures, and of every part the statistics wanted of its atoms."""
        signals = {signal for signal, _ in wanted}
        (curvatures,) = self.prepare(mean, CURVATURE in signals)
        stats = self.over_parts(parts, wanted, lambda part, sums: [to_float64(one) for one in sums])
        for block in self.blocks:  # as large as the residuals, and made anew every time
            block.prepared = block.curvature = None
        return curvatures, stats


@sizeof.register(WorkerShard)
def _size_of_shard(shard: WorkerShard) -> int:
    held = sum(int(block.columns.nbytes + block.residual.nbytes) for block in shard.blocks)
    return held + size_of_encoding(False, shard)[0]


def encoded(
    n_classes: int, intercept: bool, device: Any, pool: Pool, sample: Sample
) -> WorkerShard:
    """Return the rows of a block in the pool's encoding."""
    return WorkerShard(pool, n_classes, intercept, sample, device)


def size_of_encoding(views: bool, shard: WorkerShard) -> tuple[int, int]:
    """Return the bytes of encoded rows, of views of others too if asked for, and their number."""
    return sum(_n_bytes(block.data, views) for block in shard.blocks), shard.n_rows


def asked(state: State, calls: Sequence[Call], shard: WorkerShard) -> tuple[Any, ...] | None:
    """Return what methods of the shard return in a state, as NumPy's; None of no rows."""
    if not shard.n_rows:
        return None
    with shard.at_work():
        shard.settle(state)
        totals = [total for question, *given in calls for total in question(shard, *given)]
        return tuple(_on_host(shard.backend, total) for total in totals)


def columns_of(atom: int, some: SomeRows, shard: WorkerShard) -> NDArray[Any]:
    """Return the columns of an atom, (columns, n), in X's units, of some rows or all."""
    with shard.at_work():
        parts = [
            shard.backend.numpy(shard.pool.columns(block.data, atom)).astype(shard.pool.dtype_)
            for block in shard.blocks
        ]
    none = np.empty((shard.pool.scales(atom).size, 0), shard.pool.dtype_)
    columns = np.concatenate([none, *parts], axis=1)
    return columns if some is None else columns[:, some]


def labels_of(some: SomeRows, shard: WorkerShard) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the labels, in as few bytes as they take, and the weights, of some rows or all."""
    numpy, small = shard.backend.numpy, np.min_scalar_type(shard.n_classes)
    y = [np.empty(0, small), *(numpy(block.y).astype(small) for block in shard.blocks)]
    weight = [np.empty(0, shard.pool.dtype_), *(numpy(block.weight) for block in shard.blocks)]
    joined = np.concatenate(y), np.concatenate(weight)
    return joined if some is None else (joined[0][some], joined[1][some])


def scored(
    task: Callable[..., Any], parts: Sequence[slice], pool: Pool, totals: tuple[Any, ...]
) -> list[Any]:
    """Return the scores of every part, by totals over all rows."""

    def by_atom(of_columns: NDArray[np.float64], part: slice) -> NDArray[np.float64]:
        return Segments(pool.starts(part), len(of_columns)).sums(of_columns)

    curvatures, stats = totals
    return [
        task(pool, part, Totals(sums, curvatures), by_atom)
        for part, sums in zip(parts, stats, strict=True)
    ]


def held_out(device: Any, pool: Pool, sample: Sample) -> ValidationSet | None:
    """Return the rows of a block that are held out; None of no rows."""
    if not len(sample.y):
        return None
    return ValidationSet(sample.X, sample.y, sample.weight, pool, backend_of(sample.X, device))


def right(
    chosen: tuple[Chosen, ...], intercept: bool, W: NDArray[np.float64], rows: ValidationSet | None
) -> tuple[float, float] | None:
    """Return the weight of the right answers to held-out rows, and of all."""
    if rows is None:
        return None
    with rows.backend.deterministic():
        return rows.right(chosen, intercept, W), rows.total_weight


def added(left: Any, right: Any) -> Any:
    """Return the sum of totals: arrays and numbers, in tuples and lists."""
    if isinstance(left, (tuple, list)):
        return type(left)(added(one, other) for one, other in zip(left, right, strict=True))
    return left + right


def _on_host(backend: Backend, value: Any) -> Any:
    """Return an array of a backend, or many in tuples and lists, as NumPy's."""
    if isinstance(value, (list, tuple)):
        return type(value)(_on_host(backend, one) for one in value)
    return value if isinstance(value, (np.ndarray, np.generic, float)) else backend.numpy(value)


def _n_bytes(data: Any, views: bool) -> int:
    """Return the bytes of arrays in a block's encoding, of views of others too if asked for."""
    if isinstance(data, (list, tuple)):
        return sum(_n_bytes(part, views) for part in data)
    if hasattr(data, "tocsr"):
        return _n_bytes((data.data, data.indices, data.indptr), views)
    if not hasattr(data, "nbytes") or (not views and getattr(data, "base", None) is not None):
        return 0
    return int(data.nbytes)
