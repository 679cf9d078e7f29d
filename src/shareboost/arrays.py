"""Arrays of NumPy and tensors of torch alike: what a core that imports no torch knows of both."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = Any  # NumPy's, or a tensor of a torch device
Scalar = Any  # an array of no dimension, or a number
Starts = Sequence[int] | NDArray[np.intp]
Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


def namespace(array: Any) -> Any:
    """Return the module of functions on an array, numpy or torch."""
    return np if isinstance(array, (np.ndarray, np.generic)) else sys.modules["torch"]


def inner_products(left: Sequence[Array], right: Sequence[Array]) -> tuple[Array, ...]:
    """Return the products of all pairs of two vectors, the right ones first, as scalars or vectors.

    A device computes them at once, NumPy one by one: stacking takes it longer than they do.
    """
    if isinstance(left[0], np.ndarray):
        return tuple(one @ other for one in left for other in right)
    xp = namespace(left[0])
    return ((xp.stack(left) @ xp.stack(right).T).ravel(),)


def cast(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return the array in that NumPy type, itself where it has it."""
    xp = namespace(array)
    return xp.asarray(array, dtype=getattr(xp, dtype.name))


def numpy_type(rows: Any) -> np.dtype[Any]:
    """Return the NumPy type of the numbers in an array, a matrix of SciPy or a tensor."""
    own = rows.dtype
    return own if isinstance(own, np.dtype) else np.dtype(str(own).removeprefix("torch."))


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 where it holds every value of ``dtype``, else float64."""
    exact = np.result_type(dtype, np.float32)
    return np.dtype(np.float32) if exact == np.float32 else np.dtype(np.float64)


def ranges(n: int, step: int) -> list[slice]:
    """Return the slices of ``step`` that cover ``range(n)``."""
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def is_sparse(rows: Any) -> bool:
    """Return whether rows are a matrix of SciPy, or a tensor of compressed rows."""
    return sp.issparse(rows) or str(getattr(rows, "layout", "")) == "torch.sparse_csr"


def dense(rows: Any) -> Array:
    """Return a matrix of SciPy as an array; what is one already as it is."""
    return rows.toarray() if sp.issparse(rows) else rows
