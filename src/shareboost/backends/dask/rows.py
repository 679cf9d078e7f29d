"""Training rows on a cluster, refit here on gathered columns, or there by summed gradients."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
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
from ...io.fingerprint import digest
from ...pools.base import Pool
from ...rows import PartTask, Removed, Rows
from ...shard import Block, Chosen, Shard, Wanted
from .. import NUMPY
from ..base import ClusterRun
from .given_rows import by_block
from .shard_set import Crew
from .worker import Numbers, Point, State

if TYPE_CHECKING:
    from .dataset import SpreadSample

# The share of the client's free memory that gathered columns may take.
CLIENT_SHARE = 0.4
# Rows of the sample that is here where the columns of all do not fit.
FEWEST_NEAR, MOST_NEAR = 1 << 10, 1 << 17
# The widest of so many atoms tells how wide the chosen ones may be.
ATOMS_LOOKED_AT = 1000


def spread_rows(
    sample: SpreadSample, pool: Pool, n_classes: int, intercept: bool, n_atoms: int
) -> SpreadRows:
    """Return the rows for a fit of so many atoms, refit where their columns fit."""
    crew = Crew(sample, pool, n_classes, intercept)
    n_near = max(1, int(client_memory() // _gathered_bytes(crew, n_atoms)))
    if n_near >= sample.n_rows:
        return GatheredRows(crew)
    rounded = 1 << (n_near.bit_length() - 1)  # the same for about as much memory
    return SummedRows(crew, max(FEWEST_NEAR, min(MOST_NEAR, rounded)))


def client_memory() -> float:
    """Return the bytes that columns may take here: ``shareboost.client-memory`` of Dask's config.

    Unless that is set, a share of what is free.
    """
    limit = config.get("shareboost.client-memory", None)
    if limit is not None:
        return float(parse_bytes(limit))
    free = float(psutil.virtual_memory().available)  # of the machine; a container may have less
    return CLIENT_SHARE * min(free, MEMORY_LIMIT - psutil.Process().memory_info().rss)


def _gathered_bytes(crew: Crew, n_atoms: int) -> int:
    """Return about what columns of so many atoms, residuals, label and weight of a row take."""
    n = crew.pool.n_atoms_
    some = range(0, n, -(-n // ATOMS_LOOKED_AT))
    width = max(int(crew.pool.scales(atom).size) for atom in some)
    numbers = 2 * (1 + n_atoms * width) + 2 * crew.n_classes  # columns grow by doubling
    return numbers * crew.pool.dtype_.itemsize + 24


class SpreadRows(Rows):
    """Rows that lie on a cluster, and what was chosen of them."""

    refit: str  # where

    @property
    def identity(self) -> dict[str, str]:
        return {"refit": digest(self.refit)}

    @property
    def placement(self) -> ClusterRun:
        """How the cluster is used."""
        sample = self.crew.sample
        rows = "held by the workers" if self.crew.holds else "made anew for every pass"
        return ClusterRun(self.refit, rows, sample.n_rows, len(sample.blocks))

    def __init__(self, crew: Crew):
        self.crew = crew
        shard = self._new_shard(crew)
        self._begin(crew.sample.total_weight, shard)

    def __exit__(self, *exception: Any) -> None:
        self.crew.fleet.release()
        super().__exit__(*exception)

    def _new_shard(self, crew: Crew) -> Shard:
        return Shard(crew.pool, crew.n_classes, crew.intercept, NUMPY)

    @property
    def _state(self) -> State:
        """What the shards must be in, to answer for the point evaluated last."""
        known = self._known
        return State(self.chosen, None if known is None else Point(known.W, known.loss))

    def scored(self, wanted: Sequence[Wanted], task: PartTask[Any]) -> list[Any]:
        return self.crew.scored(self._state, self._residual_mean(), wanted, task)

    def candidates(self, name: str, *arguments: Any) -> tuple[Array, ...]:
        return self.crew.total(self._state, name, *arguments)


class GatheredRows(SpreadRows):
    """Rows whose chosen columns are gathered, one atom a round: all but scores is computed here.

    They are all rows, or those of the given numbers in each block.
    """

    refit = "on the client, of gathered columns"

    def __init__(self, crew: Crew, numbers: Sequence[Numbers] | None = None):
        self._numbers = numbers
        super().__init__(crew)

    def _new_shard(self, crew: Crew) -> Shard:
        return _Gathered(crew, self._numbers)

    def _encode(self) -> None:
        y, weight = self.crew.labels(self._numbers)
        self.total_weight = float(weight.sum())
        shard = self._shard
        for start, stop in pairwise(NUMPY.edges(y.size, self.n_classes)):
            rows = slice(start, stop)
            shard.blocks.append(shard.block(rows, y[rows], weight[rows]))

    def append_alike(self, chosen: Chosen) -> None:
        """Append an atom as it was appended elsewhere, about the same centres."""
        start = self.n_columns
        self._written(chosen.atom, start, start + chosen.scales.size)
        self._append(*chosen)


class _Gathered(Shard):
    """Rows of which the labels, the weights and the chosen columns are here.

    What a block holds of its other columns is where its rows are among all.
    """

    def __init__(self, crew: Crew, numbers: Sequence[Numbers] | None):
        super().__init__(crew.pool, crew.n_classes, crew.intercept, NUMPY)
        self.crew = crew
        self._numbers = numbers
        self._fetched: NDArray[Any] = np.empty((0, 0))

    def write(self, atom: int, start: int, stop: int) -> tuple[Array]:
        self._fetched = self.crew.columns(atom, self._numbers)
        try:
            return super().write(atom, start, stop)
        finally:
            self._fetched = np.empty((0, 0))

    def columns_of(self, block: Block, atom: int) -> Array:
        return self._fetched[:, block.data]


class SummedRows(SpreadRows):
    """Rows of which a sample alone is here: losses and gradients are summed on the cluster.

    Of the sample the chosen columns are gathered; what it tells of the loss makes for few steps.
    """

    refit = "on the cluster, by summed gradients"
    near: GatheredRows

    def __init__(self, crew: Crew, n_near: int):
        super().__init__(crew)
        self._n_near = n_near
        self._curvature: Any = None  # at the point evaluated last

    @property
    def identity(self) -> dict[str, str]:
        return {"refit": digest((self.refit, self._n_near))}

    def _encode(self) -> None:
        rows = _sampled(self.crew, self._n_near)
        self.near = self._resources.enter_context(GatheredRows(self.crew, rows))

    def reset(self, atoms: tuple[int, ...]) -> None:
        self.near.reset(())
        super().reset(atoms)

    def total(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        if name == "evaluate":
            name = "loss_and_curvature"
            *found, self._curvature = self.crew.total(State(self.chosen), name, *arguments)
            return tuple(found)
        if name == "total_curvature":
            return (self._curvature,)
        return self.crew.total(self._state, name, *arguments)

    def _written(self, atom: int, start: int, stop: int) -> Array:
        (sums,) = self.crew.total(State(self.chosen), "column_sums", atom, start, stop)
        return sums

    def _scaled(
        self, atom: int, centers: Array, scales: NDArray[np.float64], start: int, stop: int
    ) -> Array:
        new, known = Chosen(atom, centers, scales), self._known
        self.near.append_alike(new)
        state = State((*self.chosen, new), self._state.point)
        more = known is not None and known.gradient.shape[1] == start
        name = "products_and_slope" if more else "products"
        products, *correlated = self.crew.total(state, name, start, stop)
        if known is not None and more:  # the gradient in the new columns, in the same pass
            gradient = np.hstack([known.gradient, *correlated])
            self._known = known._replace(gradient=gradient)
        return products

    def remove(self, place: int) -> Removed:
        removed = super().remove(place)
        return removed._replace(near=self.near.remove(place))

    def restore(self, removed: Removed) -> None:
        super().restore(removed)
        assert removed.near is not None
        self.near.restore(removed.near)

    def twin(self) -> Rows:
        rows = copy(self)
        twin = self.near.twin()
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


def _sampled(crew: Crew, n_rows: int) -> list[NDArray[np.intp]]:
    """Return the numbers of random rows in each block, so many or all."""
    n_all, rng = crew.sample.n_rows, np.random.RandomState(0)
    rows = np.sort(sample_without_replacement(n_all, min(n_rows, n_all), random_state=rng))
    return by_block(rows.astype(np.intp), crew.sample.lengths)
