"""What a pool of candidate features must answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..arrays import cast, dense
from ..kernels import MOST_TAGGED, WIDTH
from .moments import Moments, moments_of, scaling
from .numbers import float_type, ranges
from .table import Table, Whole
from .written_out import WrittenOut, sums_of_columns

if TYPE_CHECKING:
    from .features import Features

# Weights over a smaller scale may overflow float64.
SMALLEST_SCALE = 1e-305

# What columns, and products of them, may be divided by.
SCALES = ("deviation", "maxabs", "none", "bounded")
# The power of its standard deviation that a column is divided by, by the scale's name.
POWERS = {"root": 0.5, "deviation": 1.0, "none": 0.0}

# Atoms whose columns are written out at a time, where a pool knows no faster sums.
MOST_WRITTEN = 256
# What the statistics of a part take, about, where the atoms can be split so far.
PART_BYTES = 1 << 22

Floats = NDArray[np.floating]
Atoms = Sequence[int] | NDArray[np.intp]


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

    A pool must have two methods: ``learn`` and ``features``, whose ``columns`` then make all else
    that is asked of it, in NumPy, on a torch device or on a cluster. What a pool overrides beside
    them makes it fast.
    """

    n_atoms_: int
    dtype_: np.dtype[Any]
    sums_dtype_: np.dtype[Any]

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
        return vars(self).get("usable_")

    @property
    def divisors(self) -> NDArray[np.float64] | None:
        """What the score of each atom is divided by, ``(n_atoms_,)``; None for 1."""
        return None

    def starts(self, part: slice) -> NDArray[np.intp]:
        """Return where the columns of each atom of a part start among those of the part."""
        if (edges := vars(self).get("edges_")) is None:
            return np.arange(part.stop - part.start)
        return edges[part] - edges[part.start]

    def reads(self, n_columns_in: int) -> sp.csr_array | None:
        """Return which of X's columns each atom reads; None for all.

        The shape is ``(n_atoms_, n_columns_in)``.
        """
        return self.features(np.arange(self.n_atoms_)).reads(n_columns_in)

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
        widths, found = [], []
        for atoms in ranges(self.n_atoms_, MOST_WRITTEN):
            features = self.features(np.arange(atoms.start, atoms.stop))
            widths.append(features.widths)
            found.append(moments_of(WrittenOut(table, features)))
        moments = Moments(*map(np.concatenate, zip(*found, strict=True)))
        self.edges_ = np.cumsum([0, *np.concatenate(widths)])
        self.dtype_ = float_type(table.dtype)
        usable, deviation, self.pivot_, self.sums_dtype_ = scaling(moments, self.dtype_, centred)
        self.scale_ = np.where(usable, deviation, 1.0)
        self.usable_ = np.logical_or.reduceat(usable, self.edges_[:-1])

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
        return ranges(self.n_atoms_, max(1, min(MOST_WRITTEN, PART_BYTES // (8 * n_classes))))

    def encode(self, X: Any, rows: slice) -> Any:
        """Return a block of rows of X in the form that ``stats`` and ``columns`` read."""
        check_is_fitted(self)
        return X[rows]

    def prepare(self, rows: Floats) -> Any:
        """Return a block's numbers for each class and example, (k, n), as ``stats`` reads them.

        Called once a round and block. They are residuals or curvatures. Where there is an
        intercept, the residual comes less its weighted mean: that equals correlating with
        centred columns, and no atom's mean need be known.
        """
        return cast(rows, self.sums_dtype_)

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

        Notes
        -----
        Here it is the sums of rows times scaled columns, which are written out for some rows at a
        time; for squares above those of rows times their squares. A pool that knows how to sum
        without its columns has an order of magnitude to gain.
        """
        features = self.features(np.arange(part.start, part.stop))
        own = slice(self.edges_[part.start], self.edges_[part.stop])
        pivot, scale = self.pivot_[own], self.scale_[own]
        found = sums_of_columns(features, data, rows, pivot, scale, squares)
        return added(out, found)

    def correlations(self, stats: NDArray[np.float64], part: slice) -> NDArray[np.float64]:
        """Return the sum over examples of ``rows * column / scale``, (k, columns of the part)."""
        return stats

    def moments(
        self, stats: NDArray[np.float64], part: slice
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
        edges = vars(self).get("edges_")
        return self.scale_[[atom] if edges is None else slice(*edges[atom : atom + 2])]

    @abstractmethod
    def features(self, atoms: Atoms) -> Features:
        """Return the given atoms as plain arrays, apart from the pool."""


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


def added(out: Any, stats: Any) -> Any:
    """Return ``out + stats``, in place, or the stats alone where there is no ``out``."""
    if out is None:
        return stats
    out += stats
    return out
