"""All products of two columns as candidates, never written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..arguments import one_of
from ..progress import track
from .base import (
    PART_BYTES,
    SCALES,
    Atoms,
    Features,
    Floats,
    Pool,
    float_type,
    ranges,
    sums_type,
    weights_or_ones,
)

# A part holds the products of up to so many columns with all others. Measured on Isolet:
# matrix products of 32 columns run at full speed.
PART_COLUMNS = 32
# Rows of X are read in chunks of this many when the scales are computed.
CHUNK_ROWS = 2048


@dataclass(frozen=True)
class ProductFeatures(Features):
    """Chosen products, by their two columns; a first column of -1 stands for the constant 1."""

    ids: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    dtype: np.dtype[Any]  # wide enough for the products of the training rows

    def columns(self, X: Any) -> Any:
        dtype = np.result_type(float_type(X.dtype), self.dtype)
        if sp.issparse(X):
            X = X.tocsc()
            left = X[:, np.maximum(self.left, 0)].toarray()
            right = X[:, self.right].toarray()
        else:
            left, right = X[:, np.maximum(self.left, 0)], X[:, self.right]
        left = left.astype(dtype)
        left[:, self.left < 0] = 1.0
        left *= right
        return left

    def names(self, input_names: Sequence[str]) -> list[str]:
        return [_name(input_names, i, j) for i, j in zip(self.left, self.right, strict=True)]

    def first(self, n_atoms: int) -> ProductFeatures:
        n = n_atoms
        return ProductFeatures(self.ids[:n], self.left[:n], self.right[:n], self.dtype)


def _name(input_names: Sequence[str], i: int, j: int) -> str:
    if i < 0:
        return str(input_names[j])
    return f"{input_names[i]}²" if i == j else f"{input_names[i]} · {input_names[j]}"


class Products(Pool):
    """All products ``x_i * x_j`` of two columns, ``i < j``.

    Parameters
    ----------
    squares : bool, default=False
        Whether ``x_i * x_i`` is among them.
    linear : bool, default=False
        Whether the plain columns are too, before all products.
    scale : {"deviation", "maxabs", "none"}, default="deviation"
        What a product is divided by before it is scored and trained on, as for
        ``Columns``. ``"maxabs"`` divides by the largest magnitudes of its two columns.

    Notes
    -----
    The correlations of all products with class q's residual are the entries of
    ``X^T diag(R_q) X``: a matrix product a class and a round. Of each product only its
    scale is kept, and whether it varies. One that does not, or by less than a 3e-7th of
    its size (as of two columns of time stamps), is never chosen: subtract an offset first.

    Sparse input stays sparse.
    """

    def __init__(self, squares: bool = False, linear: bool = False, scale: str = "deviation"):
        self.squares = squares
        self.linear = linear
        self.scale = scale

    def fit(self, X: Any, weight: NDArray[np.float64] | None = None, centred: bool = True) -> Self:
        one_of("scale", self.scale, SCALES, "Products")
        d = X.shape[1]
        own = np.arange(d, 0, -1) - (0 if self.squares else 1)
        # Where the products of each first column start; the first "column" is the constant 1.
        self.starts_ = np.cumsum([0, d if self.linear else 0, *own])
        self.n_columns_in_ = d
        self.n_atoms_ = int(self.starts_[-1])
        if self.n_atoms_ == 0:
            raise ValueError(
                "X has one column, of which there is no product: Products takes at least 2 "
                "columns, or squares=True."
            )
        unit = _largest_of_columns(X)
        unit[unit == 0.0] = 1.0
        self.scale_ = np.ones(self.n_atoms_)
        self.varies_ = np.zeros(self.n_atoms_, dtype=bool)
        share = weights_or_ones(X, weight)
        share = share / share.sum()
        X = X.tocsr() if sp.issparse(X) else X
        farthest, sizes = 0.0, [1.0]
        parts = self.parts(1)
        for part in track(parts, "scales of products", len(parts)):
            left, right = self._factors(np.arange(part.start, part.stop))
            size = np.where(left < 0, 1.0, unit[left]) * unit[right]
            mean, square = self._moments(X, unit, share, part)  # in units of that size
            variance = np.maximum(square - mean**2, 0.0)
            # Below this, what is left of the difference is rounding.
            varies = variance > 1e-13 * square
            deviation = np.sqrt(variance if centred else square) * size
            scale = {"deviation": deviation, "maxabs": size, "none": np.ones_like(size)}
            self.scale_[part] = np.where(varies, scale[self.scale], 1.0)
            self.varies_[part] = varies
            offset = np.abs(mean[varies]) / np.sqrt(variance[varies])
            farthest = max(farthest, offset.max(initial=0.0))
            sizes += [size[varies].min(initial=1.0), size[varies].max(initial=1.0)]
        # A column must hold the products themselves, a sum also what they have in common.
        none, spread = np.empty(0), np.array(sizes)
        self.dtype_ = sums_type(float_type(X.dtype), none, spread)
        self.sums_dtype_ = sums_type(self.dtype_, np.array([farthest]), none)
        return self

    def parts(self, n_classes: int) -> list[slice]:
        check_is_fitted(self, "n_columns_in_")
        d = self.n_columns_in_
        step = max(1, min(PART_COLUMNS, PART_BYTES // (8 * n_classes * d)))
        edges = [0, 1, *range(1 + step, d + 1, step), d + 1]
        starts = self.starts_[edges].tolist()
        return [slice(a, b) for a, b in pairwise(starts) if b > a]

    def encode(self, X: Any, rows: slice) -> Any:
        check_is_fitted(self)
        return X[rows].tocsc() if sp.issparse(X) else X[rows]

    def stats(
        self,
        data: Any,
        residual: Floats,
        part: slice,
        out: NDArray[np.float64] | None = None,
    ) -> Floats:
        """Return the correlations, (k, atoms of the part)."""
        if out is None:
            out = np.zeros((residual.shape[0], part.stop - part.start))
        first = int(np.searchsorted(self.starts_, part.start, side="right")) - 2
        if first < 0:
            values = data.astype(residual.dtype, copy=False)
            out += (values.T @ residual.T).T
            return out
        last = int(np.searchsorted(self.starts_, part.stop)) - 1
        right = data[:, first:].astype(residual.dtype, copy=False)
        left = right[:, : last - first]
        for total, by_row in zip(out, residual, strict=True):
            if sp.issparse(right):
                found = (left.multiply(by_row[:, None]).T @ right).toarray()
            else:
                found = (left * by_row[:, None]).T @ right
            for i in range(first, last):
                start, stop = self.starts_[i + 1 : i + 3] - part.start
                total[start:stop] += found[i - first, found.shape[1] - (stop - start) :]
        return out

    def scores(self, stats: NDArray[np.float64], part: slice) -> NDArray[np.float64]:
        norms = np.abs(stats).sum(axis=0) / self.scale_[part]
        norms[~self.varies_[part]] = -np.inf
        return norms

    def columns(self, data: Any, atom: int) -> Floats:
        return self.features([atom]).columns(data).T

    def scales(self, atom: int) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.scale_[[atom]]

    def features(self, atoms: Atoms) -> ProductFeatures:
        check_is_fitted(self)
        ids = np.asarray(atoms, dtype=np.intp)
        return ProductFeatures(ids, *self._factors(ids), self.dtype_)

    def _factors(self, atoms: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the two columns of each product, -1 for the constant."""
        left = np.searchsorted(self.starts_, atoms, side="right") - 2
        # The last product of any first column is with the last column.
        return left, self.n_columns_in_ - (self.starts_[left + 2] - atoms)

    def _moments(
        self, X: Any, unit: NDArray[np.float64], share: NDArray[np.float64], part: slice
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weighted mean of a part's products and of their squares.

        The columns are divided by their units, so that no square overflows.
        """
        n = part.stop - part.start
        mean, square = np.zeros((1, n)), np.zeros((1, n))
        for rows in ranges(X.shape[0], CHUNK_ROWS):
            chunk = X[rows].astype(np.float64)
            chunk = sp.csc_array(chunk.multiply(1.0 / unit)) if sp.issparse(X) else chunk / unit
            squared = chunk.multiply(chunk) if sp.issparse(chunk) else chunk**2
            self.stats(chunk, share[None, rows], part, mean)
            self.stats(squared, share[None, rows], part, square)
        return mean[0], square[0]


def _largest_of_columns(X: Any) -> NDArray[np.float64]:
    """Return the largest magnitude of every column."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return np.maximum(-low.astype(np.float64), high.astype(np.float64))
