"""Training rows as the fit of a pool reads them, and the moments of their columns."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from ..arrays import float_type, is_host, is_sparse, numpy_type, ranges
from ..inputs import backend_module

Vector = NDArray[np.float64]
Answer = TypeVar("Answer")
Item = TypeVar("Item")
Question = Callable[[Any, Vector], Answer]
Merge = Callable[[Answer, Answer], Answer]

# About how many bytes the answer of a block may take: many may wait to be merged on one machine.
ANSWER_BYTES = 1 << 26
# About how many bytes the rows take that a pool is fitted on which takes no passes over blocks.
SAMPLE_BYTES = 1 << 28
# Never fewer rows than these.
SMALLEST_SAMPLE = 1000
# Rows are read in chunks of about this many bytes, so that a conversion (integers, or
# moments in float64) never makes a second copy of X.
CHUNK_BYTES = 1 << 22
# Beyond this ratio of a column's size to its spread, float32 sums lose its variation.
LARGEST_OFFSET_IN_FLOAT32 = 1e3
# Beyond this magnitude, or below its inverse, float32 sums may overflow or vanish.
LARGEST_SIZE_IN_FLOAT32 = 1e25


class Table(ABC):
    """Training rows of positive weight: an array, a tensor, or blocks on a cluster's machines.

    A pool is fitted by questions: pure functions of the rows of a block and their weights. A
    question, its answer and the function that merges two answers can be pickled, and are small
    beside the rows. A block may have any number of rows, none too; all are arrays of one type,
    or all compressed sparse rows.
    """

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    sparse: bool

    @abstractmethod
    def ask(self, question: Question[Answer], merge: Merge[Answer], what: str) -> Answer:
        """Return the answers of all blocks, ``question(X, weight)``, merged into one.

        They are merged in pairs of neighbours, in the order of the rows. ``what`` names the pass
        over the rows in words.
        """

    def ask_each(
        self,
        items: Sequence[Item],
        size: Callable[[Item], int],
        question: Callable[[list[Item], Any, Vector], list[Answer]],
        merge: Merge[Answer],
        what: str,
    ) -> Iterator[tuple[Item, Answer]]:
        """Yield every item with its answer; a pass over the rows asks about some neighbours.

        ``question(items, X, weight)`` answers to each of some items, in ``size(item)`` bytes.
        """
        passes = (np.cumsum([0, *map(size, items)])[:-1] // ANSWER_BYTES).tolist()
        each = partial(_merged_each, merge)
        for _, numbered in groupby(zip(passes, items, strict=True), key=operator.itemgetter(0)):
            some = [item for _, item in numbered]
            yield from zip(some, self.ask(partial(question, some), each, what), strict=True)

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        """Return the rows of these rising numbers, and their weights, here."""

    def gathered(self, random_state: Any = 0) -> tuple[Any, Vector]:
        """Return rows and their weights here, for a pool that takes no passes over blocks.

        All rows where they are one array; else a random sample of about ``SAMPLE_BYTES``, zeros
        of sparse rows counted, by the random state if it is an integer.
        """
        row_bytes = max(1, self.n_columns * self.dtype.itemsize)
        n_rows = max(SMALLEST_SAMPLE, SAMPLE_BYTES // row_bytes)
        if n_rows >= self.n_rows:
            return self.take(np.arange(self.n_rows))
        seed = random_state if isinstance(random_state, (int, np.integer)) else 0
        rng = np.random.RandomState(seed)
        rows = sample_without_replacement(self.n_rows, n_rows, random_state=rng)
        return self.take(np.sort(rows).astype(np.intp))


class Whole(Table):
    """Rows of one array, SciPy's matrix or tensor, as one block."""

    def __init__(self, X: Any, weight: Vector | None = None):
        self.n_rows, self.n_columns = X.shape
        self.dtype = numpy_type(X)
        self.sparse = is_sparse(X)
        self.rows = X, np.ones(X.shape[0]) if weight is None else weight

    def ask(self, question: Question[Answer], merge: Merge[Answer], what: str) -> Answer:
        return question(*self.rows)

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        X, weight = self.rows
        return (X.tocsr() if self.sparse else X)[rows], weight[rows]

    def gathered(self, random_state: Any = 0) -> tuple[Any, Vector]:
        return self.rows


def _merged_each(merge: Merge[Answer], one: list[Answer], other: list[Answer]) -> list[Answer]:
    return [merge(a, b) for a, b in zip(one, other, strict=True)]


