"""Where a column may be cut: between its values, all of them or some hundreds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Counted(NamedTuple):
    """The distinct values of a column, rising, NaN as the last, and the weight of each."""

    values: Vector
    mass: Vector

    @property
    def cells(self) -> Cells:
        """A cell for each value."""
        return Cells(self.values, self.values, self.mass, self.mass)


class Cells(NamedTuple):
    """A column in cells, rising: of one value each, or of all values in a gap between others.

    NaN is a cell, the last.
    """

    least: Vector
    greatest: Vector
    mass: Vector
    most: Vector  # no value of the cell weighs more

    @property
    def single(self) -> NDArray[np.bool_]:
        """Which cells are of one value."""
        return (self.least == self.greatest) | np.isnan(self.least)

    @property
    def numbers(self) -> int:
        """Number of cells but that of NaN."""
        return self.least.size - int(np.isnan(self.least[-1:]).sum())


def counted(values: NDArray[Any], weight: Vector) -> Counted:
    """Return the distinct values and the weight of each."""
    distinct, place = np.unique(values.astype(np.float64), return_inverse=True)
    return Counted(distinct, np.bincount(place, weights=weight).astype(np.float64))


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
    lower, upper = column.greatest[kept], column.least[kept + 1]
    middle = lower / 2.0 + upper / 2.0
    return np.where((lower <= middle) & (middle < upper), middle, lower)


def quantiles(column: Cells, max_bins: int) -> tuple[NDArray[np.intp], float]:
    """Return in which cells of numbers the bins end, and the most that a value counts for."""
    numbers = slice(column.numbers)
    n_bins = max_bins - (column.mass.size - column.numbers)
    return quantile_places(column.mass[numbers], n_bins, column.single[numbers])


def quantile_places(
    mass: Vector, n_bins: int, single: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], float]:
    """Return in which cells bins of about equal mass end, but for the last bin.

    A cell of a single value counts for at most one bin; how much that is comes second. No
    value in any other cell may weigh more, or the answer is a guess.
    """
    for _ in range(60):  # heavy values leave their surplus to the others
        most = mass.sum() / n_bins
        if not ((mass > most * (1 + 1e-9)) & single).any():
            break
        mass = np.where(single, np.minimum(mass, most), mass)
    reached = np.cumsum(mass) / mass.sum()
    wanted = np.arange(1, n_bins) / n_bins
    places = np.searchsorted(reached, wanted - 1e-6 / n_bins)
    return np.unique(np.minimum(places, mass.size - 1)), float(most)


def digits_apart(values: Vector, place: int) -> int:
    """Return how many digits tell one of some rising values from its neighbours, 3 to 17."""
    value = float(values[place])
    near = [abs(value - float(values[i])) for i in (place - 1, place + 1) if 0 <= i < values.size]
    room = min(near, default=abs(value)) / 100.0
    digits = 3
    while digits < 17 and abs(float(f"{value:.{digits}g}") - value) > room:
        digits += 1
    return digits


def count_columns(X: Any, weight: Vector) -> Iterator[Counted]:
    """Yield the distinct values of each column."""
    if sp.issparse(X):
        for values, own in _stored_values(X.tocsc(), weight):
            yield counted(values, own)
    elif is_bytes(X.dtype):
        from ..kernels.binning import count_bytes

        known = byte_values(X.dtype)
        order = np.argsort(known)
        mass = np.zeros((X.shape[1], 256))
        count_bytes(X.view(np.uint8), weight, mass)
        for own in mass:
            held = order[own[order] > 0.0]
            yield Counted(known[held], own[held])
    else:
        for j in range(X.shape[1]):
            yield counted(X[:, j], weight)


def is_bytes(dtype: np.dtype[Any]) -> bool:
    """Return whether values of the type are one of 256."""
    return dtype.kind in "biu" and dtype.itemsize == 1


def byte_values(dtype: np.dtype[Any]) -> Vector:
    """Return the number that each of the 256 bytes stands for, (256,)."""
    return np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)


def _stored_values(X: Any, weight: Vector) -> Iterator[tuple[NDArray[Any], Vector]]:
    """Yield the values of each column of a sparse matrix with their weights.

    All zeros that it does not store come as one value of their weight.
    """
    total = weight.sum()
    for j in range(X.shape[1]):
        if X.has_canonical_format:
            stored = slice(X.indptr[j], X.indptr[j + 1])
            values, own = X.data[stored], weight[X.indices[stored]]
        else:
            column = X[:, [j]].tocsc(copy=True)
            column.sum_duplicates()
            values, own = column.data, weight[column.indices]
        if values.size < X.shape[0]:
            values, own = np.append(values, values.dtype.type(0)), np.append(own, total - own.sum())
        yield values, own
