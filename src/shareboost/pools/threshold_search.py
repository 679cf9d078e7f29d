"""The cells of columns whose rows lie in many blocks, fine enough to cut them exactly.

The thresholds of a column depend on few of its values: those at its quantiles, and heavy ones.
A column begins as one gap. A pass over the rows sketches its values, some of them evenly by
weight where they are many; the next takes the weights at and between those of them that lie
near a cut. Then only the gaps are open in which a cut falls, or which may hide a value of more
weight than one may count for, and those are searched in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .table import Table, Vector, grouped
from .thresholds import (
    Cells,
    Counted,
    Flags,
    Places,
    count_columns,
    distinct,
    quantile_places,
    quantiles,
)

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
    high: Vector  # the last of each range

    def inside(self, values: Vector) -> tuple[Places, Flags]:
        """Return the range that each value would lie in, and whether it does; NaN does not."""
        gap = np.searchsorted(self.low, values, side="right") - 1
        return gap, (gap >= 0) & (values <= self.high[gap])


class Sketch(NamedTuple):
    """Distinct values in gaps of a column: all of them, or some, evenly by weight."""

    values: Vector
    mass: Vector  # of each value, and of those near it that are left out
    missing: float  # the weight of NaN
    complete: bool  # whether none is left out
    limit: int  # values, about, beyond which some are left out

    def thinned(self) -> Sketch:
        """Return the sketch with some values left out where they are too many."""
        if self.values.size <= self.limit:
            return self
        inner, _ = quantile_places(self.mass, self.limit, np.ones(self.values.size, dtype=bool))
        kept = np.union1d(inner, [0, self.values.size - 1])
        # What is left out goes to the nearest, so that ranks stay right on the whole.
        starts = np.concatenate([[0], (kept[1:] + kept[:-1]) // 2 + 1])
        mass = np.add.reduceat(self.mass, starts)
        return self._replace(values=self.values[kept], mass=mass, complete=False)


# What a block answers.


def sketches(gaps: list[Gaps], limit: int, X: Any, weight: Vector) -> list[Sketch]:
    """Return a sketch of each column for a block."""
    answer = []
    for column, (values, mass) in zip(gaps, _counts(gaps, X, weight), strict=True):
        missing = float(mass[-1]) if np.isnan(values[-1:]).any() else 0.0
        _, inside = column.inside(values)
        answer.append(Sketch(values[inside], mass[inside], missing, True, limit).thinned())
    return answer


def joined_sketches(one: list[Sketch], other: list[Sketch]) -> list[Sketch]:
    """Return the sketches of two blocks together."""
    return [_joined(a, b) for a, b in zip(one, other, strict=True)]


def _joined(one: Sketch, other: Sketch) -> Sketch:
    values = np.concatenate([one.values, other.values])
    order = np.argsort(values, kind="stable")  # fast: two rising runs
    both = distinct(values[order], np.concatenate([one.mass, other.mass])[order])
    complete = one.complete and other.complete
    return Sketch(*both, one.missing + other.missing, complete, one.limit).thinned()


def measures(gaps: list[Gaps], points: list[Vector], X: Any, weight: Vector) -> Cells:
    """Return the cells that some points make of a block's columns, one column after the other.

    A gap of k points has 2 k + 1 cells: theirs, and those between them. Where there is no
    value in one, its least is above its greatest.
    """
    starts = np.cumsum([0, *map(_n_cells, gaps, points)])
    none = np.full(starts[-1], np.inf)
    cells = Cells(none, -none, np.zeros(none.size), np.zeros(none.size))
    counts = _counts(gaps, X, weight)
    for column, between, start, (values, mass) in zip(gaps, points, starts, counts, strict=False):
        gap, inside = column.inside(values)
        values, mass, gap = values[inside], mass[inside], gap[inside]
        if values.size:
            place = np.searchsorted(between, values)
            met = between[np.minimum(place, between.size - 1)] == values
            cell = start + 2 * place + met + gap
            first = np.flatnonzero(np.diff(cell, prepend=-1))
            held = cell[first]
            cells.least[held] = values[first]
            cells.greatest[held] = values[np.append(first[1:], values.size) - 1]
            cells.mass[held] = np.add.reduceat(mass, first)
            cells.most[held] = np.maximum.reduceat(mass, first)
    return cells


def _n_cells(gaps: Gaps, points: Vector) -> int:
    """Return how many cells points make of the gaps of a column."""
    return 2 * points.size + gaps.low.size


def joined_measures(one: Cells, other: Cells) -> Cells:
    """Return the same cells of two blocks together."""
    return Cells(
        np.minimum(one.least, other.least),
        np.maximum(one.greatest, other.greatest),
        one.mass + other.mass,
        one.most + other.most,
    )


def stored_counts(X: Any, weight: Vector) -> Places:
    """Return how many entries a sparse block stores of each column."""
    return np.bincount(X.indices, minlength=X.shape[1])


def _counts(gaps: list[Gaps], X: Any, weight: Vector) -> Iterator[Counted]:
    """Yield the distinct values of each of the columns asked about."""
    asked = X if len(gaps) == X.shape[1] else X[:, [own.column for own in gaps]]
    return count_columns(asked, weight)


# What is asked, and made of the answers.


def cells_of(table: Table, max_bins: int | None) -> list[Cells]:
    """Return cells of each column that ``thresholds`` cuts as it would all distinct values."""
    whole = [Gaps(j, np.array([-np.inf]), np.array([np.inf])) for j in range(table.n_columns)]
    limit = MOST_DISTINCT if max_bins is None else max(SKETCHED, 2 * max_bins)
    bounds = _distinct_bounds(table)
    columns, searched = [], []
    for gaps, sketch in _sketched(table, whole, limit, bounds):
        columns.append(_first_cells(sketch))
        if not sketch.complete:
            searched.append((gaps, sketch))
            if max_bins is None:
                raise ValueError(
                    "max_bins=None is not valid for Stumps here: on rows in blocks it takes "
                    f"columns of at most {limit} distinct values, and column {gaps.column} of X "
                    "has more. Give max_bins a number, such as 256."
                )
    while searched and max_bins is not None:
        for gaps, cells in _finer(table, columns, searched, max_bins):
            known = columns[gaps.column]
            columns[gaps.column] = known.at(~np.isin(known.least, gaps.low)).joined(cells)
        left = [_open(gaps.column, columns[gaps.column], max_bins) for gaps, _ in searched]
        left = [gaps for gaps in left if gaps.low.size]
        searched = list(_sketched(table, left, limit, bounds))
    return columns


def _finer(
    table: Table, columns: list[Cells], searched: list[tuple[Gaps, Sketch]], max_bins: int
) -> Iterator[tuple[Gaps, Cells]]:
    """Yield the cells in the gaps of each column: all their values, or some and gaps between."""
    asked = []
    for gaps, sketch in searched:
        if sketch.complete:
            yield gaps, Counted(sketch.values, sketch.mass).cells
        else:
            asked.append((gaps, _points(columns[gaps.column], gaps, sketch, max_bins)))
    yield from _measured(table, asked)


def _distinct_bounds(table: Table) -> Places:
    """Return how many distinct values each column has at most."""
    if table.sparse:
        stored = table.ask(stored_counts, np.add, "entries of columns")
        return np.minimum(stored + 1, table.n_rows)
    few = 256**table.dtype.itemsize if table.dtype.itemsize <= 2 else table.n_rows
    return np.full(table.n_columns, min(few, table.n_rows))


def _sketched(
    table: Table, gaps: list[Gaps], limit: int, bounds: Places
) -> Iterator[tuple[Gaps, Sketch]]:
    """Yield a sketch of every column's gaps."""

    def size(own: Gaps) -> int:
        return 16 * max(min(limit, int(bounds[own.column])), SMALLER * own.low.size)

    for some in grouped(gaps, size):
        answer = table.ask(partial(sketches, some, limit), joined_sketches, "values of columns")
        yield from zip(some, answer, strict=True)


