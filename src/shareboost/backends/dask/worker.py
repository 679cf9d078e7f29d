"""The rows of one block on a worker: what it is asked for, and the state it must be in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray

from ...arrays import Segments, to_float64
from ...dataset import HeldOut, Sample
from ...inputs import backend_of
from ...losses import Loss
from ...pools.base import Pool
from ...rows import Totals
from ...shard import CURVATURE, Chosen, Shard, Wanted
from .. import Backend

Numbers = NDArray[np.intp] | None  # of rows of a block; None for all


class Point(NamedTuple):
    """Where residuals are taken: weights of the first columns, and a loss."""

    W: NDArray[np.float64]
    loss: Loss

    def same(self, other: Point | None) -> bool:
        """Return whether both are one point."""
        return other is not None and self.loss == other.loss and np.array_equal(self.W, other.W)


class State(NamedTuple):
    """What the rows of every block must be before they answer."""

    chosen: tuple[Chosen, ...] = ()
    point: Point | None = None  # None: the residuals do not matter


class WorkerShard(Shard):
    """The rows of one block.

    An answer depends on the encoded rows, the state and the question alone. What the shard
    still holds of earlier answers, columns and residuals, saves work and changes nothing: a
    shard that was made anew on another worker answers alike.
    """

    def __init__(
        self, pool: Pool, n_classes: int, intercept: bool, sample: Sample, device: Any
    ) -> None:
        backend = backend_of(sample.X, device)
        super().__init__(backend.form(pool), n_classes, intercept, backend)
        self.n_rows = len(sample.y)
        self._chosen: tuple[Chosen, ...] = ()
        self._point: Point | None = None
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
        self.__dict__.update(state, map=map, _lock=RLock(), _chosen=(), _point=None)
        self.blocks = [self.block(*block) for block in blocks]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Hold what the backend needs; one question at a time."""
        with self._lock, self.backend.deterministic() as own:
            self.map = own
            try:
                yield
            finally:
                self.map = map

    def settle(self, state: State) -> None:
        """Bring columns and residuals into a state."""
        kept = 0
        for one, other in zip(self._chosen, state.chosen, strict=False):
            if not _alike(one, other):
                break
            kept += 1
        self._chosen = state.chosen[:kept]
        for chosen in state.chosen[kept:]:
            start = int(self.intercept) + sum(one.scales.size for one in self._chosen)
            stop = start + chosen.scales.size
            self.write(chosen.atom, start, stop)
            self.rescale(start, stop, chosen.centers, chosen.scales)
            self._chosen = (*self._chosen, chosen)
        if kept < len(state.chosen) and self._point is not None:
            first = int(self.intercept) + sum(one.scales.size for one in state.chosen[:kept])
            if self._point.W.shape[1] > first:
                self._point = None
        if state.point is not None and not state.point.same(self._point):
            self.evaluate(*state.point, 0)

    def evaluate(self, W: Any, loss: Loss, n_columns: int) -> tuple[Any, Any]:
        self._point = None  # whatever happens on the way
        found = super().evaluate(W, loss, n_columns)
        self._point = Point(W, loss)
        return found

    def loss_and_curvature(self, W: Any, loss: Loss, n_columns: int) -> tuple[Any, ...]:
        """Return the loss, its gradient, and its curvature summed over classes and examples."""
        return *self.evaluate(W, loss, n_columns), *self.total_curvature()

    def column_sums(self, atom: int, start: int, stop: int) -> tuple[Any]:
        """Return the weighted sums of an atom's columns, which are in no state yet."""
        self._forget(start)
        return self.write(atom, start, stop)

    def _forget(self, start: int) -> None:
        """Forget that columns from ``start`` on are those of chosen atoms."""
        stop, kept = int(self.intercept), 0
        for one in self._chosen:
            stop += one.scales.size
            if stop > start:
                break
            kept += 1
        self._chosen = self._chosen[:kept]
        if self._point is not None and self._point.W.shape[1] > start:
            self._point = None

    def products_and_slope(self, start: int, stop: int) -> tuple[Any, ...]:
        """Return the products of the columns from ``start`` on with all, and with the residuals."""
        return *self.products(start, stop), *self.correlate(start, stop)

    def statistics(
        self, mean: NDArray[np.float64], wanted: Sequence[Wanted], parts: Sequence[slice]
    ) -> tuple[Any, ...]:
        """Return the sums of curvatures, and of every part the statistics wanted of its atoms."""
        signals = {signal for signal, _ in wanted}
        (curvatures,) = self.prepare(mean, CURVATURE in signals)
        found = self.over_parts(
            parts,
            wanted,
            lambda part, stats: [to_float64(one) for one in stats],
        )
        for block in self.blocks:  # as large as the residuals, and made anew every time
            block.prepared = block.curvature = None
        return curvatures, found

    @property
    def n_bytes(self) -> int:
        """What the encoded rows take, but for parts of arrays that others hold."""
        return sum(_own_bytes(block.data) for block in self.blocks)


