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


def pandas_for(arrays: str) -> Any:
    """Return pandas; where there is none, say how to get it and which arrays need none."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"to_frame needs pandas: install it, or shareboost[pandas]. The arrays {arrays} need "
            "nothing."
        ) from error
    return pandas


def labelled(
    contributions: Any, X: Any, classes: NDArray[Any], names: Callable[[], Sequence[str]]
) -> Any:
    """Return contributions to scores as a frame of X's kind, as they are where X is no frame.

    They are (rows, features), or (rows, classes, features). Frames of pandas have pairs of a class
    and a feature as columns then, those of polars a struct for each class.
    """
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        columns: Any = names()
        if contributions.ndim == 3:
            pairs = [classes, columns]
            columns = pandas.MultiIndex.from_product(pairs, names=["class", "feature"])
        flat = contributions.reshape(len(X), len(columns))
        return pandas.DataFrame(flat, index=X.index, columns=columns)
    if polars is not None and isinstance(X, polars.DataFrame):
        schema = names()
        if contributions.ndim == 2:
            return polars.DataFrame(contributions, schema=schema)
        return polars.DataFrame(
            [
                polars.DataFrame(contributions[:, q], schema=schema).to_struct(str(label))
                for q, label in enumerate(classes.tolist())
            ]
        )
    return contributions
