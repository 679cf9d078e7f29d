"""Where a column may be cut: between its values, all of them or some hundreds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Places = NDArray[np.intp]
Flags = NDArray[np.bool_]
# The distinct values of a column, rising, NaN as the last, and the weight of each.
Counted = tuple[Vector, Vector]

# Sparse columns of up to so many entries are cut together: one by one, a column takes 60
# microseconds, however few its entries are.
FEW_ENTRIES = 256
# Entries of a sparse matrix that are held a second time, about.
CHUNK_ENTRIES = 1 << 18


class Cells(NamedTuple):
    """A column in cells, rising: of one value each, or of all values in a gap between others.

    NaN is a cell, the last.
    """

    least: Vector
    greatest: Vector
    mass: Vector
    most: Vector  # no value of the cell weighs more

    @classmethod
    def of(cls, values: Vector, mass: Vector) -> Cells:
        """Return a cell for each value."""
        return cls(values, values, mass, mass)

    @property
    def single(self) -> Flags:
        """Which cells are of one value."""
        return (self.least == self.greatest) | np.isnan(self.least)

    @property
    def numbers(self) -> int:
        """Number of cells but that of NaN."""
        return self.least.size - int(np.isnan(self.least[-1:]).sum())

    def at(self, places: slice | Flags | Places) -> Cells:
        """Return some of the cells."""
        return Cells(*(part[places] for part in self))

    def joined(self, other: Cells) -> Cells:
        """Return both cells, rising."""
        both = Cells(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))
        return both.at(np.argsort(both.least, kind="stable"))


class Cuts(NamedTuple):
    """Where some columns are cut, one column after the other."""

    sizes: Places  # thresholds of each column
    missing: Flags  # whether a column has NaN
    thresholds: Vector
    below: Vector  # the share of the weight up to each threshold
    above: Vector  # and beyond it


def distinct(values: Vector, mass: Vector) -> Counted:
    """Return the distinct ones of rising values, and the mass of each."""
    first = np.flatnonzero(_is_new(values))
    return values[first], np.add.reduceat(mass, first)


def _is_new(values: Vector) -> Flags:
    """Return which of rising values differ from the one before."""
    new = np.ones(values.size, dtype=bool)
    # Two NaN are one value, though they are not equal.
    new[1:] = (values[1:] != values[:-1]) & ~np.isnan(values[:-1])
    return new


def counted(values: NDArray[Any], weight: Vector) -> Counted:
    """Return the distinct values and the weight of each."""
    order = np.argsort(values)
    return distinct(values[order].astype(np.float64), weight[order])


def thresholds(column: Cells, max_bins: int | None) -> Vector:
    """Return cuts between the distinct values, at most ``max_bins - 1`` of them.

    A cut lies half way between two neighbouring values, or on the lower one where no
    number lies between them. NaN counts as a value above all others; the cut below it
    is the largest number, and always among them. Too many values are cut into bins of
    about equal weight, in which a value counts for at most one bin.
    """
    n, n_numbers = column.mass.size, column.numbers
    if max_bins is None or (n <= max_bins and column.single.all()):
        kept = np.arange(n - 1)
    else:
        places, _ = quantiles(column, max_bins)
        # NaN has a bin of its own.
        kept = np.append(places[places < n_numbers - 1], np.arange(n_numbers - 1, n - 1))
    return _between(column.greatest[kept], column.least[kept + 1])


def _between(lower: Vector, upper: Vector) -> Vector:
    """Return a cut between each value and the next larger one, which may be NaN."""
    middle = lower / 2.0 + upper / 2.0
    return np.where((lower <= middle) & (middle < upper), middle, lower)


def cut_column(column: Cells, max_bins: int | None) -> Cuts:
    """Return where ``thresholds`` cuts a column."""
    cuts = thresholds(column, max_bins)
    mass = np.bincount(np.searchsorted(cuts, column.least), column.mass, minlength=cuts.size + 1)
    return Cuts(
        np.array([cuts.size]),
        np.array([column.numbers < column.mass.size]),
        cuts,
        np.cumsum(mass)[:-1] / mass.sum(),
        # Summed from above: a tiny share is not the rounding of one less another.
        np.cumsum(mass[::-1])[-2::-1] / mass.sum(),
    )


def cut_sparse_columns(X: Any, weight: Vector, max_bins: int | None) -> Iterator[Cuts]:
    """Yield what ``cut_column`` returns for the columns of a sparse matrix, many at a time.

    Columns without a stored entry take no time.
    """
    total = weight.sum()
    for part in _column_chunks(X):
        n_stored = np.diff(part.indptr)
        few = (n_stored > 0) & (n_stored <= FEW_ENTRIES)
        column, values, mass = _count_together(part, weight, total, few)
        if max_bins is not None:
            few &= np.bincount(column, minlength=few.size) <= max_bins
        kept = few[column]
        column, values, mass = column[kept], values[kept], mass[kept]
        missing = np.zeros(few.size, dtype=bool)
        missing[column[np.isnan(values)]] = True
        cuts = [_cut_everywhere(column, values, mass)]
        for j in np.flatnonzero((n_stored > 0) & ~few).tolist():
            alone = cut_column(Cells.of(*_counted_stored(part, weight, total, j)), max_bins)
            missing[j] = alone.missing[0]
            cuts.append((np.full(alone.thresholds.size, j), *alone[2:]))
        column, *numbers = map(np.concatenate, zip(*cuts, strict=True))
        order = np.argsort(column, kind="stable")
        sizes = np.bincount(column, minlength=few.size)
        yield Cuts(sizes, missing, *(some[order] for some in numbers))


def _count_together(
    X: Any, weight: Vector, total: float, few: Flags
) -> tuple[Places, Vector, Vector]:
    """Return the distinct values of some sparse columns: the column, value and weight of each.

    They come column by column, rising, with NaN as a column's last. All zeros that are not stored
    count as one value. The columns have at least one stored entry each.
    """
    column = np.repeat(np.arange(few.size), np.diff(X.indptr))
    asked = few[column]
    column, values, mass = column[asked], X.data[asked], weight[X.indices[asked]]
    chosen = np.flatnonzero(few)
    zeros = total - np.add.reduceat(mass, np.searchsorted(column, chosen))
    held = np.diff(X.indptr)[chosen] < X.shape[0]
    column = np.concatenate([column, chosen[held]])
    values = np.concatenate([values.astype(np.float64), np.zeros(np.count_nonzero(held))])
    mass = np.concatenate([mass, zeros[held]])
    order = np.lexsort((values, column))
    column, values, mass = column[order], values[order], mass[order]
    new = _is_new(values)
    new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(new)
    return column[first], values[first], np.add.reduceat(mass, first)


def _cut_everywhere(
    column: Places, values: Vector, mass: Vector
) -> tuple[Places, Vector, Vector, Vector]:
    """Return the cuts between any two neighbouring values of each column.

    Of each cut they are the column, the threshold and the shares below and above.
    """
    from ..kernels.stumps import sums_from_both_ends

    edges = np.flatnonzero(np.diff(column, prepend=-1, append=-1))
    up_to, beyond = np.empty_like(mass), np.empty_like(mass)
    sums_from_both_ends(mass, edges, up_to, beyond)
    total = np.repeat(np.add.reduceat(mass, edges[:-1]), np.diff(edges))
    cut = np.flatnonzero(column[1:] == column[:-1])  # not after the last value of a column
    middle = _between(values[cut], values[cut + 1])
    return column[cut], middle, up_to[cut] / total[cut], beyond[cut] / total[cut]


def quantiles(column: Cells, max_bins: int) -> tuple[Places, float]:
    """Return in which cells bins of about equal mass end, but for the last of numbers and NaN's.

    A cell of a single value counts for at most one bin; how much that is comes second. No
    value in any other cell may weigh more, or the answer is a guess.
    """
    numbers = slice(column.numbers)
    n_bins = max_bins - (column.mass.size - column.numbers)
    mass, single = column.mass[numbers], column.single[numbers]
    for _ in range(60):  # heavy values leave their surplus to the others
        most = mass.sum() / n_bins
        if not ((mass > most * (1 + 1e-9)) & single).any():
            break
        mass = np.where(single, np.minimum(mass, most), mass)
    reached = np.cumsum(mass) / mass.sum()
    wanted = np.arange(1, n_bins) / n_bins
    places = np.searchsorted(reached, wanted - 1e-6 / n_bins)
    return np.unique(np.minimum(places, mass.size - 1)), float(most)


def digits_apart(values: Vector, starts: Places, places: Places) -> Any:
    """Return how many digits tell some values from their neighbours, 3 to 17.

    The values rise in each group, of which group g has those from ``starts[g]`` on.
    """
    digits = np.full(places.size, 3)
    groups = np.searchsorted(starts, places, side="right")
    for number, (place, group) in enumerate(zip(places.tolist(), groups.tolist(), strict=True)):
        value, ends = float(values[place]), range(int(starts[group - 1]), int(starts[group]))
        near = [abs(value - float(values[i])) for i in (place - 1, place + 1) if i in ends]
        room = min(near, default=abs(value)) / 100.0
        while digits[number] < 17 and abs(float(f"{value:.{digits[number]}g}") - value) > room:
            digits[number] += 1
    return digits


def count_columns(X: Any, weight: Vector) -> Iterator[Counted]:
    """Yield the distinct values of each column."""
    if sp.issparse(X):
        total = weight.sum()
        for part in _column_chunks(X):
            for j in range(part.shape[1]):
                yield _counted_stored(part, weight, total, j)
    elif is_bytes(X.dtype):
        from ..kernels.stumps import count_bytes

        known = byte_values(X.dtype)
        order = np.argsort(known)
        mass = np.zeros((X.shape[1], 256))
        count_bytes(X.view(np.uint8), weight, mass)
        for of_column in mass:
            held = order[of_column[order] > 0.0]
            yield known[held], of_column[held]
    else:
        even = bool((weight == weight[:1]).all())
        for j in range(X.shape[1]):
            values = X[:, j].astype(np.float64)
            if even:  # a sort is several times faster than that of places
                values.sort()
            yield distinct(values, weight) if even else counted(values, weight)


def is_bytes(dtype: np.dtype[Any]) -> bool:
    """Return whether values of the type are one of 256."""
    return dtype.kind in "biu" and dtype.itemsize == 1


def byte_values(dtype: np.dtype[Any]) -> Vector:
    """Return the number that each of the 256 bytes stands for, (256,)."""
    return np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)


def _column_chunks(X: Any) -> Iterator[Any]:
    """Yield a sparse matrix some columns at a time, sorted and without duplicates."""
    X = X.tocsc()
    inner = np.searchsorted(X.indptr, np.arange(CHUNK_ENTRIES, X.nnz, CHUNK_ENTRIES))
    for start, stop in pairwise(np.unique([0, *inner, X.shape[1]]).tolist()):
        part = X[:, start:stop]
        if not part.has_canonical_format:
            part = part.copy()  # it may share the entries of X
            part.sum_duplicates()
        yield part


def _counted_stored(X: Any, weight: Vector, total: float, column: int) -> Counted:
    """Return the distinct values of a sparse column; ``total`` is the sum of all weights."""
    stored = slice(X.indptr[column], X.indptr[column + 1])
    values, mass = X.data[stored], weight[X.indices[stored]]
    if values.size < X.shape[0]:  # all zeros that are not stored are one value
        values, mass = np.append(values, values.dtype.type(0)), np.append(mass, total - mass.sum())
    return counted(values, mass)
