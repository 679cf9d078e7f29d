"""What a pool of candidate features must answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ..arrays import cast, dense, float_type, namespace, ranges, to_float64
from ..kernels import MOST_TAGGED, WIDTH
from .table import Moments, Powers, Table, Vector, Whole, joined_powers, powers, scaling

if TYPE_CHECKING:
    from .features import Features

# Weights over a smaller scale may overflow float64.
SMALLEST_SCALE = 1e-305

# What columns, and products of them, may be divided by.
SCALES = ("deviation", "maxabs", "none", "bounded")
# The power of its standard deviation that a column is divided by, by the scale's name.
POWERS = {"root": 0.5, "deviation": 1.0, "none": 0.0}

# Atoms whose columns are written out at a time, where a pool knows no faster sums, and about how
# many bytes the columns of some rows take in float64.
MOST_WRITTEN = 256
WRITTEN_BYTES = 1 << 22
# About how many bytes the statistics of a part take, where the atoms can be split so far.
PART_BYTES = 1 << 22

Floats = NDArray[np.floating]
Sums = NDArray[np.float64]
Atoms = Sequence[int] | NDArray[np.intp]


class Pool(BaseEstimator, ABC):
    """A large, often implicit, set of candidate features ("atoms").

    A pool knows how to correlate the columns of all its atoms with a residual, and how to
    compute the columns of one. It knows nothing of losses, rounds, rules or labels.

    ``stats`` must *add* over blocks of rows: the paper ranks an atom by the norm of a sum over
    examples, and the norm of a sum is not the sum of norms. Only the total over all blocks is
    scored.

    Atoms are numbered ``0 .. n_atoms_ - 1`` and scored in ``parts``, ranges of atoms whose
    statistics are small enough to be held at once, each by one thread. So memory is bounded by a
    part, not by the number of atoms.

    A pool must have two methods: ``learn`` and ``features``, whose ``columns`` then make all else
    that is asked of it, in NumPy, on a torch device or on a cluster. What a pool overrides beside
    them makes it fast.
    """

    n_atoms_: int
    dtype_: np.dtype[Any]  # the floating type of the columns
    sums_dtype_: np.dtype[Any]  # that of the sums over the rows of a block
    # Where the columns of each atom start among those of all, and the end; None: each has one.
    edges_: NDArray[np.intp] | None = None
    # Which atoms may be chosen; None for all. With an intercept constant ones may not, without
    # one those that are zero everywhere.
    usable_: NDArray[np.bool_] | None = None
    divisors_: NDArray[np.float64] | None = None  # of the scores of atoms; None for 1

    # The parameters that make the features those of the paper; a pool of your own may name some.
    published: ClassVar[dict[str, Any]] = {}
    allows_nan: bool = False  # in X
    # Whether ``stats`` adds to ``out`` in less time than it takes to make a new one.
    adds_in_place: bool = False
    # Whether a column takes long to compute, against the statistics of all atoms.
    slow_columns: bool = False

    def __getattr__(self, name: str) -> Any:
        """Say of what only ``fit`` sets that it is not there yet."""
        if name.endswith("_") and not name.startswith("_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: it has no {name!r} before fit."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(self, X: Any, weight: NDArray[np.float64] | None = None, centred: bool = True) -> Self:
        """Learn what defines the atoms from rows of positive weight (default: all 1).

        X is an array, a matrix of SciPy, a tensor or, with its weights, a ``Table``.
        ``centred`` tells whether columns will be trained on about their mean, as they
        are where there is an intercept.
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # what an earlier fit set
        table = X if isinstance(X, Table) else Whole(X, weight)
        self.learn(table, centred)
        if "dtype_" not in vars(self):
            self._measure(table, centred)
        return self

    @abstractmethod
    def learn(self, table: Table, centred: bool) -> None:
        """Set ``n_atoms_`` and all that defines the atoms, from a table of rows.

        ``table.ask`` takes passes over rows wherever they are, ``table.gathered`` has them, or a
        sample of them, in one place. A pool that sets ``dtype_``, and ``sums_dtype_`` with it,
        knows the scales of its columns and which of its atoms may be chosen; for any other these
        are told from the moments of its columns.
        """

    def _measure(self, table: Table, centred: bool) -> None:
        """Set the types and scales of the columns, and which atoms may be chosen."""
        widths, parts = [], []
        for atoms in ranges(self.n_atoms_, MOST_WRITTEN):
            features = self.features(np.arange(atoms.start, atoms.stop))
            widths.append(features.widths)
            question = partial(_written_powers, features)
            parts.append(table.ask(question, joined_powers, "moments of columns").moments)
        moments = Moments(*map(np.concatenate, zip(*parts, strict=True)))
        self.edges_ = np.cumsum([0, *np.concatenate(widths)])
        self.dtype_ = float_type(table.dtype)
        usable, deviation, self.pivot_, self.sums_dtype_ = scaling(moments, self.dtype_, centred)
        self.scale_ = np.where(usable, deviation, 1.0)
        self.usable_ = np.logical_or.reduceat(usable, self.edges_[:-1])

    def widen(self) -> Self:
        """Compute in float64 from now on, whatever the type of X, where the pool can."""
        self.dtype_ = self.sums_dtype_ = np.dtype(np.float64)
        return self

    @abstractmethod
    def features(self, atoms: Atoms) -> Features:
        """Return the given atoms as plain arrays, apart from the pool."""

    def reads(self, n_columns_in: int) -> sp.csr_array | None:
        """Return which columns of X each atom reads, by atom and column; None for all."""
        return self.features(np.arange(self.n_atoms_)).reads(n_columns_in)

    def starts(self, part: slice) -> NDArray[np.intp]:
        """Return where the columns of each atom of a part start among those of the part."""
        if self.edges_ is None:
            return np.arange(part.stop - part.start)
        return self.edges_[part] - self.edges_[part.start]

    def parts(self, n_classes: int) -> Sequence[slice]:
        """Return ranges of atoms that together are all of them, in order.

        Their statistics for that many classes should take about ``PART_BYTES`` each. The
        blocks of a pool of one part are summed in parallel and then added; those of many
        parts are added in place, a part by one thread.
        """
        return ranges(self.n_atoms_, max(1, min(MOST_WRITTEN, PART_BYTES // (8 * n_classes))))

    def encode(self, X: Any, rows: slice) -> Any:
        """Return a block of rows of X in the form that ``stats`` and ``columns`` read."""
        return X[rows]

    def prepare(self, rows: Floats) -> Any:
        """Return a block's numbers for each class and example, (k, n), as ``stats`` reads them.

        Called once a round and block. They are residuals or curvatures. Where there is an
        intercept, the residual comes less its weighted mean: that equals correlating with
        centred columns, and no atom's mean need be known.
        """
        return cast(rows, self.sums_dtype_)

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return a statistic of the block for a part's atoms; it adds over blocks.

        ``data`` is a block, as ``encode`` made it, ``rows`` its residual or curvature, as
        ``prepare`` made it, and ``out`` the statistic of earlier blocks, to add to and return.
        ``squares`` tells whether it is for ``moments``, else for ``correlations``.

        Here it is the sums of rows times scaled columns, which are written out for some rows at a
        time; for squares above those of rows times their squares. A pool that knows how to sum
        without its columns has an order of magnitude to gain.
        """
        features, k = self.features(np.arange(part.start, part.stop)), rows.shape[0]
        columns = part if self.edges_ is None else slice(*self.edges_[[part.start, part.stop]])
        xp, like = namespace(rows), {"device": rows.device}
        pivot, scale = (xp.asarray(v[columns], **like) for v in (self.pivot_, self.scale_))
        shape = k * (1 + squares), features.n_columns
        sums = xp.zeros(shape, dtype=xp.float64, **like)
        for some in _written(features, data):
            written = to_float64(dense(features.columns(data[some])))
            z = xp.asarray((written - pivot) / scale, dtype=rows.dtype)
            sums[:k] += rows[:, some] @ z
            if squares:
                sums[k:] += rows[:, some] @ z**2
        return added(out, sums)

    def correlations(self, stats: Sums, part: slice) -> Sums:
        """Return the sum over examples of ``rows * column / scale``, (k, columns of the part)."""
        return stats

    def moments(self, stats: Sums, part: slice) -> tuple[Sums, Sums]:
        """Return the sums of ``rows * column / scale`` and of ``rows * (column / scale)**2``.

        Both are (k, columns of the part), and ``stats`` was made with ``squares``. Where the
        columns are trained on about their mean, each may be taken less a number of its own,
        the same in every call: what is asked for is a variance.
        """
        k = len(stats) // 2
        return stats[:k], stats[k:]

    def columns(self, data: Any, atom: int) -> Floats:
        """Return the columns of one atom on a block, (columns of the atom, n), in X's units."""
        return dense(self.features([atom]).columns(data)).T

    def scales(self, atom: int) -> NDArray[np.float64]:
        """Return what each of the atom's columns is divided by in training."""
        return self.scale_[[atom] if self.edges_ is None else slice(*self.edges_[atom : atom + 2])]

    def _learned(self, name: str) -> Any:
        """Return an array that ``learn`` set, where the sums of a block are."""
        return getattr(self, name)


def _written_powers(features: Features, X: Any, weight: Vector) -> Powers:
    """Return the powers of the columns of features on a block, which are written out."""
    parts = [
        powers(to_float64(dense(features.columns(X[some]))), weight[some])
        for some in _written(features, X)
    ]
    return reduce(joined_powers, parts)


def _written(features: Features, X: Any) -> list[slice]:
    """Return ranges of rows whose columns take about ``WRITTEN_BYTES``; at least one."""
    step = max(1, WRITTEN_BYTES // (8 * max(1, features.n_columns)))
    return ranges(X.shape[0], step) or [slice(0, 0)]


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
        return self.total.size

    @property
    def tag(self) -> tuple[int, ...]:
        """A tuple as long as there are classes; empty where they are too many to compile for."""
        return (0,) * self.n_classes if self.n_classes <= MOST_TAGGED else ()


class Stored(NamedTuple):
    """Entries of a block's columns; all others of a column have one value in common.

    Column j has the entries from ``pointers[j]`` to ``pointers[j + 1]``, no two of one example.
    """

    values: NDArray[Any]  # (stored,)
    examples: NDArray[np.unsignedinteger]  # (stored,), the row in the block of each
    pointers: NDArray[np.integer]  # (columns + 1,)
    n_examples: int

    @classmethod
    def of(cls, X: Any, rows: slice) -> Stored:
        """Return the entries of some rows of a sparse matrix."""
        block = X[rows].tocsc()
        block.sum_duplicates()
        examples = block.indices.astype(example_type(block.shape[0]))
        return cls(block.data, examples, block.indptr, block.shape[0])

    def column(self, column: int, common: Any, dtype: Any) -> NDArray[Any]:
        """Return a column as (n,), with the value that its other entries have."""
        values = np.full(self.n_examples, common, dtype=dtype)
        entries = slice(*self.pointers[column : column + 2])
        values[self.examples[entries]] = self.values[entries]
        return values


def example_type(n_examples: int) -> np.dtype[Any]:
    """Return a type for the rows of a block: two bytes, which tell those of a usual one apart."""
    return np.promote_types(np.uint16, np.min_scalar_type(n_examples))


def added(out: Any, stats: Any) -> Any:
    """Return ``out + stats``, in place, or the stats alone where there is no ``out``."""
    if out is None:
        return stats
    out += stats
    return out


def rounding_of(pool: Pool) -> float:
    """Return the relative difference of scores below which they are tied."""
    return 1e-9 if pool.sums_dtype_ == np.float64 else 1e-5


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
