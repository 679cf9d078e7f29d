"""Extremes, means and deviations of columns, from rows of one array or of many blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from .numbers import float_type, ranges, sums_type
from .table import Table, Vector, Whole

# Rows are read in chunks of about this many bytes, so that a conversion (integers, or
# moments in float64) never makes a second copy of X.
CHUNK_BYTES = 1 << 22


class Moments(NamedTuple):
    """Of each column, in float64."""

    low: Vector
    high: Vector
    mean: Vector
    deviation: Vector

    @property
    def largest(self) -> Vector:
        """The largest magnitude."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def range_or_one(low: Vector, high: Vector) -> Vector:
    """Return half the range of each column, or one where it is constant."""
    unit = high / 2 - low / 2
    return np.where(unit > 0, unit, 1.0)


def largest_magnitudes(X: Any) -> Vector:
    """Return the largest magnitude of every column."""
    if not X.shape[0]:
        return np.zeros(X.shape[1])
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return np.maximum(-low.astype(np.float64), high.astype(np.float64))


def chunks(X: Any) -> list[slice]:
    """Return ranges of rows of about ``CHUNK_BYTES`` in float64."""
    return ranges(X.shape[0], max(1, CHUNK_BYTES // (8 * max(1, X.shape[1]))))


def moments_of(table: Table) -> Moments:
    """Return the weighted moments of all columns, by two or three passes over the rows."""
    if not table.sparse:
        return _dense_moments(table)
    return (
        _whole_sparse_moments(*table.rows) if isinstance(table, Whole) else _sparse_moments(table)
    )


class Scaling(NamedTuple):
    """What the moments of columns tell of how to train on them."""

    usable: NDArray[np.bool_]  # whether a column varies, or is not all zero if not centred
    deviation: Vector  # about the mean; about zero if not centred
    pivot: Vector  # what may be taken off a column before it is squared
    sums_dtype: np.dtype[Any]


def scaling(moments: Moments, dtype: np.dtype[Any], centred: bool) -> Scaling:
    """Return what the moments of columns of that type tell."""
    low, high, mean, deviation = moments
    largest = moments.largest
    # Two neighbouring numbers of a type are one number and its rounding.
    rounding = np.finfo(dtype).eps if dtype.kind == "f" else 0.0
    # A column whose deviation overflows varies too: it raises an error once it is scored.
    varies = (high / 2 - low / 2 > rounding * largest) & (deviation != 0.0)
    usable = varies if centred else largest > 0.0
    about = deviation if centred else np.hypot(deviation, mean)
    offset = np.abs(mean[varies]) / deviation[varies]
    sums_dtype = sums_type(float_type(dtype), offset, largest[usable])
    pivot = mean if centred else np.zeros_like(mean)
    return Scaling(usable, _rounded(about), pivot, sums_dtype)


def _rounded(values: Vector) -> Vector:
    """Return the values to 24 bits.

    Sums over dense and over sparse columns differ in their last bits. A scale may be any
    number: without those bits the scaled columns are the same, and so is the whole run.
    """
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2**24) / 2**24, exponent)


class _Extremes(NamedTuple):
    """Of each column, and the row of largest weight, the first of such."""

    low: Vector
    high: Vector
    row: Vector
    weight: float  # of that row


def _dense_moments(table: Table) -> Moments:
    """Return the weighted moments of dense columns.

    The sums are taken about the row of largest weight, in units of each column's range.
    A point of the sample lies within sqrt(m - 1) deviations of the mean (Samuelson), so
    the variance by sums of squares loses at most a factor m of the precision, however
    far from zero or however small the columns are.
    """
    low, high, pivot, _ = table.ask(_extremes, _wider, "ranges of columns")
    unit = range_or_one(low, high)
    first, second, total = table.ask(partial(_powers, pivot, unit), added_up, "moments of columns")
    first = first / total
    with np.errstate(invalid="ignore"):
        variance = np.maximum(second / total - first**2, 0.0)
    return Moments(low, high, pivot + first * unit, np.sqrt(variance) * unit)


def _extremes(X: NDArray[Any], weight: Vector) -> _Extremes:
    """Return the extremes of a block."""
    if not X.shape[0]:
        none = np.full(X.shape[1], np.inf)
        return _Extremes(none, -none, none, -np.inf)
    heaviest = np.argmax(weight)
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    return _Extremes(low, high, X[heaviest].astype(np.float64), float(weight[heaviest]))


