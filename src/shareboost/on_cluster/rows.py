"""Training rows on a cluster, refit here on gathered columns, or there by summed gradients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import psutil
from dask import config
from dask.utils import parse_bytes
from numpy.typing import NDArray

from ..places import HOST
from ..places.base import Array
from ..pools import Pool
from ..rows import PartTask, Rows
from ..shard import Block, Chosen, Shard, Wanted
from .crew import Crew
from .sample import SpreadSample
from .worker import Point, State

# The share of the client's free memory that gathered columns may take.
CLIENT_SHARE = 0.4


def spread_rows(
    sample: SpreadSample, pool: Pool, n_classes: int, intercept: bool, n_atoms: int
) -> SpreadRows:
    """Return the rows for a fit of so many atoms, refit where their columns fit."""
    crew = Crew(sample, pool, n_classes, intercept)
    kind = GatheredRows if _gathered_bytes(crew, n_atoms) <= client_memory() else SummedRows
    return kind(crew)


def client_memory() -> float:
    """Return the bytes that columns may take here: ``shareboost.client-memory`` of Dask's config.

    Unless that is set, a share of what is free.
    """
    limit = config.get("shareboost.client-memory", None)
    if limit is not None:
        return float(parse_bytes(limit))
    return CLIENT_SHARE * float(psutil.virtual_memory().available)


def _gathered_bytes(crew: Crew, n_atoms: int) -> int:
    """Return about what the columns of so many atoms, residuals, labels and weights take."""
    width = int(crew.pool.scales(0).size)
    numbers = 2 * (1 + n_atoms * width) + 2 * crew.n_classes  # columns grow by doubling
    return crew.sample.n_rows * (numbers * crew.pool.dtype_.itemsize + 24)


class SpreadRows(Rows):
    """Rows that lie on a cluster, and what was chosen of them."""

    refit: str  # where

    def __init__(self, crew: Crew):
        self.crew = crew
        shard = self._new_shard(crew)
        self._begin(crew.sample.total_weight, shard)

    def __exit__(self, *exception: Any) -> None:
        self.crew.fleet.release()
        super().__exit__(*exception)

    def _new_shard(self, crew: Crew) -> Shard:
        return Shard(crew.pool, crew.n_classes, crew.intercept, HOST)

    @property
    def _state(self) -> State:
        """What the shards must be in, to answer for the point evaluated last."""
        known = self._known
        return State(self.chosen, None if known is None else Point(known.W, known.loss))

    def scored(self, wanted: Sequence[Wanted], task: PartTask[Any]) -> list[Any]:
        return self.crew.scored(self._state, self._residual_mean(), wanted, task)


class GatheredRows(SpreadRows):
    """Rows whose chosen columns are gathered, one atom a round: all but scores is computed here."""

    refit = "on the client, of gathered columns"

    def _new_shard(self, crew: Crew) -> Shard:
        return _Gathered(crew)

    def _encode(self) -> None:
        y, weight = self.crew.labels()
        shard = self._shard
        for start, stop in pairwise(HOST.edges(y.size)):
            rows = slice(start, stop)
            shard.blocks.append(shard.block(rows, y[rows], weight[rows]))


class _Gathered(Shard):
    """All rows, of which the labels, the weights and the chosen columns are here.

    What a block holds of its other columns is where its rows are among all.
    """

    def __init__(self, crew: Crew):
        super().__init__(crew.pool, crew.n_classes, crew.intercept, HOST)
        self.crew = crew
        self._fetched: NDArray[Any] = np.empty((0, 0))

    def write(self, atom: int, start: int, stop: int) -> tuple[Array]:
        self._fetched = self.crew.columns(atom)
        try:
            return super().write(atom, start, stop)
        finally:
            self._fetched = np.empty((0, 0))

    def columns_of(self, block: Block, atom: int) -> Array:
        return self._fetched[:, block.data]


class SummedRows(SpreadRows):
    """Rows of which nothing is here: losses and gradients are summed on the cluster."""

    refit = "on the cluster, by summed gradients"

    def _encode(self) -> None:
        return

    def total(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        state = State(self.chosen) if name == "evaluate" else self._state
        return self.crew.total(state, name, *arguments)

    def _written(self, atom: int, start: int, stop: int) -> Array:
        (sums,) = self.crew.total(State(self.chosen), "column_sums", atom, start, stop)
        return sums

    def _scaled(
        self, atom: int, centers: Array, scales: NDArray[np.float64], start: int, stop: int
    ) -> Array:
        chosen = (*self.chosen, Chosen(atom, centers, scales))
        (products,) = self.crew.total(State(chosen), "products", start, stop)
        return products

    def _residual_mean(self) -> Array:
        """Return what the intercept's part of the gradient tells: its column is all ones."""
        known = self._known
        if not self.intercept or known is None or not known.gradient.shape[1]:
            return super()._residual_mean()
        return known.gradient[:, 0] / self.total_weight
