"""Arrays of NumPy and tensors of torch alike: what a core that imports no torch knows of both."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import local
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.externals.array_api_compat import array_namespace, device

_scratch = local()

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
    if isinstance(array, (np.ndarray, np.generic)):
        return np.asarray(array, dtype=dtype)
    return array.to(getattr(namespace(array), dtype.name))


def to_float64(array: Array) -> Array:
    """Return the array in float64, itself where it has that type."""
    return cast(array, np.dtype(np.float64))


def copied(array: Array) -> Array:
    """Return a copy."""
    return array.copy() if isinstance(array, np.ndarray) else array.clone()


def numbers(scalars: Sequence[Scalar]) -> list[float]:
    """Return scalars, and vectors of them, as one list of numbers, fetched all at once."""
    tensor = next(
        (s for s in scalars if not isinstance(s, (np.ndarray, np.generic, float, int))), None
    )
    if tensor is None:
        parts = [s.tolist() if np.ndim(s) else [float(s)] for s in scalars]
        return [number for part in parts for number in part]
    xp = namespace(tensor)
    like = {"dtype": xp.float64, "device": tensor.device}
    return xp.concatenate([xp.asarray(s, **like).reshape(-1) for s in scalars]).tolist()


def less_mean(residual: Array, mean: Array, weight: Array) -> Array:
    """Return ``residual - mean * weight``, (k, n), which holds until this is called again.

    NumPy's is in memory of the thread's own. New memory may come with a page fault for every 4 KiB
    of it, as on Dask's workers, which give back what is freed: the faults took four times as long
    as the sums.
    """
    if not isinstance(residual, np.ndarray):
        return residual - mean[:, None] * weight
    flat = getattr(_scratch, "numbers", np.empty(0))
    if flat.size < residual.size:
        flat = _scratch.numbers = np.empty(residual.size)
    out = flat[: residual.size].reshape(residual.shape)
    np.multiply(mean[:, None], weight, out=out)
    return np.subtract(residual, out, out=out)


class Segments:
    """n values in segments, which begin at the starts, and the sums of each."""

    def __init__(self, starts: Starts, n: int):
        self._starts = None if len(starts) == n else np.asarray(starts)
        self._lengths: Any = np.diff([*starts, n])  # a tensor once tensors are summed

    def sums(self, values: Array) -> Array:
        """Return the sums of values, (n,), from each start up to the next."""
        if self._starts is None:
            return values
        if isinstance(values, np.ndarray):
            return np.add.reduceat(values, self._starts)
        xp = namespace(values)
        self._lengths = xp.asarray(self._lengths, device=values.device)
        return xp.segment_reduce(values, "sum", lengths=self._lengths, unsafe=True)


def numpy_type(rows: Any) -> np.dtype[Any]:
    """Return the NumPy type of the numbers in an array, a matrix of SciPy or a tensor."""
    return np.dtype(str(rows.dtype).removeprefix("torch."))


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


def is_host(X: Any) -> bool:
    """Return whether X is an array of NumPy or a matrix of SciPy."""
    return isinstance(X, np.ndarray) or sp.issparse(X)


def standard_namespace(X: Any) -> Any:
    """Return the module of functions on arrays like X, after the array API standard."""
    return array_namespace(np.empty(0) if sp.issparse(X) else X)


def beside(X: Any, values: NDArray[Any]) -> Any:
    """Return NumPy's values as an array where X is."""
    return values if is_host(X) else standard_namespace(X).asarray(values.copy(), device=device(X))


def empty_beside(X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array where X is, to be filled."""
    return standard_namespace(X).empty(shape, dtype=dtype, device=None if is_host(X) else device(X))


def columns_type(X: Any, least: Any = np.float32) -> Any:
    """Return the type of X's module in which columns of X are computed.

    Float32 where it holds every number of X and of the type ``least``, else float64.
    """
    if is_host(X):
        return np.result_type(float_type(X.dtype), least)
    brief = str(X.dtype) == "torch.bfloat16"  # which NumPy has not
    values = np.dtype(np.float32) if brief else numpy_type(X)
    return getattr(standard_namespace(X), np.result_type(float_type(values), least).name)


def taken(X: Any, columns: NDArray[np.intp]) -> Any:
    """Return some columns of X, dense, (rows, columns)."""
    return dense(X.tocsc()[:, columns]) if sp.issparse(X) else X[:, beside(X, columns)]


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
