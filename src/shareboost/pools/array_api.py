"""Rows of X in NumPy, SciPy or a module of the array API standard, such as torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.externals.array_api_compat import array_namespace, device

from ..arrays import dense, float_type, numpy_type


def is_host(X: Any) -> bool:
    """Return whether X is an array of NumPy or a matrix of SciPy."""
    return isinstance(X, np.ndarray) or sp.issparse(X)


def namespace(X: Any) -> Any:
    """Return the module of functions on arrays like X, after the array API standard."""
    return array_namespace(np.empty(0) if sp.issparse(X) else X)


def beside(X: Any, values: NDArray[Any]) -> Any:
    """Return NumPy's values as an array where X is."""
    return values if is_host(X) else namespace(X).asarray(values.copy(), device=device(X))


def empty_beside(X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array where X is, to be filled."""
    return namespace(X).empty(shape, dtype=dtype, device=None if is_host(X) else device(X))


def columns_type(X: Any, least: Any = np.float32) -> Any:
    """Return the type of X's module in which columns of X are computed.

    Float32 where it holds every number of X and of the type ``least``, else float64.
    """
    if is_host(X):
        return np.result_type(float_type(X.dtype), least)
    brief = str(X.dtype) == "torch.bfloat16"  # which NumPy has not
    values = np.dtype(np.float32) if brief else numpy_type(X)
    return getattr(namespace(X), np.result_type(float_type(values), least).name)


def taken(X: Any, columns: NDArray[np.intp]) -> Any:
    """Return some columns of X, dense, (rows, columns)."""
    return dense(X.tocsc()[:, columns]) if sp.issparse(X) else X[:, beside(X, columns)]
