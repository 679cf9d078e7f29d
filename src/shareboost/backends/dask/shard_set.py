"""The encoded rows on the workers, asked as one: totals over all blocks, scores, columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...pools.base import PART_BYTES, Pool
from ...pools.table import ANSWER_BYTES
from ...rows import PartTask
from ...shard import Wanted
from . import worker
from .executor import Fleet, Graph, Key, task
from .worker import Numbers, State

if TYPE_CHECKING:
    from .dataset import SpreadSample


class Crew:
    """The shards of all blocks.

    They are held on the workers where all of them take a small part of their memory; else
    every pass encodes the rows anew.
    """

    def __init__(self, sample: SpreadSample, pool: Pool, n_classes: int, intercept: bool):
        self.fleet: Fleet = sample.fleet
        self.sample = sample
        self.pool = pool
        self.n_classes = n_classes
        self.intercept = intercept
        key = self.fleet.key("pool")
        (self.pool_key,) = self.fleet.held({key: task(key, partial(worker.identity, pool))}, [key])
        self._shards: list[Key] | None = None
        beside = sample.n_bytes if sample.held else 0
        if self.fleet.has_room(self.n_bytes + beside):
            self._shards = self.fleet.held(*self._encoded())

    @property
    def holds(self) -> bool:
        """Whether the shards stay on the workers."""
        return self._shards is not None

    @cached_property
    def n_bytes(self) -> int:
        """About what all shards take beside rows that are held, told from one of them."""
        place = int(np.argmax(self.sample.lengths))
        graph, keys = self._encoded()
        key = (self.fleet.key("size"), 0)
        measure = partial(worker.bytes_and_rows, self.sample.held is None)
        graph[key] = task(key, measure, keys[place])
        ((n_bytes, n_rows),) = self.fleet.each(graph, [key])
        return n_bytes * self.sample.n_rows // n_rows

    def _encoded(self) -> tuple[Graph, list[Key]]:
        """Return tasks that encode every block, and their keys."""
        encode = partial(worker.encoded, self.n_classes, self.intercept, self.sample.device)
        graph, samples = self.sample.samples()
        given = [(self.pool_key, key) for key in samples]
        tasks, keys = self.fleet.tasks("encode", [encode] * len(given), given)
        return graph | tasks, keys

    def _tasks(self, functions: Sequence[Any], what: str) -> tuple[Graph, list[Key]]:
        """Return tasks of a function of the shard for every block, and their keys."""
        graph, shards = self._encoded() if self._shards is None else ({}, self._shards)
        tasks, keys = self.fleet.tasks(what, functions, [(key,) for key in shards])
        return graph | tasks, keys

    def total(self, state: State, name: str, *arguments: Any) -> tuple[Any, ...]:
        """Return totals over all rows in a state, by the name of the shard's method."""
        ask = partial(worker.asked, state, name, arguments)
        graph, keys = self._tasks([ask] * len(self.sample.blocks), name.replace("_", "-"))
        found: tuple[Any, ...] = self.fleet.merged(graph, keys, worker.added)
        return found

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
        found = []
        for some in (parts[i : i + n] for i in range(0, len(parts), n)):
            leaf = partial(worker.asked, state, "statistics", (mean, wanted, some))
            graph, keys = self._tasks([leaf] * len(self.sample.blocks), "statistics")
            end = partial(worker.scored, score, some)
            found += self.fleet.merged(graph, keys, worker.added, end, [self.pool_key])
        return found

    def columns(self, atom: int, rows: Sequence[Numbers] | None = None) -> NDArray[Any]:
        """Return the columns of an atom, (columns, n), in X's units.

        Of all rows, or of those of these numbers in each block.
        """
        functions = [partial(worker.columns_of, atom, own) for own in self._numbers(rows)]
        return np.concatenate(self.fleet.each(*self._tasks(functions, "columns")), axis=1)

    def labels(
        self, rows: Sequence[Numbers] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the labels and the weights of all rows, or of some of each block."""
        functions = [partial(worker.labels_of, own) for own in self._numbers(rows)]
        found = self.fleet.each(*self._tasks(functions, "labels"))
        y, weight = (np.concatenate(own) for own in zip(*found, strict=True))
        return y.astype(np.intp), weight.astype(np.float64)

    def _numbers(self, rows: Sequence[Numbers] | None) -> Sequence[Numbers]:
        return [None] * len(self.sample.blocks) if rows is None else rows
