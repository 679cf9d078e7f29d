"""Dask's arrays and frames as blocks of rows: their columns, their lengths, some of their rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import pairwise
from numbers import Number
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import collections_to_expr
from dask.core import flatten
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _check_feature_names, _check_n_features

from ...inputs import backend_name, on_host, rows_of
from ...validation import check_labels_of_one_type, checked_weights
from .executor import Graph, Key

# Where a frame has the lengths of its partitions, once they are counted.
COUNTED = "_shareboost_lengths"


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


def check_columns(estimator: Any, X: Any, learn: bool = False) -> None:
    """Raise for what is no table, or whose columns are not those that an estimator knows."""
    check_table(X)
    if learn and not hasattr(estimator, "device"):
        raise ValueError(
            f"X is Dask's, and {type(estimator).__name__} computes in NumPy: give X.compute()."
        )
    _check_feature_names(estimator, X._meta, reset=learn)
    _check_n_features(estimator, X, reset=learn)


def whole_rows(X: Any) -> Any:
    """Return a table with whole rows in every block."""
    if not isinstance(X, da.Array) or X.numblocks[1] == 1:
        return X
    if not hasattr(X._meta, "__array_function__") and not sp.issparse(X._meta):
        raise ValueError(
            f"X has {X.numblocks[1]} chunks of columns and blocks of {type(X._meta).__name__}, "
            "which Dask cannot join: rechunk it to whole rows before they become such."
        )
    return X.rechunk({1: -1})


def lengths_of(X: Any) -> tuple[int, ...]:
    """Return how many rows each block has; those of a frame are counted once."""
    if not isinstance(X, da.Array):
        if COUNTED not in vars(X):  # Dask has no place for them
            vars(X)[COUNTED] = tuple(map(int, X.map_partitions(len).compute()))
    elif np.isnan(X.chunks[0]).any():
        raise ValueError(
            "X has blocks of unknown lengths: call X.compute_chunk_sizes() first, or give y and "
            "sample_weight as Dask's, in the same blocks."
        )
    return _row_chunks(X)


def _row_chunks(X: Any) -> tuple[Any, ...]:
    """Return the rows of every block, NaN where they are not known."""
    if isinstance(X, da.Array):
        return tuple(X.chunks[0])
    return vars(X).get(COUNTED) or (math.nan,) * int(X.npartitions)


def by_block(rows: NDArray[np.intp], lengths: Sequence[int]) -> list[NDArray[np.intp]]:
    """Return the rows of each block, by their index there, of rising rows of all."""
    starts = np.cumsum([0, *lengths])
    cuts = pairwise(np.searchsorted(rows, starts))
    return [rows[a:b] - start for (a, b), start in zip(cuts, starts[:-1], strict=True)]


def some_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of an array or a frame, lazy, by mask or by index in rising order.

    Every row stays in its block; blocks of which no row is taken are left out.
    """
    rows = np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows)
    places = by_block(rows, lengths_of(X))
    # One block at least, if of no rows: Dask has no arrays without any.
    kept = [block for block, taken in enumerate(places) if taken.size] or [0]
    places = [places[block] for block in kept]
    counts = tuple(taken.size for taken in places)
    if isinstance(X, da.Array):
        index = tuple("ijklm"[: X.ndim])
        taken = da.from_array(np.concatenate(places), chunks=(counts,))
        return da.blockwise(
            *(rows_of, index, X.blocks[kept], index, taken, index[:1]),
            adjust_chunks={"i": counts},
            align_arrays=False,  # the blocks are longer than what is taken of them
            meta=X._meta,
            token="shareboost-rows",
        )
    import dask.dataframe as dd

    parts = X.partitions[kept].to_delayed(optimize_graph=False)
    takes = map(delayed(rows_of, pure=True), parts, places)
    # Verified: of a frame that is not, Dask fails to fuse the tasks of arrays made from it.
    frame = dd.from_delayed(list(takes), meta=X._meta, prefix="shareboost-rows")
    vars(frame)[COUNTED] = counts
    return frame


def aligned(X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], Graph, list[tuple[Key, ...]]]:
    """Return rows, labels and weights, if any, in alike blocks, and each block's keys in a graph.

    What of them was computed already is in no graph: they are to be kept.
    """
    if y is None:
        raise ValueError("y is None: it takes a label a row.")
    if isinstance(sample_weight, Number):  # one for all rows says nothing
        checked_weights(sample_weight, np.empty((1, 0)))
        sample_weight = None
    given = [whole_rows(X), beside(X, y, "y")]
    if sample_weight is not None:
        given.append(beside(X, sample_weight, "sample_weight"))
    graph: Graph = {}
    keys: dict[int, list[Key]] = {}
    # What they have in common is computed once, among the arrays and among the frames. Dask can
    # optimise both at once, but then gives their keys in another order; and ``dask.optimize``
    # gives the keys of one frame for those of another.
    for arrays in (True, False):
        alike = [i for i, values in enumerate(given) if isinstance(values, da.Array) == arrays]
        if alike:
            optimised = collections_to_expr([given[i] for i in alike]).optimize()
            graph.update(optimised.__dask_graph__())
            keys |= zip(alike, map(list, map(flatten, optimised.__dask_keys__())), strict=True)
    columns = [keys[i] for i in range(len(given))]
    return given, graph, list(zip(*columns, strict=True))


def beside(X: Any, values: Any, name: str) -> Any:
    """Return one number or label per row as a collection in the chunks of X's rows."""
    here = backend_name(values) != "dask"
    if here:
        lengths_of(X)  # raises where they are not known
        if name == "y":
            check_labels_of_one_type(values)
        values = np.asarray(on_host(values))
    array = here or isinstance(values, da.Array)
    if not array and not hasattr(type(values), "to_dask_array"):
        raise ValueError(
            f"{name} is Dask's {type(values).__name__}: it takes its arrays and its Series, and "
            "NumPy's arrays."
        )
    if array and name == "y" and values.ndim == 2 and values.shape[1] == 1:
        warn = "y is a column, of the shape (rows, 1): it takes one dimension, as of y[:, 0]."
        warnings.warn(warn, DataConversionWarning, stacklevel=2)
        values = values[:, 0]
    if array and values.ndim != 1:
        raise ValueError(f"{name} has the shape {values.shape}: it takes one value a row, (rows,).")
    chunks, theirs = _row_chunks(X), values.shape if here else _row_chunks(values)
    if array and not math.isnan(sum(chunks) + sum(theirs)):
        if sum(theirs) != sum(chunks):
            raise ValueError(
                f"X and {name} differ in length: X has {sum(chunks)} rows, {name} the shape "
                f"{values.shape}. {name} takes one value a row."
            )
        return da.from_array(values, chunks=(chunks,)) if here else values.rechunk((chunks,))
    if len(theirs) != len(chunks):
        raise ValueError(
            f"X has {len(chunks)} blocks and {name} {len(theirs)}, of sizes that are not known: "
            "give both in the same blocks, or call compute_chunk_sizes() on them first."
        )
    return values
