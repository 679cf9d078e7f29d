"""Training rows on a cluster, refit here on gathered columns, or there by summed gradients."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from dask import config
from dask.utils import parse_bytes
from distributed.system import MEMORY_LIMIT
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from ...arrays import Array
from ...identity import digest
from ...pools.base import PART_BYTES, Pool
from ...pools.table import ANSWER_BYTES
from ...rows import PartTask, Question, Removed, Rows
from ...shard import Block, Chosen, Shard, Wanted
from ..base import ClusterRun
from ..numpy import NUMPY
from . import worker
from .blocks import by_block
from .executor import DaskExecutor
from .worker import Call, Point, SomeRows, State, WorkerShard

if TYPE_CHECKING:
    from ...losses import Labels
    from .dataset import DaskDataset

# The share of the client's free memory that gathered columns may take.
CLIENT_SHARE = 0.4
# Rows of the sample that is here where the columns of all do not fit.
FEWEST_NEAR, MOST_NEAR = 1 << 10, 1 << 17
# The widest of so many atoms tells how wide the chosen ones may be.
ATOMS_LOOKED_AT = 1000


class ShardSet:
    """The shards of all blocks, asked as one.

    They are held on the workers where all of them take a small part of their memory; else
    every pass encodes the rows anew.
    """

    def __init__(self, dataset: DaskDataset, pool: Pool, n_classes: int, intercept: bool):
        self.executor: DaskExecutor = dataset.executor
        self.dataset = dataset
        self.pool = pool
        self.n_classes = n_classes
        self.intercept = intercept
        sent = self.executor.map("pool", partial(copy, pool), [()], {})
        (self.pool_key,) = self.executor.hold(sent).keys
        encode = partial(worker.encoded, n_classes, intercept, dataset.device)
        self._shards = dataset.samples.map("encode", encode, self.pool_key)
        self.held = self.executor.has_room(self._n_bytes())
        if self.held:
            self._shards = self.executor.hold(self._shards)

    def _n_bytes(self) -> float:
        """Return about what rows and shards take together, told from the largest block."""
        lengths, _ = self.dataset.sizes
        largest = replace(self._shards, keys=[self._shards.keys[int(np.argmax(lengths))]])
        held = self.dataset.held is not None
        measure = partial(worker.size_of_encoding, not held)
        ((n_bytes, n_rows),) = largest.map("size", measure).computed()
        return n_bytes * sum(lengths) / n_rows + held * self.dataset.n_bytes

    def total(self, state: State, *calls: Call) -> tuple[Any, ...]:
        """Return what methods of the shards return in a state, summed over all rows."""
        name: str = calls[0][0].__name__
        what = name.replace("evaluate", "evaluation")  # Dask takes "evaluate" for a hash
        tasks = self._shards.map(what.replace("_", "-"), partial(worker.asked, state, calls))
        totals: tuple[Any, ...] = tasks.merged(worker.added)
        return totals

    def scored(
        self,
        state: State,
        mean: NDArray[np.float64],
        wanted: Sequence[Wanted],
        score: PartTask[Any],
    ) -> list[Any]:
        """Return the scores of every part of the pool, by totals over all rows in a state.

        The totals stay on the cluster: only scores come here.
        """
        parts = self.pool.parts(self.n_classes)
        n = max(1, ANSWER_BYTES // PART_BYTES)
        scores: list[Any] = []
        for some in (parts[i : i + n] for i in range(0, len(parts), n)):
            ask = partial(worker.asked, state, [(WorkerShard.statistics, mean, wanted, some)])
            end = partial(worker.scored, score, some)
            tasks = self._shards.map("statistics", ask)
            scores += tasks.merged(worker.added, end, self.pool_key)
        return scores

    def columns(self, atom: int, some: Sequence[SomeRows]) -> NDArray[Any]:
        """Return the columns of an atom, (columns, n), in X's units, of some rows of each block."""
        takes = [partial(worker.columns_of, atom, rows) for rows in some]
        return np.concatenate(self._shards.map("columns", takes).computed(), axis=1)

    def labels(self, some: Sequence[SomeRows]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the labels and the weights of some rows of each block."""
        takes = [partial(worker.labels_of, rows) for rows in some]
        parts = self._shards.map("labels", takes).computed()
        y, weight = map(np.concatenate, zip(*parts, strict=True))
        return y.astype(np.intp), weight.astype(np.float64)


def dask_rows(
    dataset: DaskDataset, pool: Pool, n_classes: int, intercept: bool, n_atoms: int
) -> DaskRows:
    """Return the rows for a fit of so many atoms, refit where their columns fit."""
    shards = ShardSet(dataset, pool, n_classes, intercept)
    n_near = max(1, int(_client_memory() // _gathered_bytes(shards, n_atoms)))
    if n_near >= dataset.n_rows:
        return GatheredRows(shards, [None] * len(dataset.summaries))
    rounded = 1 << (n_near.bit_length() - 1)  # the same for about as much memory
    return SummedRows(shards, max(FEWEST_NEAR, min(MOST_NEAR, rounded)))


def _client_memory() -> float:
    """Return the bytes that columns may take here: ``shareboost.client-memory`` of Dask's config.

    Unless that is set, a share of what is free.
    """
    limit = config.get("shareboost.client-memory", None)
    if limit is not None:
        return float(parse_bytes(limit))
    free = float(psutil.virtual_memory().available)  # of the machine; a container may have less
    return CLIENT_SHARE * min(free, MEMORY_LIMIT - psutil.Process().memory_info().rss)


def _gathered_bytes(shards: ShardSet, n_atoms: int) -> int:
    """Return about what columns of so many atoms, residuals, label and weight of a row take."""
    n = shards.pool.n_atoms_
    some = range(0, n, -(-n // ATOMS_LOOKED_AT))
    width = max(int(shards.pool.scales(atom).size) for atom in some)
    numbers = 2 * (1 + n_atoms * width) + 2 * shards.n_classes  # columns grow by doubling
    return numbers * shards.pool.dtype_.itemsize + 24


class DaskRows(Rows):
    """Rows that lie on a cluster, and what was chosen of them."""

    refit: str  # where

    def __init__(self, shards: ShardSet):
        self.shards = shards
        self._begin(shards.dataset.sizes[1], self._new_shard())

    @property
    def identity(self) -> dict[str, str]:
        return {"refit": digest(self.refit)}

    @property
    def placement(self) -> ClusterRun:
        """How the cluster is used."""
        dataset = self.shards.dataset
        rows = "held by the workers" if self.shards.held else "made anew for every pass"
        return ClusterRun(self.refit, rows, dataset.n_rows, len(dataset.summaries))

    def _new_shard(self) -> Shard:
        return Shard(self.shards.pool, self.shards.n_classes, self.shards.intercept, NUMPY)

    @property
    def _state(self) -> State:
        """What the shards must be in, to answer for the point evaluated last."""
        known = self._known
        return State(self.chosen, None if known is None else Point(known.W, known.loss))

    def scored(self, wanted: Sequence[Wanted], task: PartTask[Any]) -> list[Any]:
        return self.shards.scored(self._state, self._residual_mean(), wanted, task)

    def candidates(self, question: Question, *arguments: Any) -> tuple[Array, ...]:
        return self.shards.total(self._state, (question, *arguments))


class GatheredRows(DaskRows):
    """Rows whose chosen columns are gathered, one atom a round: all but scores is computed here.

    They are all rows of each block, or some.
    """

    refit = "on the client, of gathered columns"

    def __init__(self, shards: ShardSet, some: Sequence[SomeRows]):
        self._some = some
        super().__init__(shards)

    def _new_shard(self) -> Shard:
        return _GatheredShard(self.shards, self._some)

    def _encode(self) -> None:
        y, weight = self.shards.labels(self._some)
        self.total_weight = float(weight.sum())
        shard = self.shard
        for start, stop in pairwise(NUMPY.edges(y.size, self.n_classes)):
            rows = slice(start, stop)
            shard.gather(rows, y[rows], weight[rows])

    def append_alike(self, chosen: Chosen) -> None:
        """Append an atom as it was appended elsewhere, about the same centres."""
        start = self.n_columns
        self._written(chosen.atom, start, start + chosen.scales.size)
        self._append(*chosen)


class _GatheredShard(Shard):
    """Rows of which the labels, the weights and the chosen columns are here.

    What a block holds of its other columns is where its rows are among all.
    """

    def __init__(self, shards: ShardSet, some: Sequence[SomeRows]):
        super().__init__(shards.pool, shards.n_classes, shards.intercept, NUMPY)
        self._shards, self._some = shards, some
        self._fetched: NDArray[Any] = np.empty((0, 0))

    def write(self, atom: int, start: int, stop: int) -> tuple[Array]:
        self._fetched = self._shards.columns(atom, self._some)
        try:
            return super().write(atom, start, stop)
        finally:
            self._fetched = np.empty((0, 0))

    def gather(self, rows: slice, y: Labels, weight: NDArray[np.float64]) -> None:
        """Add a block of rows, at those places among all."""
        self.blocks.append(self._block(rows, y, weight))

    def _columns_of(self, block: Block, atom: int) -> Array:
        return self._fetched[:, block.data]


class SummedRows(DaskRows):
    """Rows of which a sample alone is here: losses and gradients are summed on the cluster.

    Of the sample the chosen columns are gathered; what it tells of the loss makes for few steps.
    """

    refit = "on the cluster, by summed gradients"
    near: GatheredRows

    def __init__(self, shards: ShardSet, n_near: int):
        super().__init__(shards)
        self._n_near = n_near
        self._curvature: Any = None  # at the point evaluated last

    @property
    def identity(self) -> dict[str, str]:
        return {"refit": digest((self.refit, self._n_near))}

    def _encode(self) -> None:
        n_all, rng = self.shards.dataset.n_rows, np.random.RandomState(0)
        rows = sample_without_replacement(n_all, min(self._n_near, n_all), random_state=rng)
        some = by_block(np.sort(rows).astype(np.intp), self.shards.dataset.sizes[0])
        self.near = self._resources.enter_context(GatheredRows(self.shards, some))

    def reset(self, atoms: tuple[int, ...]) -> None:
        self.near.reset(())
        super().reset(atoms)

    def total(self, question: Question, *arguments: Any) -> tuple[Any, ...]:
        if question is Shard.total_curvature:
            return (self._curvature,)
        if question is not Shard.evaluate:
            return self.shards.total(self._state, (question, *arguments))
        calls = (WorkerShard.evaluate, *arguments), (Shard.total_curvature,)
        *found, self._curvature = self.shards.total(State(self.chosen), *calls)
        return tuple(found)

    def _written(self, atom: int, start: int, stop: int) -> Array:
        (sums,) = self.shards.total(State(self.chosen), (Shard.write, atom, start, stop))
        return sums

    def _scaled(
        self, atom: int, centers: Array, scales: NDArray[np.float64], start: int, stop: int
    ) -> Array:
        new, known = Chosen(atom, centers, scales), self._known
        self.near.append_alike(new)
        state = State((*self.chosen, new), self._state.point)
        more = known is not None and known.gradient.shape[1] == start
        calls = (Shard.products, start, stop), (Shard.correlate, start, stop)
        products, *correlated = self.shards.total(state, *calls[: 1 + more])
        if known is not None and more:  # the gradient in the new columns, in the same pass
            gradient = np.hstack([known.gradient, *correlated])
            self._known = known._replace(gradient=gradient)
        return products

    def remove(self, place: int) -> Removed:
        self._removed_near = self.near.remove(place)
        return super().remove(place)

    def restore(self, removed: Removed) -> None:
        super().restore(removed)
        self.near.restore(self._removed_near)  # the last: nothing else has changed since

    def fork(self) -> Rows:
        rows = copy(self)
        twin = self.near.fork()
        assert isinstance(twin, GatheredRows)
        rows.near = twin
        rows.reset(())
        return rows

    def _residual_mean(self) -> Array:
        """Return what the intercept's part of the gradient tells: its column is all ones."""
        known = self._known
        if not self.intercept or known is None or not known.gradient.shape[1]:
            return super()._residual_mean()
        return known.gradient[:, 0] / self.total_weight
