"""What a pool of candidate features must answer."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..kernels import MOST_TAGGED, WIDTH
from .table import Table, stored_entries

# Beyond this ratio of a column's size to its spread, float32 sums lose its variation.
LARGEST_OFFSET_IN_FLOAT32 = 1e3
# Beyond this magnitude, or below its inverse, float32 sums may overflow or vanish.
LARGEST_SIZE_IN_FLOAT32 = 1e25

# Weights over a smaller scale may overflow float64.
SMALLEST_SCALE = 1e-305

# What columns, and products of them, may be divided by.
SCALES = ("deviation", "maxabs", "none", "bounded")
# The power of its standard deviation that a column is divided by, by the scale's name.
POWERS = {"root": 0.5, "deviation": 1.0, "none": 0.0}

# What the statistics of a part take, about, where the atoms can be split so far.
PART_BYTES = 1 << 22
# What the rows take, about, that a pool is fitted on where it cannot be on blocks of a cluster.
SAMPLE_BYTES = 1 << 28
# Never fewer rows than these.
SMALLEST_SAMPLE = 1000

Floats = NDArray[np.floating]
Atoms = Sequence[int] | NDArray[np.intp]


class Features(ABC):
    """The chosen atoms as plain arrays: all that prediction needs of a pool."""

    ids: NDArray[np.intp]  # of the atoms, in the order they were chosen

    @property
    def allows_nan(self) -> bool:
        """Whether X may hold NaN."""
        return False

    @property
    def widths(self) -> NDArray[np.intp]:
        """Number of columns of each atom."""
        return np.ones(self.ids.size, dtype=np.intp)

    @property
    def n_columns(self) -> int:
        """Number of columns the atoms make together."""
        return int(self.widths.sum())

    @abstractmethod
    def columns(self, X: Any) -> Any:
        """Return the atoms' columns for the rows of X, (rows, n_columns), in X's units."""

    @property
    def input_columns(self) -> NDArray[np.intp] | None:
        """The column of X that each of the columns is, (n_columns,); None where they are others."""
        return None

    @abstractmethod
    def names(self, input_names: Sequence[str]) -> list[str]:
        """Return a readable name for each column."""

    def atom_names(self, input_names: Sequence[str]) -> list[str]:
        """Return a readable name for each atom; that of its column where it has one."""
        return self.names(input_names)

    def reads(self, n_columns_in: int) -> sp.csr_array | None:
        """Return which of X's columns each atom reads, (atoms, n_columns_in), as booleans.

        None where every atom reads every column.
        """
        return None

    def shares(self, n_columns_in: int) -> sp.csr_array:
        """Return what X's columns have of each of the columns, (n_columns, n_columns_in).

        The columns that an atom reads have equal shares of it, and all shares of a column sum
        to 1.
        """
        if (columns := self.input_columns) is not None:
            return one_each(columns, n_columns_in).astype(np.float64)
        reads = self.reads(n_columns_in)
        if reads is None:
            return sp.csr_array(np.full((self.n_columns, n_columns_in), 1.0 / n_columns_in))
        equal = reads.astype(np.float64) / np.diff(reads.indptr)[:, None]
        return sp.csr_array(equal)[np.repeat(np.arange(self.ids.size), self.widths)]

    @abstractmethod
    def take(self, places: NDArray[np.intp]) -> Self:
        """Return the atoms at those places alone, in that order."""

    def renumbered(self, places: NDArray[np.intp]) -> Self:
        """Return the atoms for rows that have some columns of X alone, column j at ``places[j]``.

        The places are those of all columns that the atoms read, and -1 for columns that are not
        there.
        """
        raise TypeError(
            f"Features of the type {type(self).__name__} read X as it was given: only those of "
            "Columns, Stumps, Products, Pieces, Templates, Groups and Unions of them can be "
            "computed from fewer columns."
        )

    def first(self, n_atoms: int) -> Self:
        """Return the first ``n_atoms`` atoms alone."""
        return self.take(np.arange(min(n_atoms, self.ids.size)))


class Pool(BaseEstimator, ABC):
    """A large, often implicit, set of candidate features ("atoms").

    A pool knows how to correlate the columns of all its atoms with a residual, and how to
    compute the columns of one. It knows nothing of losses, rounds, rules or labels.

    ``stats`` must *add* over blocks of rows: the paper ranks an atom by the norm of a
    sum over examples, and the norm of a sum is not the sum of norms. Only the total
    over all blocks is scored.

    Atoms are numbered ``0 .. n_atoms_ - 1`` and scored in ``parts``, ranges of atoms
    whose statistics are small enough to be held at once, each by one thread. So memory
    is bounded by a part, not by the number of atoms.

    Fitting sets ``n_atoms_``, ``dtype_`` (the floating type of its columns) and
    ``sums_dtype_`` (that of its sums over the rows of a block).
    """

    n_atoms_: int
    dtype_: np.dtype[Any]
    sums_dtype_: np.dtype[Any]

    def __init_subclass__(cls, **options: Any) -> None:
        """Have a pool of another ``fit`` than that of the pool it extends fitted by it."""
        super().__init_subclass__(**options)
        if "fit" in vars(cls) and "fit_spread" not in vars(cls):
            cls.fit_spread = Pool.fit_spread  # type: ignore[method-assign]

    def __getattr__(self, name: str) -> Any:
        """Say of what only ``fit`` sets that it is not there yet."""
        if name.endswith("_") and not name.startswith("_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: it has no {name!r} before fit."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # The parameters that make the features those of the paper; a pool of your own may name some.
    published: ClassVar[dict[str, Any]] = {}

    def as_published(self) -> Self:
        """Return an unfitted pool like this one, with ``published`` as its parameters."""
        known = self.get_params(deep=False)
        return clone(self).set_params(**{n: v for n, v in self.published.items() if n in known})

    # Whether ``stats`` adds to ``out`` in less time than it takes to make a new one.
    adds_in_place = False

    @property
    def slow_columns(self) -> bool:
        """Whether a column takes long to compute, against the statistics of all atoms."""
        return False

    @property
    def allows_nan(self) -> bool:
        """Whether X may hold NaN."""
        return False

    @property
    def choosable(self) -> NDArray[np.bool_] | None:
        """Which atoms may be chosen, ``(n_atoms_,)``; None for all.

        With an intercept, constant atoms are excluded; without one, only atoms that are zero
        everywhere.
        """
        return None

    @property
    def divisors(self) -> NDArray[np.float64] | None:
        """What the score of each atom is divided by, ``(n_atoms_,)``; None for 1."""
        return None

    def starts(self, part: slice) -> NDArray[np.intp]:
        """Return where the columns of each atom of a part start among those of the part."""
        return np.arange(part.stop - part.start)

    def reads(self, n_columns_in: int) -> sp.csr_array | None:
        """Return which of X's columns each atom reads; None for all.

        The shape is ``(n_atoms_, n_columns_in)``.
        """
        return self.features(np.arange(self.n_atoms_)).reads(n_columns_in)

    @abstractmethod
    def fit(self, X: Any, weight: NDArray[np.float64] | None = None, centred: bool = True) -> Self:
        """Learn what defines the atoms from rows of positive weight (default: all 1).

        ``centred`` tells whether columns will be trained on about their mean, as they
        are where there is an intercept.
        """

    def fit_spread(self, table: Table, centred: bool = True) -> Self:
        """Learn what defines the atoms from rows that may lie in blocks on a cluster.

        Where a pool has no passes of its own over the blocks, it is fitted on a random sample of
        about ``SAMPLE_BYTES``; on all rows where they take no more.
        """
        seed = getattr(self, "random_state", 0)
        rng = np.random.RandomState(seed if isinstance(seed, (int, np.integer)) else 0)
        X, weight = table.sample(_sample_size(table), rng)
        return self.fit(X, weight, centred)

    def widen(self) -> Self:
        """Compute in float64 from now on, whatever the type of X, where the pool can."""
        self.dtype_ = self.sums_dtype_ = np.dtype(np.float64)
        return self

    @property
    def rounding(self) -> float:
        """Relative differences of scores below this are rounding: such scores are tied."""
        return 1e-9 if self.sums_dtype_ == np.float64 else 1e-5

    @property
    def coarseness(self) -> NDArray[np.float64] | None:
        """The steps in which ``stats`` counts the scaled column of each atom, ``(n_atoms_,)``.

        None where it takes columns as they are, but for ``rounding``.
        """
        return None

    def cut(self, data: Any) -> NDArray[np.floating] | None:
        """Return what ``stats`` cuts off each atom's scaled column, ``(n_atoms_,)``.

        It is the sum over a block's rows of what lies beyond all steps; None where there are
        no steps.
        """
        return None

    def parts(self, n_classes: int) -> Sequence[slice]:
        """Return ranges of atoms that together are all of them, in order.

        Their statistics for that many classes should take about ``PART_BYTES`` each. The
        blocks of a pool of one part are summed in parallel and then added; those of many
        parts are added in place, a part by one thread.
        """
        check_is_fitted(self)
        return [slice(0, self.n_atoms_)]

    @abstractmethod
    def encode(self, X: Any, rows: slice) -> Any:
        """Return a block of rows of X in the form that ``stats`` and ``columns`` read."""

    def prepare(self, rows: Floats) -> Any:
        """Return a block's numbers for each class and example, (k, n), as ``stats`` reads them.

        Called once a round and block. They are residuals or curvatures. Where there is an
        intercept, the residual comes less its weighted mean: that equals correlating with
        centred columns, and no atom's mean need be known.
        """
        return rows.astype(self.sums_dtype_)

    @abstractmethod
    def stats(
        self,
        data: Any,
        rows: Any,
        part: slice,
        out: NDArray[np.float64] | None = None,
        squares: bool = False,
    ) -> Floats:
        """Return a statistic of the block for a part's atoms; it adds over blocks.

        Parameters
        ----------
        data :
            A block, as ``encode`` made it.
        rows :
            The block's residual or curvature, as ``prepare`` made it.
        part : slice
            One of ``parts()``.
        out : array, optional
            The statistic of earlier blocks, to add to and return.
        squares : bool
            Whether it is for ``moments``, else for ``correlations``.
        """

    @abstractmethod
    def correlations(self, stats: NDArray[np.float64], part: slice) -> NDArray[np.float64]:
        """Return the sum over examples of ``rows * column / scale``, (k, columns of the part)."""

    @abstractmethod
    def moments(
        self, stats: NDArray[np.float64], part: slice
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sums of ``rows * column / scale`` and of ``rows * (column / scale)**2``.

        Both are (k, columns of the part), and ``stats`` was made with ``squares``. Where the
        columns are trained on about their mean, each may be taken less a number of its own,
        the same in every call: what is asked for is a variance.
        """

    @abstractmethod
    def columns(self, data: Any, atom: int) -> Floats:
        """Return the columns of one atom on a block, (columns of the atom, n), in X's units."""

    @abstractmethod
    def scales(self, atom: int) -> NDArray[np.float64]:
        """Return what each of the atom's columns is divided by in training."""

    @abstractmethod
    def features(self, atoms: Atoms) -> Features:
        """Return the given atoms as plain arrays, apart from the pool."""


