"""Dask's arrays and frames as tables of rows: their shape, and the names of their columns."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import scipy.sparse as sp
from sklearn.utils.validation import _check_feature_names, _check_n_features


def check_table(X: Any) -> None:
    """Raise for what is no table of known columns."""
    # Delayed values have any attribute that one asks for.
    if not hasattr(type(X), "npartitions") or getattr(X, "ndim", None) != 2:
        ndim = f" of {X.ndim} dimensions" if isinstance(X, da.Array) else ""
        raise ValueError(
            f"X is Dask's {type(X).__name__}{ndim}: it takes its arrays of two dimensions, (rows, "
            "columns), and its DataFrames."
        )
    if math.isnan(X.shape[1]):
        raise ValueError("X has an unknown number of columns: call X.compute_chunk_sizes() first.")
    if X.shape[1] == 0:
        raise ValueError("X has no columns: it takes at least one.")


def check_columns(estimator: Any, X: Any) -> None:
    """Raise for what is no table, or has other columns than an estimator learned."""
    check_table(X)
    _check_feature_names(estimator, X._meta, reset=False)
    _check_n_features(estimator, X, reset=False)


def whole_rows(X: da.Array) -> da.Array:
    """Return the array with whole rows in every block."""
    if X.numblocks[1] == 1:
        return X
    if not hasattr(X._meta, "__array_function__") and not sp.issparse(X._meta):
        raise ValueError(
            f"X has {X.numblocks[1]} chunks of columns and blocks of {type(X._meta).__name__}, "
            "which Dask cannot join: rechunk it to whole rows before they become such."
        )
    return X.rechunk({1: -1})
