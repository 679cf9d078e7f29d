"""Training rows on a cluster: checked, in blocks, and all that a fit asks of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...dataset import Sample, held_out_rows
from ...inputs import on_host
from ...io.fingerprint import digest
from ...pools.base import Pool
from .. import Backend
from .block_preparer import Recipe, Survey
from .blocks import Blocks
from .executor import Fleet, Graph, Key
from .given_rows import by_block
from .rows import SpreadRows, spread_rows
from .table import SpreadTable
from .validation_set import SpreadHeldOut

if TYPE_CHECKING:
    from ...rows import Rows


@dataclass(frozen=True)
class SpreadSample:
    """Rows in blocks on the workers; in a fit it takes the part of ``Sample``.

    Where the rows take a small part of the workers' memory they are made once and held there;
    else every pass over them makes them anew.
    """

    fleet: Fleet
    blocks: Blocks
    surveys: tuple[Survey, ...]
    recipe: Recipe
    own: Recipe  # with the rows' own weights, without those of their classes
    device: Any
    numbers: tuple[NDArray[np.intp] | None, ...]  # of each block's rows, None for all
    held: tuple[Key, ...] | None = None  # ``Sample`` of each block

    @property
    def weighted(self) -> SpreadSample:
        """The rows of positive weight: there are no others."""
        return self

    @property
    def weight_unit(self) -> float:
        """What a weight of 1 stands for."""
        return self.recipe.most * self.recipe.top

    @property
    def X(self) -> Blocks:
        """The rows as they were given."""
        return self.blocks

    @property
    def n_columns(self) -> int:
        """Number of X's columns."""
        return int(self.recipe.checked.n_features_in_)

    @property
    def kind(self) -> str:
        """Of the rows: "dense", "sparse" or "tensors"."""
        return next(survey.kind for survey in self.surveys if survey.n_rows)

    @property
    def n_bytes(self) -> int:
        """About what the rows take."""
        item = self.recipe.dtype.itemsize
        return sum(survey.n_bytes * item // survey.dtype.itemsize for survey in self.surveys)

    @cached_property
    def lengths(self) -> list[int]:
        """Rows of positive weight of each block."""
        lowest = min(survey.lowest for survey in self.surveys)
        if self.recipe.of_class(lowest).min() >= self.recipe.limit:
            return [
                survey.n_rows if own is None else own.size
                for survey, own in zip(self.surveys, self.numbers, strict=True)
            ]
        return self._each(_n_rows, "rows")

    @property
    def n_rows(self) -> int:
        """Rows of positive weight."""
        return sum(self.lengths)

    @cached_property
    def total_weight(self) -> float:
        """The sum of all weights."""
        graph, keys = self.for_each(_total_weight, "weights")
        return float(self.fleet.merged(graph, keys, operator.add))

    def samples(self) -> tuple[Graph, Sequence[Key]]:
        """Return tasks that make the ``Sample`` of every block, none if held, and their keys."""
        if self.held is not None:
            return {}, self.held
        makes = [partial(self.recipe, own) for own in self.numbers]
        tasks, keys = self.fleet.tasks("rows", makes, self.blocks.keys)
        return self.blocks.graph | tasks, keys

    def tasks(self, functions: Sequence[Any], what: str) -> tuple[Graph, list[Key]]:
        """Return tasks of a function of every block's ``Sample``, and their keys."""
        graph, samples = self.samples()
        tasks, keys = self.fleet.tasks(what, functions, [(key,) for key in samples])
        return graph | tasks, keys

    def for_each(self, function: Any, what: str) -> tuple[Graph, list[Key]]:
        """Return tasks of one function of every block's ``Sample``, and their keys."""
        return self.tasks([function] * len(self.blocks), what)

    def _each(self, function: Any, what: str) -> list[Any]:
        """Return ``function(sample)`` of every block."""
        return self.fleet.each(*self.for_each(function, what))

    def hold(self) -> SpreadSample:
        """Return the sample with its rows held by the workers, where they take little of them."""
        if not self.fleet.has_room(self.n_bytes):
            return self
        graph, keys = self.samples()
        workers = self.fleet.shared_out([own[0] for own in self.blocks.keys])
        for worker in dict.fromkeys(workers):
            own = [key for key, other in zip(keys, workers, strict=True) if other == worker]
            self.fleet.held(_needed(graph, own), own, worker)
        self.fleet.let_loose(graph)
        return replace(self, held=tuple(keys))

    def release(self) -> None:
        """Have the workers forget what they hold."""
        self.fleet.release()

    def split(self, fraction: float, random_state: Any) -> tuple[SpreadSample, SpreadSample]:
        """Return the rows to train on and that fraction of every class, held out.

        The same rows as of a local fit: their labels, a byte or two a row, come here for it.
        """
        asks = [self.recipe.labels] * len(self.blocks)
        tasks, keys = self.fleet.tasks("labels", asks, [own[1:] for own in self.blocks.keys])
        found = self.fleet.each(self.blocks.graph | tasks, keys)
        y = np.concatenate([labels for _, labels in found])

        def taken(rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
            own = by_block(rows, [len(labels) for _, labels in found])
            return tuple(numbers[some] for (numbers, _), some in zip(found, own, strict=True))

        train, held_out = held_out_rows(y, fraction, random_state)
        return (
            replace(self, numbers=taken(train)),
            replace(self, numbers=taken(held_out), recipe=self.own),
        )

    def fitted(self, pool: Pool, backend: Backend, centred: bool) -> SpreadSample:
        """Fit the pool to the rows; return them, held where they can be."""
        found = self.hold()
        try:
            pool.fit(SpreadTable(found), centred=centred)
        except BaseException:
            self.fleet.release()
            raise
        return found

    def rows(
        self, pool: Pool, n_classes: int, intercept: bool, backend: Backend, n: int
    ) -> SpreadRows:
        """Return the rows for a run of up to n atoms of the fitted pool."""
        return spread_rows(self, pool, n_classes, intercept, n)

    def held_out(self, rows: Rows) -> SpreadHeldOut:
        """Return these rows as those that a run on others is scored on."""
        return SpreadHeldOut(self, rows)

    def digests(self, n_classes: int) -> dict[str, str]:
        """Return what tells whether other rows are the same, in the same blocks."""
        X, y, weight = zip(*self._each(_digests, "digest"), strict=True)
        weights = digest((weight, self.weight_unit))
        return {"X": digest(X), "y": digest((y, n_classes)), "sample_weight": weights}


def _n_rows(sample: Sample) -> int:
    return len(sample.y)


def _total_weight(sample: Sample) -> float:
    return float(sample.weight.sum())


def _digests(sample: Sample) -> tuple[str, str, str]:
    return digest(on_host(sample.X)), digest(sample.y), digest(sample.weight)


def _needed(graph: Graph, keys: Sequence[Key]) -> Graph:
    """Return the tasks of a graph that some of them need."""
    found: Graph = {}
    left = list(keys)
    while left:
        key = left.pop()
        if key in graph and key not in found:
            found[key] = graph[key]
            left += getattr(graph[key], "dependencies", ())
    return found
