"""All products of two columns as candidates, never written out."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..arrays import beside, columns_type, float_type, ranges, standard_namespace, taken
from ..progress import track
from ..validation import one_of
from .base import PART_BYTES, SCALES, Atoms, Floats, Pool, Sums, check_bounded
from .features import INPUTS, Choice, Features, Ids, Integers
from .table import Table, Vector, joined_powers, powers, sums_type

# A part holds the products of up to so many columns with all others. Measured on Isolet:
# matrix products of 32 columns run at full speed.
PART_COLUMNS = 32
# Rows of X are read in chunks of this many when the scales are computed.
CHUNK_ROWS = 2048
# Beyond this many deviations from zero, a variance from float32 sums of squares is rounding:
# they are right to 3e-7, of a thousand variances here.
LARGEST_OFFSET_OF_SQUARES = 30.0


@dataclass(frozen=True)
class ProductFeatures(Features):
    """Chosen products, by their two columns; a first column of -1 stands for the constant 1."""

    kind = "products"

    ids: Ids
    left: Annotated[NDArray[np.intp], Integers(low=-1, below=INPUTS)]
    right: Annotated[NDArray[np.intp], Integers(below=INPUTS)]
    # Wide enough for the products of the training rows.
    dtype: Annotated[
        np.dtype[Any], Choice("float", values=(np.dtype(np.float32), np.dtype(np.float64)))
    ]

    def inconsistency(self, n_columns_in: int) -> str | None:
        return "a left column beyond the right one" if (self.left > self.right).any() else None

    def columns(self, X: Any) -> Any:
        X = X.tocsc() if sp.issparse(X) else X
        factors = taken(X, np.maximum(self.left, 0))
        left = standard_namespace(X).astype(factors, columns_type(X, self.dtype))
        left[:, beside(X, self.left < 0)] = 1.0
        left *= taken(X, self.right)
        return left

    def names(self, input_names: Sequence[str]) -> list[str]:
        def name(i: int, j: int) -> str:
            if i < 0:
                return str(input_names[j])
            return f"{input_names[i]}²" if i == j else f"{input_names[i]} · {input_names[j]}"

        return [name(i, j) for i, j in zip(self.left, self.right, strict=True)]

    def parts(self, places: NDArray[np.intp]) -> Iterator[tuple[str, dict[str, Any]]]:
        single = self.dtype == np.float32  # rounded so of float32 input, as in training
        factors = {"left": self.left, "right": self.right}
        yield "products", {"places": places, **factors, "single": single}


class Products(Pool):
    """All products ``x_i * x_j`` of two columns, ``i < j``.

    Parameters
    ----------
    squares : bool, default=False
        Whether ``x_i * x_i`` is among them.
    linear : bool, default=False
        Whether the plain columns are too, before all products.
    scale : {"deviation", "maxabs", "none", "bounded"}, default="deviation"
        What a product is divided by before it is scored and trained on, as for
        ``Columns``. ``"maxabs"`` divides by the largest magnitudes of its two columns.

    Notes
    -----
    The correlations of all products with class q's residual are the entries of
    ``X^T diag(R_q) X``: a matrix product a class and a round. Of each product only its
    scale is kept, and whether it may be chosen. With an intercept, one that varies by less
    than 3e-7 of its size (as of two columns of time stamps) is never chosen: subtract an
    offset first. Without one, only a product that is zero everywhere is never chosen.

    Sparse input stays sparse.
    """

    usable_: NDArray[np.bool_]
    published: ClassVar[dict[str, Any]] = {"scale": "bounded"}

    def __init__(self, squares: bool = False, linear: bool = False, scale: str = "deviation"):
        self.squares = squares
        self.linear = linear
        self.scale = scale

    def learn(self, table: Table, centred: bool) -> None:
        one_of("scale", self.scale, SCALES, "Products")
        d = self.n_columns_in_ = table.n_columns
        sizes = np.arange(d, 0, -1) - (0 if self.squares else 1)
        # Where the products of each first column start; the first "column" is the constant 1.
        self.starts_ = np.cumsum([0, d if self.linear else 0, *sizes])
        self.n_atoms_ = int(self.starts_[-1])
        if self.n_atoms_ == 0:
            raise ValueError(
                "X has one column, of which there is no product: Products takes at least 2 "
                "columns, or squares=True."
            )
        of_columns = table.ask(powers, joined_powers, "sizes of columns")
        largest = np.maximum(-of_columns.low, of_columns.high)
        if self.scale == "bounded":
            check_bounded(largest, "scale")
        # What each column is divided by before it is squared.
        self.unit_ = np.where(largest == 0.0, 1.0, largest)
        self._set_scales(table, of_columns.total, centred)

    def _set_scales(self, table: Table, total: float, centred: bool) -> None:
        """Set all that the moments of the products tell."""

        def answer_size(part: slice) -> int:
            return 16 * (part.stop - part.start)

        question = partial(_moments_of_parts, self, total)
        moments = table.ask_each(
            self.parts(1), answer_size, question, operator.add, "scales of products"
        )
        scale = np.ones(self.n_atoms_)
        may_be_chosen = np.zeros(self.n_atoms_, dtype=bool)
        farthest, sizes = 0.0, [1.0]
        for part, (mean, square) in moments:  # in units of its size
            size = self._sizes(part)
            variance = np.maximum(square - mean**2, 0.0)
            # Below this, what is left of the difference is rounding.
            varies = variance > 1e-13 * square
            with np.errstate(over="ignore", invalid="ignore"):
                deviation = np.sqrt(variance if centred else square) * size
            scales = {"deviation": deviation, "maxabs": size}
            usable = varies if centred else square > 0.0
            scale[part] = np.where(usable, scales.get(self.scale, 1.0), 1.0)
            may_be_chosen[part] = usable
            offset = np.abs(mean[varies]) / np.sqrt(variance[varies])
            farthest = max(farthest, offset.max(initial=0.0))
            sizes += [size[usable].min(initial=1.0), size[usable].max(initial=1.0)]
        self.scale_, self.usable_ = scale, may_be_chosen
        # A column must hold the products themselves, a sum also what they have in common.
        none, spread = np.empty(0), np.array(sizes)
        self.dtype_ = sums_type(float_type(table.dtype), none, spread)
        self.sums_dtype_ = sums_type(self.dtype_, np.array([farthest]), none)
        far = farthest > LARGEST_OFFSET_OF_SQUARES
        self.squares_dtype_ = np.dtype(np.float64) if far else self.sums_dtype_

    def widen(self) -> Self:
        self.squares_dtype_ = np.dtype(np.float64)
        return super().widen()

    def parts(self, n_classes: int) -> list[slice]:
        d = self.n_columns_in_
        step = max(1, min(PART_COLUMNS, PART_BYTES // (8 * n_classes * d)))
        edges = [0, 1, *range(1 + step, d + 1, step), d + 1]
        starts = self.starts_[edges].tolist()
        return [slice(a, b) for a, b in pairwise(starts) if b > a]

    def encode(self, X: Any, rows: slice) -> Any:
        check_is_fitted(self)
        return X[rows].tocsc() if sp.issparse(X) else X[rows]

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return the sums of ``rows * product``, (k, atoms of the part).

        For squares those of products of columns in their units, above those of their squares.
        """
        if out is None:
            out = np.zeros((rows.shape[0] * (1 + squares), part.stop - part.start))
        if squares:
            self._add_squares(data, rows.astype(self.squares_dtype_, copy=False), part, out)
        else:
            first = self._first_column(part)
            self._add(data[:, first:].astype(rows.dtype, copy=False), rows, part, out)
        return out

    def correlations(self, stats: Sums, part: slice) -> Sums:
        return stats / self._learned("scale_")[part]

    def moments(self, stats: Sums, part: slice) -> tuple[Sums, Sums]:
        ratio = np.where(self.usable_[part], self._sizes(part) / self.scale_[part], 1.0)
        factor, k = beside(stats, ratio), len(stats) // 2
        return stats[:k] * factor, stats[k:] * factor**2

    def features(self, atoms: Atoms) -> ProductFeatures:
        ids = np.asarray(atoms, dtype=np.intp)
        return ProductFeatures(ids, *self._factors(ids), self.dtype_)

    def _factors(self, atoms: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the two columns of each product, -1 for the constant."""
        left = np.searchsorted(self.starts_, atoms, side="right") - 2
        # The last product of any first column is with the last column.
        return left, self.n_columns_in_ - (self.starts_[left + 2] - atoms)

    def _sizes(self, part: slice) -> Vector:
        """Return the product of the units of each product's columns."""
        left, right = self._factors(np.arange(part.start, part.stop))
        with np.errstate(over="ignore"):  # a product that is too large is refused once scored
            return np.where(left < 0, 1.0, self.unit_[left]) * self.unit_[right]

    def _first_column(self, part: slice) -> int:
        """Return the leftmost column of a part's products."""
        return max(0, int(np.searchsorted(self.starts_, part.start, side="right")) - 2)

    def _moments(self, X: Any, share: Vector, part: slice) -> tuple[Vector, Vector]:
        """Return the weighted mean of a part's products and of their squares, in their units."""
        total = np.zeros((2, part.stop - part.start))
        for rows in ranges(X.shape[0], CHUNK_ROWS):
            self._add_squares(self.encode(X, rows), share[None, rows], part, total)
        return total[0], total[1]

    def _add_squares(self, data: Any, rows: Floats, part: slice, out: Vector) -> None:
        """Add the sums for the products, and below them those for their squares, to out.

        The columns are divided by their units, so that no square overflows.
        """
        first = self._first_column(part)
        columns = _divided(data[:, first:], self.unit_[first:], rows.dtype)
        squared = columns.multiply(columns) if sp.issparse(columns) else columns**2
        for values, sums in zip((columns, squared), np.split(out, 2), strict=True):
            self._add(values, rows, part, sums)

    def _add(self, right: Any, rows: Floats, part: slice, out: Vector) -> None:
        """Add the sums of ``rows * product`` to out, for columns from the part's first on."""
        if part.start < self.starts_[1]:  # the plain columns
            out += (right.T @ rows.T).T
            return
        first = self._first_column(part)
        last = int(np.searchsorted(self.starts_, part.stop)) - 1
        left = right[:, : last - first]
        for total, by_row in zip(out, rows, strict=True):
            if sp.issparse(right):
                pairs = (left.multiply(by_row[:, None]).T @ right).toarray()
            else:
                pairs = (left * by_row[:, None]).T @ right
            for i in range(first, last):
                start, stop = self.starts_[i + 1 : i + 3] - part.start
                total[start:stop] += pairs[i - first, pairs.shape[1] - (stop - start) :]


def _divided(data: Any, unit: Vector, dtype: np.dtype[Any]) -> Any:
    """Return the columns, each divided by its unit."""
    if not sp.issparse(data):
        return data.astype(dtype, copy=False) / unit.astype(dtype)
    values = sp.csc_array(data.astype(dtype))
    values.data /= np.repeat(unit.astype(dtype), np.diff(values.indptr))
    return values


def _moments_of_parts(
    pool: Products, total: float, parts: list[slice], X: Any, weight: Vector
) -> list[Vector]:
    """Return a block's share of the moments of some parts, (2, atoms of the part) each."""
    X, share = X.tocsr() if sp.issparse(X) else X, weight / total
    moments = (np.stack(pool._moments(X, share, part)) for part in parts)
    return list(track(moments, "scales of products", len(parts)))