@sizeof.register(WorkerShard)
def _size_of_shard(shard: WorkerShard) -> int:
    held = sum(int(block.columns.nbytes + block.residual.nbytes) for block in shard.blocks)
    return shard.n_bytes + held


def encoded(
    n_classes: int, intercept: bool, device: Any, pool: Pool, sample: Sample
) -> WorkerShard:
    """Return the rows of a block in the pool's encoding."""
    return WorkerShard(pool, n_classes, intercept, sample, device)


def asked(
    state: State, name: str, arguments: tuple[Any, ...], shard: WorkerShard
) -> tuple[Any, ...] | None:
    """Return what a method of the shard gives in that state, in NumPy's; None of no rows."""
    if not shard.n_rows:
        return None
    with shard.at_work():
        shard.settle(state)
        found = getattr(shard, name)(*arguments)
        return tuple(_on_host(shard.backend, value) for value in found)


def columns_of(atom: int, rows: Numbers, shard: WorkerShard) -> NDArray[Any]:
    """Return the columns of an atom, (columns, n), in X's units, of some rows or all."""
    with shard.at_work():
        parts = [
            shard.backend.numpy(shard.columns_of(block, atom)).astype(shard.pool.dtype_)
            for block in shard.blocks
        ]
    width = shard.pool.scales(atom).size
    found = np.concatenate([np.empty((width, 0), shard.pool.dtype_), *parts], axis=1)
    return found if rows is None else found[:, rows]


def labels_of(rows: Numbers, shard: WorkerShard) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the labels, in as few bytes as they take, and the weights, of some rows or all."""
    least = np.min_scalar_type(shard.n_classes)
    parts = [shard.backend.numpy(block.y).astype(least) for block in shard.blocks]
    y = np.concatenate([np.empty(0, least), *parts])
    parts = [shard.backend.numpy(block.weight) for block in shard.blocks]
    weight = np.concatenate([np.empty(0, shard.pool.dtype_), *parts])
    return (y, weight) if rows is None else (y[rows], weight[rows])


def bytes_and_rows(views: bool, shard: WorkerShard) -> tuple[int, int]:
    """Return what the encoded rows take, views too if asked for, and how many they are."""
    return sum(_own_bytes(block.data, views) for block in shard.blocks), shard.n_rows


def scored(
    task: Callable[..., Any], parts: Sequence[slice], totals: tuple[Any, ...], pool: Pool
) -> list[Any]:
    """Return the scores of every part, by totals over all rows."""

    def by_atom(of_columns: NDArray[np.float64], part: slice) -> NDArray[np.float64]:
        return Segments(pool.starts(part), len(of_columns)).sums(of_columns)

    curvatures, found = totals
    return [
        task(pool, part, Totals(stats, curvatures), by_atom)
        for part, stats in zip(parts, found, strict=True)
    ]


def held_out(device: Any, pool: Pool, sample: Sample) -> HeldOut | None:
    """Return the rows of a block that are held out; None of no rows."""
    if not len(sample.y):
        return None
    return HeldOut(sample.X, sample.y, sample.weight, pool, backend_of(sample.X, device))


def right(
    chosen: tuple[Chosen, ...], intercept: bool, W: NDArray[np.float64], rows: HeldOut | None
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


def identity(value: Any) -> Any:
    """Return the value: a task of its own, which can be done again where a worker is lost."""
    return value


def _alike(one: Chosen, other: Chosen) -> bool:
    return (
        one.atom == other.atom
        and np.array_equal(one.centers, other.centers)
        and np.array_equal(one.scales, other.scales)
    )


def _on_host(backend: Backend, value: Any) -> Any:
    """Return an array of a backend, or many in tuples and lists, as NumPy's."""
    if isinstance(value, (list, tuple)):
        return type(value)(_on_host(backend, one) for one in value)
    return value if isinstance(value, (np.ndarray, np.generic, float)) else backend.numpy(value)


def _own_bytes(data: Any, views: bool = False) -> int:
    """Return the bytes of arrays in a block's encoding, of views of others too if asked for."""
    if isinstance(data, (list, tuple)):
        return sum(_own_bytes(item, views) for item in data)
    if hasattr(data, "tocsr"):
        return _own_bytes((data.data, data.indices, data.indptr), views)
    if not hasattr(data, "nbytes") or (not views and getattr(data, "base", None) is not None):
        return 0
    return int(data.nbytes)
