"""Dask's arrays and frames as blocks of rows: X, labels and weights side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.core import flatten

from ..places import is_spread
from .fleet import Graph


class Blocks(NamedTuple):
    """The keys of every block's rows, labels and weights in one graph."""

    graph: Graph
    keys: list[tuple[Any, ...]]  # of X, y and the weights; a key None where there are none
    given: tuple[Any, ...]  # what was computed already is in no graph: this keeps it

    def __len__(self) -> int:
        return len(self.keys)


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


def aligned(X: Any, y: Any, sample_weight: Any) -> Blocks:
    """Return the blocks of X with the labels and weights of the same rows.

    Those that are no collections of Dask, or lie in other chunks, are cut as X is.
    """
    if y is None:
        raise ValueError("y is None: it takes a label a row.")
    rows = whole_rows(X) if isinstance(X, da.Array) else X
    others = [
        None if values is None else _beside(rows, values, name)
        for name, values in (("y", y), ("sample_weight", sample_weight))
    ]
    given = [rows, *(other for other in others if other is not None)]
    optimised = list(dask.optimize(*given))
    graph: Graph = {}
    for one in optimised:
        graph.update(one.__dask_graph__())
    lists = [list(flatten(one.__dask_keys__())) for one in optimised]
    columns = [lists.pop(0), *([] if other is None else lists.pop(0) for other in others)]
    n = len(columns[0])
    keys = zip(*(own or [None] * n for own in columns), strict=True)
    return Blocks(graph, list(keys), tuple(given))


def row_chunks(X: Any) -> tuple[float, ...]:
    """Return the rows of every block, NaN where they are not known."""
    if isinstance(X, da.Array):
        chunks: tuple[float, ...] = X.chunks[0]
        return chunks
    return (math.nan,) * int(X.npartitions)


def _beside(X: Any, values: Any, name: str) -> Any:
    """Return one number or label a row as a collection in the chunks of X."""
    chunks = row_chunks(X)
    known = not math.isnan(sum(chunks))
    if not is_spread(values):
        if not known:
            raise ValueError(
                f"X has blocks of unknown sizes and {name} is {type(values).__name__}: give {name} "
                "as a collection of Dask in the same blocks, or call X.compute_chunk_sizes() (of "
                "a frame: X.to_dask_array(lengths=True)) first."
            )
        values = np.asarray(values)
        _check_length(values.shape, sum(chunks), name)
        return da.from_array(values, chunks=(chunks, *values.shape[1:]))
    own = row_chunks(values)
    if known and not math.isnan(sum(own)):
        _check_length(values.shape, sum(chunks), name)
        if own != chunks:
            return values.rechunk((chunks, *values.chunks[1:]))
    elif len(own) != len(chunks):
        raise ValueError(
            f"X has {len(chunks)} blocks and {name} {len(own)}, of sizes that are not known: give "
            "both in the same blocks, or call compute_chunk_sizes() on them first."
        )
    return values


def _check_length(shape: Sequence[int], n_rows: float, name: str) -> None:
    if len(shape) == 0 or shape[0] != n_rows:
        raise ValueError(
            f"X and {name} differ in length: X has {n_rows:.0f} rows, {name} the shape "
            f"{tuple(shape)}. {name} takes one value a row."
        )