def _wider(one: _Extremes, other: _Extremes) -> _Extremes:
    """Return the extremes of two blocks, the earlier one first."""
    heavier = one if one.weight >= other.weight else other
    low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
    return _Extremes(low, high, heavier.row, heavier.weight)


@np.errstate(over="ignore", invalid="ignore")  # the deviation of such columns is not finite
def _powers(
    pivot: Vector, unit: Vector, X: NDArray[Any], weight: Vector
) -> tuple[Vector, Vector, float]:
    """Return the weighted sums of a block about a pivot, of their squares, and of weights."""
    first, second = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    parts = chunks(X)
    # One piece of memory for all: on Dask's workers new ones take longer than the sums.
    held = np.empty((max((rows.stop - rows.start for rows in parts), default=0), X.shape[1]))
    for rows in parts:
        chunk = held[: rows.stop - rows.start]
        np.subtract(X[rows], pivot, out=chunk)
        chunk /= unit
        first += weight[rows] @ chunk
        np.square(chunk, out=chunk)
        second += weight[rows] @ chunk
    return first, second, float(weight.sum())


def added_up(one: tuple[Any, ...], other: tuple[Any, ...]) -> Any:
    """Return the sums of two blocks."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _whole_sparse_moments(X: Any, weight: Vector) -> Moments:
    """Return the weighted moments of sparse columns of one array, zeros counted."""
    parts = []
    for _, part in _stored_columns(X):
        low, high = min_max_axis(part, axis=0)
        unit = range_or_one(low, high)
        part.data /= np.repeat(unit, np.diff(part.indptr))
        mean, variance = mean_variance_axis(part, axis=0, weights=weight)
        parts.append((low, high, mean * unit, np.sqrt(np.maximum(variance, 0.0)) * unit))
    return Moments(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _stored_columns(X: Any) -> Iterator[tuple[slice, sp.csc_array]]:
    """Yield some columns at a time, in float64 and without duplicates."""
    X = X.tocsc()
    step = max(1, CHUNK_BYTES * X.shape[1] // (8 * max(1, X.nnz)))
    for columns in ranges(X.shape[1], step):
        part = X[:, columns].astype(np.float64)
        part.sum_duplicates()  # of this copy
        yield columns, part


def _sparse_moments(table: Table) -> Moments:
    """Return the weighted moments of sparse columns, by sums about the mean."""
    low, high = table.ask(_sparse_extremes, _sparse_wider, "ranges of columns")
    unit = range_or_one(low, high)
    sums, total = table.ask(partial(_sparse_sums, unit), added_up, "means of columns")
    mean = sums / total
    about, stored = table.ask(partial(_sparse_squares, unit, mean), added_up, "moments of columns")
    # The entries that are not stored lie a mean away from it.
    variance = (about + np.maximum(total - stored, 0.0) * mean**2) / total
    return Moments(low, high, mean * unit, np.sqrt(variance) * unit)


def _sparse_extremes(X: Any, weight: Vector) -> tuple[Vector, Vector]:
    """Return the extremes of a block, zeros counted."""
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    if X.shape[0]:
        for columns, part in _stored_columns(X):
            low[columns], high[columns] = min_max_axis(part, axis=0)
    return low, high


def _sparse_wider(
    one: tuple[Vector, Vector], other: tuple[Vector, Vector]
) -> tuple[Vector, Vector]:
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


def _sparse_sums(unit: Vector, X: Any, weight: Vector) -> tuple[Vector, float]:
    """Return the weighted sums of a block, in the columns' units, and the sum of weights."""
    sums = np.zeros(X.shape[1])
    for columns, part in _stored_columns(X):
        part.data /= np.repeat(unit[columns], np.diff(part.indptr))
        sums[columns] = weight @ part
    return sums, float(weight.sum())


def _sparse_squares(unit: Vector, mean: Vector, X: Any, weight: Vector) -> tuple[Vector, Vector]:
    """Return the weighted sums of the stored entries' squares about the mean, and of weights."""
    about, stored = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for columns, part in _stored_columns(X):
        column = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
        own = weight[part.indices]
        far = part.data / unit[columns][column] - mean[columns][column]
        about[columns] = np.bincount(column, own * far**2, minlength=part.shape[1])
        stored[columns] = np.bincount(column, own, minlength=part.shape[1])
    return about, stored