def _measured(table: Table, asked: list[tuple[Gaps, Vector]]) -> Iterator[tuple[Gaps, Cells]]:
    """Yield the cells that points make of every column's gaps."""

    def size(own: tuple[Gaps, Vector]) -> int:
        gaps, points = own
        return max(32 * _n_cells(gaps, points), SMALLER * (8 * points.size + 16 * gaps.low.size))

    for some in grouped(asked, size):
        gaps, points = (list(own) for own in zip(*some, strict=True))
        answer = table.ask(partial(measures, gaps, points), joined_measures, "weights of values")
        edges = np.cumsum([0, *map(_n_cells, gaps, points)])
        for own, (start, stop) in zip(gaps, pairwise(edges), strict=True):
            cells = answer.at(slice(start, stop))
            yield own, cells.at(cells.least <= cells.greatest)


def _first_cells(sketch: Sketch) -> Cells:
    """Return the cells of a column: its values, or one gap; and that of NaN."""
    if sketch.complete:
        cells = Counted(sketch.values, sketch.mass).cells
    else:
        total = np.array([sketch.mass.sum()])
        cells = Cells(np.array([-np.inf]), np.array([np.inf]), total, total)
    if sketch.missing > 0.0:
        cells = cells.joined(Counted(np.array([np.nan]), np.array([sketch.missing])).cells)
    return cells


def _points(cells: Cells, gaps: Gaps, sketch: Sketch, max_bins: int) -> Vector:
    """Return values in the gaps of a column that are to be measured, rising.

    They are those of the sketch near where it would have a cut, the heavy ones, others not half
    of what a value may count for apart, and at least one of each gap.
    """
    inside = np.searchsorted(cells.least, sketch.values, side="right") - 1
    sketched = np.bincount(inside, sketch.mass, minlength=cells.mass.size)
    mass = sketch.mass * (cells.mass[inside] / sketched[inside])
    tried = cells.at(sketched == 0.0).joined(Counted(sketch.values, mass).cells)
    places, most = quantiles(tried, max_bins)
    chosen = tried.mass > most / 2
    chosen |= np.diff(np.floor(np.cumsum(tried.mass) / (most / 2)), prepend=0.0) > 0
    chosen[np.clip(places[:, None] + NEAR, 0, tried.mass.size - 1)] = True
    kept = tried.least[chosen & np.isin(tried.least, sketch.values)]
    one_each = sketch.values[np.unique(inside, return_index=True)[1]]
    unseen = gaps.low[~np.isin(gaps.low, cells.least[inside])]
    return np.unique(np.concatenate([kept, one_each, unseen]))


def _open(column: int, cells: Cells, max_bins: int) -> Gaps:
    """Return the gaps of a column in which a cut falls, or which may hide a heavy value."""
    places, most = quantiles(cells, max_bins)
    wanted = cells.most > most
    wanted[places] = True
    gaps = cells.at(wanted & ~cells.single)
    return Gaps(column, gaps.least, gaps.greatest)
