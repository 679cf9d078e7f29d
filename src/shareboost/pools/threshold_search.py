"""The cells of columns whose rows lie in many blocks, fine enough to cut them exactly.

The thresholds of a column depend on few of its values: those at its quantiles, and heavy ones.
A column begins as one gap. A pass over the rows sketches its values, some of them evenly by
weight where they are many; the next takes the weights at and between those of them that lie
near a cut. Then only the gaps are open in which a cut falls, or which may hide a value of more
weight than one may count for, and those are searched in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .table import Table, Vector
from .thresholds import Cells, Counted, Flags, Places, count_columns, distinct, quantiles

# Values of a column that a sketch holds; up to as many are known after one pass.
SKETCHED = 1 << 15
# Distinct values of a column up to which there may be a threshold between any two.
MOST_DISTINCT = 1 << 20
# Values of a sketch, counted from where it has a cut, that are measured: the nearer the denser.
NEAR = np.array([-16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16])
# How many times smaller than answers questions are kept: one goes to every block.
SMALLER = 32


class Gaps(NamedTuple):
    """Ranges of values of a column, rising and apart, about which more is asked."""

    column: int
    low: Vector
    high: Vector  # the last of each range; NaN lies above all numbers

    def inside(self, values: Vector) -> Flags:
        """Return which of rising values lie in a range."""
        changes = np.zeros(values.size + 1, dtype=np.intp)
        np.add.at(changes, np.searchsorted(values, self.low), 1)
        np.add.at(changes, np.searchsorted(values, self.high, side="right"), -1)
        return np.cumsum(changes[:-1]) > 0


class Points(NamedTuple):
    """Values of a column, rising, at and between which its rows are weighed."""

    column: int
    values: Vector


class Sketch(NamedTuple):
    """Distinct values in gaps of a column: all of them, or some, evenly by weight."""

    values: Vector
    mass: Vector  # of each value, and of those near it that are left out
    complete: bool  # whether none is left out
    limit: int  # values, about, beyond which some are left out

    def thinned(self) -> Sketch:
        """Return the sketch with some values left out where they are too many."""
        if self.values.size <= self.limit:
            return self
        cells = Cells.of(self.values, self.mass)
        inner, _ = quantiles(cells, self.limit)
        # The last number too, so that the mass of NaN is its own.
        kept = np.union1d(inner, [0, cells.numbers - 1, self.values.size - 1])
        # What is left out goes to the nearest, so that ranks stay right on the whole.
        starts = np.concatenate([[0], (kept[1:] + kept[:-1]) // 2 + 1])
        mass = np.add.reduceat(self.mass, starts)
        return self._replace(values=self.values[kept], mass=mass, complete=False)


# What a block answers.


def sketches(limit: int, asked: list[Gaps], X: Any, weight: Vector) -> list[Sketch]:
    """Return a sketch of each column for a block."""
    answer = []
    for gaps, (values, mass) in zip(asked, _counts(asked, X, weight), strict=True):
        inside = gaps.inside(values)
        answer.append(Sketch(values[inside], mass[inside], True, limit).thinned())
    return answer


def joined_sketch(one: Sketch, other: Sketch) -> Sketch:
    """Return the sketch of two blocks together."""
    values = np.concatenate([one.values, other.values])
    order = np.argsort(values, kind="stable")  # fast: two rising runs
    both = distinct(values[order], np.concatenate([one.mass, other.mass])[order])
    return Sketch(*both, one.complete and other.complete, one.limit).thinned()


def measures(asked: list[Points], X: Any, weight: Vector) -> list[Cells]:
    """Return the cells of a block's columns at k points and between them, 2 k + 1 each.

    Where there is no value in one, its least is above its greatest.
    """
    answer = []
    for (_, points), (values, mass) in zip(asked, _counts(asked, X, weight), strict=True):
        none = np.full(2 * points.size + 1, np.inf)
        cells = Cells(none, -none, np.zeros(none.size), np.zeros(none.size))
        ends = [np.searchsorted(values, points, side=side) for side in ("left", "right")]
        edges = np.concatenate([[0], np.stack(ends, axis=1).ravel(), [values.size]])
        held = np.flatnonzero(np.diff(edges))
        first = edges[held]
        cells.least[held], cells.greatest[held] = values[first], values[edges[held + 1] - 1]
        cells.mass[held] = np.add.reduceat(mass, first)
        cells.most[held] = np.maximum.reduceat(mass, first)
        answer.append(cells)
    return answer


def joined_cells(one: Cells, other: Cells) -> Cells:
    """Return the same cells of two blocks together."""
    least, greatest = np.minimum(one.least, other.least), np.maximum(one.greatest, other.greatest)
    return Cells(least, greatest, one.mass + other.mass, one.most + other.most)


def stored_counts(X: Any, weight: Vector) -> Places:
    """Return how many entries a sparse block stores of each column."""
    return np.bincount(X.indices, minlength=X.shape[1])


def _counts(asked: Sequence[Gaps | Points], X: Any, weight: Vector) -> Iterator[Counted]:
    """Yield the distinct values of each of the columns asked about."""
    every = len(asked) == X.shape[1]
    return count_columns(X if every else X[:, [one.column for one in asked]], weight)


# What is asked, and made of the answers.


def cells_of(table: Table, max_bins: int | None) -> list[Cells]:
    """Return cells of each column that ``thresholds`` cuts as it would all distinct values."""
    limit = MOST_DISTINCT if max_bins is None else max(SKETCHED, 2 * max_bins)
    bounds = _distinct_bounds(table)

    def sketched(asked: list[Gaps]) -> Iterator[tuple[Gaps, Sketch]]:
        def size(gaps: Gaps) -> int:
            return 16 * max(min(limit, int(bounds[gaps.column])), SMALLER * gaps.low.size)

        question = partial(sketches, limit)
        return table.ask_each(asked, size, question, joined_sketch, "values of columns")

    def size_of_cells(points: Points) -> int:
        return max(64, SMALLER * 8) * points.values.size

    columns, searched = [], []
    whole = np.array([-np.inf]), np.array([np.nan])
    for gaps, sketch in sketched([Gaps(j, *whole) for j in range(table.n_columns)]):
        cells = Cells.of(sketch.values, sketch.mass)
        if not sketch.complete:
            if max_bins is None:
                raise ValueError(
                    "max_bins=None is not valid for Stumps here: on rows in blocks it takes "
                    f"columns of at most {limit} distinct values, and column {gaps.column} of X "
                    "has more. Give max_bins a number, such as 256."
                )
            numbers = np.array([cells.mass[: cells.numbers].sum()])
            gap = Cells(np.array([-np.inf]), np.array([np.inf]), numbers, numbers)
            cells = gap.joined(cells.at(slice(cells.numbers, None)))
            searched.append((Gaps(gaps.column, gap.least, gap.greatest), sketch))
        columns.append(cells)
    while searched and max_bins is not None:
        gaps_of = {gaps.column: gaps for gaps, _ in searched}
        known_values = (
            (gaps.column, Cells.of(sketch.values, sketch.mass))
            for gaps, sketch in searched
            if sketch.complete
        )
        asked = [
            Points(gaps.column, _points(columns[gaps.column], gaps, sketch, max_bins))
            for gaps, sketch in searched
            if not sketch.complete
        ]
        answers = table.ask_each(asked, size_of_cells, measures, joined_cells, "weights of values")
        measured = ((points.column, cells) for points, cells in answers)
        for column, cells in chain(known_values, measured):
            gaps, known = gaps_of[column], columns[column]
            held = cells.at(cells.least <= cells.greatest)
            inside = held.at(gaps.inside(held.least))
            columns[column] = known.at(~np.isin(known.least, gaps.low)).joined(inside)
        left = [_open(column, columns[column], max_bins) for column in gaps_of]
        searched = list(sketched([gaps for gaps in left if gaps.low.size]))
    return columns


def _distinct_bounds(table: Table) -> Places:
    """Return how many distinct values each column has at most."""
    if table.sparse:
        stored = table.ask(stored_counts, np.add, "entries of columns")
        return np.minimum(stored + 1, table.n_rows)
    few = 256**table.dtype.itemsize if table.dtype.itemsize <= 2 else table.n_rows
    return np.full(table.n_columns, min(few, table.n_rows))


def _points(cells: Cells, gaps: Gaps, sketch: Sketch, max_bins: int) -> Vector:
    """Return values of a column that are to be measured, rising.

    They are the ends of its gaps, and in these those of the sketch near where it would have a
    cut, the heavy ones, and others not half of what a value may count for apart.
    """
    inside = np.searchsorted(cells.least, sketch.values, side="right") - 1
    sketched = np.bincount(inside, sketch.mass, minlength=cells.mass.size)
    mass = sketch.mass * (cells.mass[inside] / sketched[inside])
    tried = cells.at(sketched == 0.0).joined(Cells.of(sketch.values, mass))
    places, most = quantiles(tried, max_bins)
    chosen = tried.mass > most / 2
    chosen |= np.diff(np.floor(np.cumsum(tried.mass) / (most / 2)), prepend=0.0) > 0
    chosen[np.clip(places[:, None] + NEAR, 0, tried.mass.size - 1)] = True
    kept = tried.least[chosen & np.isin(tried.least, sketch.values)]
    return np.unique(np.concatenate([kept, gaps.low, gaps.high]))


def _open(column: int, cells: Cells, max_bins: int) -> Gaps:
    """Return the gaps of a column in which a cut falls, or which may hide a heavy value."""
    places, most = quantiles(cells, max_bins)
    wanted = cells.most > most
    wanted[places] = True
    gaps = cells.at(wanted & ~cells.single)
    return Gaps(column, gaps.least, gaps.greatest)
