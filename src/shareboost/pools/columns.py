"""The plain columns of X as candidates, dense or sparse, section 2 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from .base import Pool

# Rows are read in chunks of about this many bytes, so that a conversion (integers, or
# moments in float64) never makes a second copy of X.
CHUNK_BYTES = 1 << 22

# Beyond this ratio of a column's size to its spread, float32 sums lose its variation.
LARGEST_OFFSET_IN_FLOAT32 = 1e3

SCALES = ("deviation", "maxabs", "none")


@dataclass(frozen=True)
class ColumnFeatures:
    """Chosen columns of X, by index."""

    ids: NDArray[np.intp]

    @property
    def n_columns(self) -> int:
        return int(self.ids.size)

    def columns(self, X: Any) -> Any:
        if sp.issparse(X) and X.format not in ("csr", "csc"):
            X = X.tocsc()
        return X[:, self.ids]

    def names(self, input_names: Sequence[str]) -> list[str]:
        return [str(input_names[j]) for j in self.ids]

    def first(self, n_atoms: int) -> ColumnFeatures:
        return ColumnFeatures(self.ids[:n_atoms])


class Columns(Pool):
    """All columns of X, each divided by its scale.

    Parameters
    ----------
    scale : {"deviation", "maxabs", "none"}, default="deviation"
        What a column is divided by before it is scored and trained on. The scale folds
        back into the model's weights, which speak of the user's own units.

        - ``"deviation"``: its weighted standard deviation.
        - ``"maxabs"``: its largest magnitude, so that ``-1 <= x <= 1`` as the paper's
          analysis assumes. A heavy-tailed column (word counts) all but vanishes.
        - ``"none"``: 1; the columns are taken as they come.

    Notes
    -----
    No column is ever shifted, so sparse input stays sparse: the centring that an
    intercept allows is done on the sums. A constant column is never chosen.

    Float32, 8-bit and 16-bit integer input is computed in float32, all other input in
    float64, chunk by chunk.
    """

    def __init__(self, scale: str = "deviation"):
        self.scale = scale

    def fit(self, X: Any, weight: NDArray[np.float64]) -> Self:
        if self.scale not in SCALES:
            raise ValueError(
                f"scale={self.scale!r} is not valid for Columns: it takes one of {SCALES}."
            )
        moments = _sparse_moments if sp.issparse(X) else _dense_moments
        low, high, mean, deviation = moments(X, weight)
        if self.scale == "deviation" and not np.isfinite(deviation).all():
            raise ValueError(
                "X is not valid for Columns(scale='deviation'): the variance of column "
                f"{np.argmin(np.isfinite(deviation))} overflows. Use scale='maxabs' or smaller "
                "units."
            )
        largest = np.maximum(np.abs(low), np.abs(high))
        rounding = 10 * np.finfo(np.result_type(X.dtype, np.float32)).eps
        varies = (low < high) & ~(deviation <= rounding * largest)
        if self.scale == "deviation":
            scale = deviation
        elif self.scale == "maxabs":
            scale = largest
        else:
            scale = np.ones_like(mean)
        self.varies_ = varies
        self.scale_ = np.where(varies, scale, 1.0)
        self.mean_ = mean
        self.n_atoms_ = int(mean.size)
        self.dtype_ = _float_type(X.dtype)
        self._offset_is_large = bool(
            (np.abs(mean[varies]) > LARGEST_OFFSET_IN_FLOAT32 * deviation[varies]).any()
        )
        return self

    def encode(self, X: Any, rows: slice) -> Any:
        if sp.issparse(X):
            block = X[rows].tocsc()
            return block.astype(self._stats_dtype, copy=False)
        return X[rows]

    def stats(self, data: Any, residual: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the correlations, (k, d): ``residual @ data``."""
        residual = residual.astype(self._stats_dtype, copy=False)
        if sp.issparse(data):
            return (data.T @ np.ascontiguousarray(residual.T)).T
        if data.dtype == residual.dtype:
            return residual @ data
        total = np.zeros((residual.shape[0], data.shape[1]), dtype=residual.dtype)
        for rows in _chunks(data):
            total += residual[:, rows] @ data[rows].astype(residual.dtype)
        return total

    def scores(
        self, stats: NDArray[np.float64], residual_sum: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        norms = np.zeros(self.n_atoms_)
        for correlations, total in zip(stats, residual_sum, strict=True):
            norms += np.abs(correlations - total * self.mean_)
        norms /= self.scale_
        norms[~self.varies_] = -np.inf
        return norms

    def columns(self, data: Any, atom: int) -> NDArray[np.floating]:
        if sp.issparse(data):
            return data[:, [atom]].toarray().T
        return data[:, atom][np.newaxis]

    def scales(self, atom: int) -> NDArray[np.float64]:
        return self.scale_[[atom]]

    def features(self, atoms: Sequence[int]) -> ColumnFeatures:
        return ColumnFeatures(np.asarray(atoms, dtype=np.intp))

    @property
    def _stats_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64) if self._offset_is_large else self.dtype_


def _float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 where it holds every value of ``dtype``, else float64."""
    exact = np.result_type(dtype, np.float32)
    return np.dtype(np.float32) if exact == np.float32 else np.dtype(np.float64)


def _chunks(X: NDArray[Any]) -> list[slice]:
    step = max(1, CHUNK_BYTES // (8 * max(1, X.shape[1])))
    return [slice(i, i + step) for i in range(0, X.shape[0], step)]


Moments = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _dense_moments(X: NDArray[Any], weight: NDArray[np.float64]) -> Moments:
    """Return min, max, weighted mean and deviation of each column in one pass.

    The sums are taken about the row of largest weight. A point of the sample lies
    within sqrt(m - 1) deviations of the mean (Samuelson), so the one-pass variance
    loses at most a factor m of the precision, however far the columns are from zero.
    """
    d = X.shape[1]
    pivot = X[np.argmax(weight)].astype(np.float64)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    first, second = np.zeros(d), np.zeros(d)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _chunks(X):
            chunk = X[rows].astype(np.float64)
            np.minimum(low, chunk.min(axis=0), out=low)
            np.maximum(high, chunk.max(axis=0), out=high)
            chunk -= pivot
            first += weight[rows] @ chunk
            np.square(chunk, out=chunk)
            second += weight[rows] @ chunk
        total = weight.sum()
        first /= total
        variance = np.maximum(second / total - first**2, 0.0)
    return low, high, pivot + first, np.sqrt(variance)


def _sparse_moments(X: Any, weight: NDArray[np.float64]) -> Moments:
    """Return min, max, weighted mean and deviation of each column, zeros counted."""
    X = X.tocsc()
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    low, high = min_max_axis(X, axis=0)
    mean, variance = mean_variance_axis(X, axis=0, weights=weight.astype(X.dtype))
    return (
        low.astype(np.float64),
        high.astype(np.float64),
        mean.astype(np.float64),
        np.sqrt(np.maximum(variance, 0.0)).astype(np.float64),
    )
