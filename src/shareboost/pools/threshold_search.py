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

import numpy as np
from numpy.typing import NDArray

from .column_blocks import (
    Gaps,
    Sketch,
    joined_measures,
    joined_sketches,
    measures,
    n_cells,
    sketches,
    stored_counts,
)
from .table import Table, Vector, grouped
from .thresholds import Cells, Counted, quantiles

# Values of a column that a sketch holds; up to as many are known after one pass.
SKETCHED = 1 << 15
# Distinct values of a column up to which there may be a threshold between any two.
MOST_DISTINCT = 1 << 20
# Values of a sketch, counted from where it has a cut, that are measured: the nearer the denser.
NEAR = np.array([-16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16])
# How many times smaller than answers questions are kept: one goes to every block.
SMALLER = 32


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
        for gaps, found in _finer(table, columns, searched, max_bins):
            columns[gaps.column] = _filled(columns[gaps.column], gaps, found)
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


def _distinct_bounds(table: Table) -> NDArray[np.intp]:
    """Return how many distinct values each column has at most."""
    if table.sparse:
        stored = table.ask(stored_counts, np.add, "entries of columns")
        return np.minimum(stored + 1, table.n_rows)
    few = 256**table.dtype.itemsize if table.dtype.itemsize <= 2 else table.n_rows
    return np.full(table.n_columns, min(few, table.n_rows))


def _sketched(
    table: Table, gaps: list[Gaps], limit: int, bounds: NDArray[np.intp]
) -> Iterator[tuple[Gaps, Sketch]]:
    """Yield a sketch of every column's gaps."""

    def size(own: Gaps) -> int:
        return 16 * max(min(limit, int(bounds[own.column])), SMALLER * own.low.size)

    for some in grouped(gaps, size):
        question = partial(sketches, some, limit)
        found = table.ask(question, joined_sketches, "values of columns")
        yield from zip(some, found, strict=True)


def _measured(table: Table, asked: list[tuple[Gaps, Vector]]) -> Iterator[tuple[Gaps, Cells]]:
    """Yield the cells that points make of every column's gaps."""

    def size(own: tuple[Gaps, Vector]) -> int:
        gaps, points = own
        return max(32 * n_cells(gaps, points), SMALLER * (8 * points.size + 16 * gaps.low.size))

    for some in grouped(asked, size):
        gaps, points = (list(own) for own in zip(*some, strict=True))
        found = table.ask(partial(measures, gaps, points), joined_measures, "weights of values")
        edges = np.cumsum([0, *(n_cells(*own) for own in some)])
        for own, (start, stop) in zip(gaps, pairwise(edges), strict=True):
            cells = Cells(*(part[start:stop] for part in found))
            yield own, _chosen(cells, cells.least <= cells.greatest)


def _first_cells(sketch: Sketch) -> Cells:
    """Return the cells of a column: its values, or one gap; and that of NaN."""
    if sketch.complete:
        cells = Counted(sketch.values, sketch.mass).cells
    else:
        total = np.array([sketch.mass.sum()])
        cells = Cells(np.array([-np.inf]), np.array([np.inf]), total, total)
    if sketch.missing > 0.0:
        missing = Counted(np.array([np.nan]), np.array([sketch.missing])).cells
        cells = _joined(cells, missing)
    return cells


def _points(cells: Cells, gaps: Gaps, sketch: Sketch, max_bins: int) -> Vector:
    """Return values in the gaps of a column that are to be measured, rising.

    They are those of the sketch near where it would have a cut, the heavy ones, others not half
    of what a value may count for apart, and at least one of each gap.
    """
    inside = np.searchsorted(cells.least, sketch.values, side="right") - 1
    sketched = np.bincount(inside, sketch.mass, minlength=cells.mass.size)
    mass = sketch.mass * (cells.mass[inside] / sketched[inside])
    tried = _joined(_chosen(cells, sketched == 0.0), Counted(sketch.values, mass).cells)
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
    own = _chosen(cells, wanted & ~cells.single)
    return Gaps(column, own.least, own.greatest)


def _filled(cells: Cells, gaps: Gaps, found: Cells) -> Cells:
    """Return the cells of a column, those found in place of gaps."""
    return _joined(_chosen(cells, ~np.isin(cells.least, gaps.low)), found)


def _joined(one: Cells, other: Cells) -> Cells:
    """Return all cells, rising."""
    both = Cells(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))
    return _chosen(both, np.argsort(both.least, kind="stable"))


def _chosen(cells: Cells, places: NDArray[np.bool_] | NDArray[np.intp]) -> Cells:
    return Cells(*(part[places] for part in cells))
