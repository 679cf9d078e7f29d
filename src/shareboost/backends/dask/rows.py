"""Training rows on a cluster, refit here on gathered columns, or there by summed gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from .worker import Point, State, WorkerShard

if TYPE_CHECKING:
    from .dataset import DaskDataset

# The share of the client's free memory that gathered columns may take.
CLIENT_SHARE = 0.4
# Rows of the sample that is here where the columns of all do not fit.
FEWEST_NEAR, MOST_NEAR = 1 << 10, 1 << 17
# The widest of so many atoms tells how wide the chosen ones may be.
ATOMS_LOOKED_AT = 1000


class ClusterShard(Shard):
    """All rows, as the shards of their blocks, which lie on the workers and are asked as one."""

    def __init__(self, dataset: DaskDataset, pool: Pool, n_classes: int, intercept: bool):
        super().__init__(pool, n_classes, intercept, NUMPY)
        self.dataset, self.executor = dataset, dataset.executor
        sent = self.executor.map("pool", partial(copy, pool), [()], {})
        (self.pool_key,) = self.executor.hold(sent).keys
        encode = partial(worker.encoded, n_classes, intercept, dataset.device)
        tasks = dataset.samples.map("encode", encode, self.pool_key)
        # About what rows and shards take together, told from the largest block.
        lengths, _ = dataset.sizes
        n_held = 0 if dataset.samples.graph else dataset.n_bytes
        largest = replace(tasks, keys=[tasks.keys[int(np.argmax(lengths))]])
        measure = partial(worker.bytes_encoded, not n_held)
        (n_bytes,) = largest.map("size", measure).computed()
        n_bytes = n_held + n_bytes * sum(lengths) / max(lengths)
        self.shards = self.executor.hold(tasks, n_bytes)

    def answers(self, state: State, *calls: Any) -> Any:
        """Return what calls of the shards return in a state, summed over all rows."""
        name: str = calls[0][0].__name__
        what = name.replace("evaluate", "evaluation")  # Dask takes "evaluate" for a hash
        tasks = self.shards.map(what.replace("_", "-"), partial(worker.asked, state, calls))
        return tasks.merged(worker.added)

    def scored(
        self, state: State, mean: Array, wanted: Sequence[Wanted], score: PartTask[Any]
    ) -> list[Any]:
        """Return the scores of every part of the pool; the totals stay on the cluster."""
        parts = self.pool.parts(self.n_classes)
        n = max(1, ANSWER_BYTES // PART_BYTES)
        scores: list[Any] = []
        for some in (parts[i : i + n] for i in range(0, len(parts), n)):
            ask = partial(worker.asked, state, [(WorkerShard.statistics, mean, wanted, some)])
            tasks = self.shards.map("statistics", ask)
            scores += tasks.merged(worker.added, partial(worker.scored, score, some), self.pool_key)
        return scores


def dask_rows(cluster: ClusterShard, n_atoms: int) -> DaskRows:
    """Return the rows for a fit of so many atoms, refit where their columns fit."""
    pool, dataset = cluster.pool, cluster.dataset
    some = range(0, pool.n_atoms_, -(-pool.n_atoms_ // ATOMS_LOOKED_AT))
    width = max(int(pool.scales(atom).size) for atom in some)
    # Of a row: its columns, which grow by doubling, residuals, label and weight.
    numbers = 2 * (1 + n_atoms * width) + 2 * cluster.n_classes
    n_near = max(1, int(_client_memory() // (numbers * pool.dtype_.itemsize + 24)))
    if n_near >= dataset.n_rows:
        return GatheredRows(cluster, [slice(None)] * len(dataset.blocks))
    rounded = 1 << (n_near.bit_length() - 1)  # the same for about as much memory
    return SummedRows(cluster, max(FEWEST_NEAR, min(MOST_NEAR, rounded)))


def _client_memory() -> float:
    """Return the bytes that columns may take here: as configured, or a share of what is free."""
    limit = config.get("shareboost.client-memory", None)
    if limit is not None:
        return float(parse_bytes(limit))
    free = float(psutil.virtual_memory().available)  # of the machine; a container may have less
    return CLIENT_SHARE * min(free, MEMORY_LIMIT - psutil.Process().memory_info().rss)


class DaskRows(Rows):
    """Rows that lie on a cluster, and what was chosen of them."""

    refit: str  # where
    n_near: int | None = None  # rows of the sample that is here, if not all are

    def __init__(self, cluster: ClusterShard, shard: Shard):
        self.cluster = cluster
        self._begin(cluster.dataset.sizes[1], shard)

    @property
    def identity(self) -> dict[str, str]:
        return {"refit": digest((self.refit, self.n_near))}

    @property
    def placement(self) -> ClusterRun:
        """How the cluster is used."""
        dataset = self.cluster.dataset
        rows = "made anew for every pass" if self.cluster.shards.graph else "held by the workers"
        return ClusterRun(self.refit, rows, dataset.n_rows, len(dataset.blocks))

    @property
    def _state(self) -> State:
        """What the shards must be in, to answer for the point evaluated last."""
        known = self._known
        return State(self.chosen, None if known is None else Point(known.W, known.loss))

    def scored(self, wanted: Sequence[Wanted], task: PartTask[Any]) -> list[Any]:
        return self.cluster.scored(self._state, self._residual_mean(), wanted, task)

    def candidates(self, question: Question, *arguments: Any) -> tuple[Array, ...]:
        return self.cluster.answers(self._state, (question, *arguments))


class GatheredRows(DaskRows):
    """Rows, all or some, whose chosen columns are gathered: all but scores is computed here."""

    refit = "on the client, of gathered columns"
    shard: _GatheredShard

    def __init__(self, cluster: ClusterShard, some: Sequence[Any]):
        super().__init__(cluster, _GatheredShard(cluster, some))

    def _encode(self) -> None:
        self.total_weight = self.shard.gather()


class _GatheredShard(Shard):
    """Labels, weights and chosen columns of rows; the data of a block is where its rows are."""

    def __init__(self, cluster: ClusterShard, some: Sequence[Any]):
        super().__init__(cluster.pool, cluster.n_classes, cluster.intercept, NUMPY)
        self._cluster, self._some = cluster, some

    def _taken(self, what: str, take: Callable[..., Any]) -> list[Any]:
        """Return what a function takes of some rows of every block."""
        takes = [partial(take, rows) for rows in self._some]
        return self._cluster.shards.map(what, takes).computed()

    def gather(self) -> float:
        """Bring the labels and the weights here; return the sum of these."""
        y, weight = map(np.concatenate, zip(*self._taken("labels", worker.labels_of), strict=True))
        rows = [slice(*pair) for pair in pairwise(NUMPY.edges(y.size, self.n_classes))]
        self.blocks = [self._block(some, y[some].astype(np.intp), weight[some]) for some in rows]
        return float(weight.astype(np.float64).sum())

    def write(self, atom: int, start: int, stop: int) -> tuple[Array]:
        columns = self._taken("columns", partial(worker.columns_of, atom))
        self._gathered = np.concatenate(columns, axis=1)
        sums = super().write(atom, start, stop)
        del self._gathered
        return sums

    def _columns_of(self, block: Block, atom: int) -> Array:
        return self._gathered[:, block.data]


class SummedRows(DaskRows):
    """Rows of which a sample alone is here: losses and gradients are summed on the cluster.

    Of the sample the chosen columns are gathered; what it tells of the loss makes for few steps.
    """

    refit = "on the cluster, by summed gradients"
    near: Any  # GatheredRows

    def __init__(self, cluster: ClusterShard, n_near: int):
        super().__init__(cluster, cluster)
        self.n_near = min(n_near, cluster.dataset.n_rows)
        self._curvature: Any = None  # at the point evaluated last

    def _encode(self) -> None:
        dataset, rng = self.cluster.dataset, np.random.RandomState(0)
        rows = sample_without_replacement(dataset.n_rows, self.n_near, random_state=rng)
        some = by_block(np.sort(rows).astype(np.intp), dataset.sizes[0])
        self.near = self._resources.enter_context(GatheredRows(self.cluster, some))

    def reset(self, atoms: tuple[int, ...]) -> None:
        self.near.reset(())
        super().reset(atoms)

    def total(self, question: Question, *arguments: Any) -> tuple[Any, ...]:
        if question is Shard.total_curvature:
            return (self._curvature,)
        if question is not Shard.evaluate:
            return self.cluster.answers(self._state, (question, *arguments))
        calls = (WorkerShard.evaluate, *arguments), (Shard.total_curvature,)
        *totals, self._curvature = self.cluster.answers(State(self.chosen), *calls)
        return tuple(totals)

    def _written(self, atom: int, start: int, stop: int) -> Array:
        (sums,) = self.cluster.answers(State(self.chosen), (Shard.write, atom, start, stop))
        return sums

    def _scaled(
        self, atom: int, centers: Array, scales: NDArray[np.float64], start: int, stop: int
    ) -> Array:
        new, known = Chosen(atom, centers, scales), self._known
        self.near._written(atom, start, stop)
        self.near._append(*new)
        state = State((*self.chosen, new), self._state.point)
        more = known is not None and known.gradient.shape[1] == start
        calls = (Shard.products, start, stop), (Shard.correlate, start, stop)
        products, *correlated = self.cluster.answers(state, *calls[: 1 + more])
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
        rows.near = self.near.fork()
        rows.reset(())
        return rows

    def _residual_mean(self) -> Array:
        """Return what the intercept's part of the gradient tells: its column is all ones."""
        known = self._known
        if not self.intercept or known is None or not known.gradient.shape[1]:
            return super()._residual_mean()
        return known.gradient[:, 0] / self.total_weight