def _sample_size(table: Table) -> int:
    """Return how many rows a pool is fitted on that takes them in one place."""
    n_rows = SAMPLE_BYTES // max(1, table.n_columns * table.dtype.itemsize)
    if table.sparse:
        # A pool may write sparse rows out, so that their number counts too.
        stored = table.ask(stored_entries, operator.add, "entries of sparse rows")
        each = max(1, stored * (table.dtype.itemsize + 4) // max(1, table.n_rows))
        n_rows = min(SAMPLE_BYTES // each, 8 * n_rows)
    return max(SMALLEST_SAMPLE, n_rows)


def by_example(rows: Floats) -> Floats:
    """Return the rows of classes as one row an example in float32, (n, k)."""
    return np.ascontiguousarray(rows.T, dtype=np.float32)


class ByExample(NamedTuple):
    """Numbers for each example and class, one row an example, as the kernels that add them."""

    rows: Floats  # (n, width), zeros after the last class
    total: NDArray[np.float64]  # (k,), over examples

    @classmethod
    def of(cls, rows: Floats, dtype: np.dtype[Any]) -> ByExample:
        """Return the numbers, given as (k, n)."""
        k, n = rows.shape
        wide = np.zeros((n, -(-k // WIDTH) * WIDTH), dtype=dtype)
        wide[:, :k] = rows.T
        return cls(wide, rows.sum(axis=1, dtype=np.float64))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.total.size

    @property
    def tag(self) -> tuple[int, ...]:
        """A tuple as long as there are classes; empty where they are too many to compile for."""
        return (0,) * self.n_classes if self.n_classes <= MOST_TAGGED else ()


def sums_type(dtype: np.dtype[Any], offsets: Floats, sizes: Floats) -> np.dtype[Any]:
    """Return the type in which columns of that type are summed.

    Float64 where the sums would lose a column's variation in float32: for a large offset,
    in units of its deviation, and for a very large or small magnitude.
    """
    far = (
        offsets.max(initial=0.0) > LARGEST_OFFSET_IN_FLOAT32
        or sizes.max(initial=1.0) > LARGEST_SIZE_IN_FLOAT32
        or sizes.min(initial=1.0) < 1.0 / LARGEST_SIZE_IN_FLOAT32
    )
    return np.dtype(np.float64) if far else dtype


def check_bounded(largest: Floats, argument: str) -> None:
    """Raise if any column's largest magnitude exceeds 1; name the argument that asks for it."""
    column = int(np.argmax(largest))
    if largest[column] > 1.0:
        raise ValueError(
            f"X is not valid: column {column} has values up to {float(largest[column])!r} in "
            f"magnitude, and {argument}='bounded', the paper's form, takes columns in [-1, 1]. "
            "Divide every column by its largest magnitude first, for example by "
            "sklearn.preprocessing.MaxAbsScaler."
        )


def out_of_range(pool: Pool, atom: int) -> FloatingPointError:
    """Return the error for an atom whose columns are too small or too large to compute with."""
    size = "small" if pool.scales(atom).min() < SMALLEST_SCALE else "large"
    return FloatingPointError(
        f"Feature {atom}, as selected_ numbers them, has values that are too {size} to compute "
        f"with in {pool.dtype_}. Divide the columns of X by their largest magnitudes first."
    )


def added(out: NDArray[np.float64] | None, stats: Floats) -> Floats:
    """Return ``out + stats``, in place, or the stats alone where there is no ``out``."""
    return stats if out is None else np.add(out, stats, out=out)


def one_each(columns: NDArray[np.intp], n_columns_in: int) -> sp.csr_array:
    """Return ``reads`` of atoms that read one column each."""
    n = columns.size
    return sp.csr_array(
        (np.ones(n, dtype=bool), columns, np.arange(n + 1)), shape=(n, n_columns_in)
    )


def weights_or_ones(X: Any, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the weight of every row of X."""
    return np.ones(X.shape[0]) if weight is None else weight


def ranges(n: int, step: int) -> list[slice]:
    """Return the slices of ``step`` that cover ``range(n)``."""
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 where it holds every value of ``dtype``, else float64."""
    exact = np.result_type(dtype, np.float32)
    return np.dtype(np.float32) if exact == np.float32 else np.dtype(np.float64)
