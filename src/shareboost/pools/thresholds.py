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


def counted(values: NDArray[Any], weight: Vector) -> Counted:
    """Return the distinct values and the weight of each."""
    distinct, place = np.unique(values.astype(np.float64), return_inverse=True)
    return Counted(distinct, np.bincount(place, weights=weight).astype(np.float64))


def thresholds(column: Counted, max_bins: int | None) -> Vector:
    """Return cuts between the distinct values, at most ``max_bins - 1`` of them.

    A cut lies half way between two neighbouring values, or on the lower one where no
    number lies between them. NaN counts as a value above all others; the cut below it
    is the largest number, and always among them. Too many values are cut into bins of
    about equal weight, in which a value counts for at most one bin.
    """
    distinct, mass = column
    lower, upper = distinct[:-1], distinct[1:]
    if max_bins is not None and distinct.size > max_bins:
        if np.isnan(distinct[-1]):  # NaN has a bin of its own
            kept = np.append(_quantile_places(mass[:-1], max_bins - 1), distinct.size - 2)
        else:
            kept = _quantile_places(mass, max_bins)
        lower, upper = lower[kept], upper[kept]
    middle = lower / 2.0 + upper / 2.0
    return np.where((lower <= middle) & (middle < upper), middle, lower)


def _quantile_places(mass: Vector, n_bins: int) -> NDArray[np.intp]:
    """Return after which of the values to cut for ``n_bins`` bins of about equal mass."""
    for _ in range(60):  # heavy values leave their surplus to the others
        most = mass.sum() / n_bins
        if not (mass > most * (1 + 1e-9)).any():
            break
        mass = np.minimum(mass, most)
    reached = np.cumsum(mass) / mass.sum()
    wanted = np.arange(1, n_bins) / n_bins
    places = np.searchsorted(reached, wanted - 1e-6 / n_bins)
    return np.unique(places[places < mass.size - 1])


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
        column = X[:, [j]].tocsc(copy=True)
        column.sum_duplicates()
        values, own = column.data, weight[column.indices]
        if column.nnz < X.shape[0]:
            values, own = np.append(values, values.dtype.type(0)), np.append(own, total - own.sum())
        yield values, own