def chunks(X: Any) -> list[slice]:
    """Return ranges of rows of about ``CHUNK_BYTES`` in float64."""
    return ranges(X.shape[0], max(1, CHUNK_BYTES // (8 * max(1, X.shape[1]))))


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


class Powers(NamedTuple):
    """Sums over the rows of a block of the powers of each column, about one of its values.

    They are in units of half the column's range. A point of the sample lies within sqrt(m - 1)
    deviations of the mean (Samuelson), so the variance by sums of squares loses at most a factor
    m of the precision, however far from zero or however small the columns are.
    """

    low: Vector
    high: Vector
    pivot: Vector  # the row of largest weight, the first of such; the mean of sparse rows
    heaviest: float  # the weight of the pivot
    first: Vector
    second: Vector
    total: float  # of the weights

    @property
    def moments(self) -> Moments:
        """The weighted moments of the columns."""
        unit, first = half_range(self.low, self.high), self.first / self.total
        with np.errstate(invalid="ignore"):
            variance = np.maximum(self.second / self.total - first**2, 0.0)
        return Moments(self.low, self.high, self.pivot + first * unit, np.sqrt(variance) * unit)

    def about(self, pivot: Vector, unit: Vector) -> tuple[Vector, Vector]:
        """Return the sums about another pivot, in a unit that is no smaller."""
        ratio = np.maximum(self.high / 2 - self.low / 2, 0.0) / unit
        away = (self.pivot / 2 - pivot / 2) / (unit / 2)
        first = self.first * ratio
        second = self.second * ratio**2 + away * (2.0 * first + self.total * away)
        return first + self.total * away, second


def half_range(low: Vector, high: Vector) -> Vector:
    """Return half the range of each column, or one where it is constant."""
    unit = high / 2 - low / 2
    return np.where(unit > 0, unit, 1.0)


@np.errstate(over="ignore", invalid="ignore")  # the deviation of such columns is not finite
def powers(X: Any, weight: Vector) -> Powers:
    """Return the powers of the columns of a block."""
    n, d = X.shape
    none = np.zeros(d)
    if not n:
        return Powers(none + np.inf, none - np.inf, none, -np.inf, none, none, 0.0)
    if not is_host(X):
        return backend_module(X, "columns").powers(X, weight)
    if sp.issparse(X):
        return _sparse_powers(X, weight)
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    heaviest = np.argmax(weight)
    pivot, unit = X[heaviest].astype(np.float64), half_range(low, high)
    first, second = np.zeros(d), np.zeros(d)
    parts = chunks(X)
    # One piece of memory for all: on Dask's workers new ones take longer than the sums.
    held = np.empty((parts[0].stop, d))
    for rows in parts:
        chunk = held[: rows.stop - rows.start]
        np.subtract(X[rows], pivot, out=chunk)
        chunk /= unit
        first += weight[rows] @ chunk
        np.square(chunk, out=chunk)
        second += weight[rows] @ chunk
    return Powers(low, high, pivot, float(weight[heaviest]), first, second, float(weight.sum()))


def _sparse_powers(X: Any, weight: Vector) -> Powers:
    """Return the powers of sparse columns, zeros counted, some columns at a time in float64."""
    X, total, parts = X.tocsc(), float(weight.sum()), []
    step = max(1, CHUNK_BYTES * X.shape[1] // (8 * max(1, X.nnz)))
    for columns in ranges(X.shape[1], step):
        part = X[:, columns].astype(np.float64)
        part.sum_duplicates()  # of this copy
        low, high = min_max_axis(part, axis=0)
        unit = half_range(low, high)
        part.data /= np.repeat(unit, np.diff(part.indptr))
        mean, variance = mean_variance_axis(part, axis=0, weights=weight)
        parts.append((low, high, mean * unit, np.maximum(variance, 0.0) * total))
    low, high, mean, second = map(np.concatenate, zip(*parts, strict=True))
    return Powers(low, high, mean, total, np.zeros_like(mean), second, total)


@np.errstate(over="ignore", invalid="ignore")
def joined_powers(one: Powers, other: Powers) -> Powers:
    """Return the powers of two blocks together, the earlier one first."""
    low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
    heavier = one if one.heaviest >= other.heaviest else other
    sums = [block.about(heavier.pivot, half_range(low, high)) for block in (one, other)]
    first, second = (a + b for a, b in zip(*sums, strict=True))
    total = one.total + other.total
    return Powers(low, high, heavier.pivot, heavier.heaviest, first, second, total)


def scaling(
    moments: Moments, dtype: np.dtype[Any], centred: bool
) -> tuple[NDArray[np.bool_], Vector, Vector, np.dtype[Any]]:
    """Return what the moments of columns of that type tell of how to train on them.

    Whether each varies, or is not all zero if not centred; its deviation, about zero if not
    centred; what may be taken off it before it is squared; and the type to sum in.
    """
    low, high, mean, deviation = moments
    largest = moments.largest
    # Two neighbouring numbers of a type are one number and its rounding.
    rounding = np.finfo(dtype).eps if dtype.kind == "f" else 0.0
    # A column whose deviation overflows varies too: it raises an error once it is scored.
    varies = (high / 2 - low / 2 > rounding * largest) & (deviation != 0.0)
    usable = varies if centred else largest > 0.0
    about = deviation if centred else np.hypot(deviation, mean)
    # Sums over dense and over sparse columns, or over blocks, differ in their last bits. A scale
    # may be any number: to 24 bits the scaled columns are the same, and so is the whole run.
    mantissa, exponent = np.frexp(about)
    about = np.ldexp(np.round(mantissa * 2**24) / 2**24, exponent)
    offset = np.abs(mean[varies]) / deviation[varies]
    sums_dtype = sums_type(float_type(dtype), offset, largest[usable])
    return usable, about, mean if centred else np.zeros_like(mean), sums_dtype


def sums_type(dtype: np.dtype[Any], offsets: Vector, sizes: Vector) -> np.dtype[Any]:
    """Return the type in which columns of that type are summed.

    Float64 where float32 would lose a column's variation: for a large offset, in deviations, and
    for a very large or small magnitude.
    """
    far = (
        offsets.max(initial=0.0) > LARGEST_OFFSET_IN_FLOAT32
        or sizes.max(initial=1.0) > LARGEST_SIZE_IN_FLOAT32
        or sizes.min(initial=1.0) < 1.0 / LARGEST_SIZE_IN_FLOAT32
    )
    return np.dtype(np.float64) if far else dtype
