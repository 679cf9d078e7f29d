"""What a block of rows answers about the values of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .table import Vector
from .thresholds import Cells, Counted, count_columns, is_bytes, quantile_places


class Gaps(NamedTuple):
    """Ranges of values of a column, rising and apart, about which more is asked."""

    column: int
    low: Vector
    high: Vector  # the last of each range

    def inside(self, values: Vector) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
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


def sketches(gaps: list[Gaps], limit: int, X: Any, weight: Vector) -> list[Sketch]:
    """Return a sketch of each column for a block."""
    found = []
    for own, (values, mass) in zip(gaps, _counts(gaps, X, weight), strict=True):
        missing = float(mass[-1]) if np.isnan(values[-1:]).any() else 0.0
        _, inside = own.inside(values)
        found.append(_sketch(values[inside], mass[inside], missing, True, limit))
    return found


def joined_sketches(one: list[Sketch], other: list[Sketch]) -> list[Sketch]:
    """Return the sketches of two blocks together."""
    return [_joined(a, b) for a, b in zip(one, other, strict=True)]


def _joined(one: Sketch, other: Sketch) -> Sketch:
    values = np.concatenate([one.values, other.values])
    order = np.argsort(values, kind="stable")  # fast: two rising runs
    distinct = _distinct(values[order], np.concatenate([one.mass, other.mass])[order])
    complete = one.complete and other.complete
    return _sketch(*distinct, one.missing + other.missing, complete, one.limit)


def _sketch(values: Vector, mass: Vector, missing: float, complete: bool, limit: int) -> Sketch:
    """Return a sketch of rising values, of which some are left out where they are too many."""
    if values.size > limit:
        complete = False
        single = np.ones(values.size, dtype=bool)
        inner, _ = quantile_places(mass, limit, single)
        kept = np.union1d(inner, [0, values.size - 1])
        # What is left out goes to the nearest, so that ranks stay right on the whole.
        starts = np.concatenate([[0], (kept[1:] + kept[:-1]) // 2 + 1])
        values, mass = values[kept], np.add.reduceat(mass, starts)
    return Sketch(values, mass, missing, complete, limit)


def measures(gaps: list[Gaps], points: list[Vector], X: Any, weight: Vector) -> Cells:
    """Return the cells that some points make of a block's columns, one column after the other.

    A gap of k points has 2 k + 1 cells: theirs, and those between them. Where there is no
    value in one, its least is above its greatest.
    """
    sizes = [n_cells(*both) for both in zip(gaps, points, strict=True)]
    starts = np.cumsum([0, *sizes])
    none = np.full(starts[-1], np.inf)
    cells = Cells(none, -none, np.zeros(none.size), np.zeros(none.size))
    for own, between, start, (values, mass) in zip(
        gaps, points, starts[:-1], _counts(gaps, X, weight), strict=True
    ):
        gap, inside = own.inside(values)
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


def n_cells(gaps: Gaps, points: Vector) -> int:
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


def _counts(gaps: list[Gaps], X: Any, weight: Vector) -> Iterator[Counted]:
    """Yield the distinct values of each of the columns asked about."""
    if len(gaps) < X.shape[1]:
        X = X[:, [own.column for own in gaps]]
    if sp.issparse(X) or is_bytes(X.dtype):
        yield from count_columns(X, weight)
        return
    even = bool((weight == weight[:1]).all())
    for j in range(X.shape[1]):
        values = X[:, j].astype(np.float64)
        if even:  # a sort is several times faster than that of places
            values.sort()
            yield Counted(*_distinct(values, weight))
        else:
            order = np.argsort(values)
            yield Counted(*_distinct(values[order], weight[order]))


def _distinct(values: Vector, mass: Vector) -> tuple[Vector, Vector]:
    """Return the distinct ones of rising values, and the mass of each."""
    if not values.size:
        return values, mass
    # Two NaN are one value, though they are not equal.
    new = (values[1:] != values[:-1]) & ~np.isnan(values[:-1])
    first = np.concatenate([[0], np.flatnonzero(new) + 1])
    return values[first], np.add.reduceat(mass, first)


def stored_counts(X: Any, weight: Vector) -> NDArray[np.intp]:
    """Return how many entries a sparse block stores of each column."""
    return np.bincount(X.indices, minlength=X.shape[1])
