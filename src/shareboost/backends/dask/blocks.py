"""Dask's arrays and frames as blocks of rows: X, labels and weights side by side."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.base import collections_to_expr
from dask.core import flatten
from sklearn.exceptions import DataConversionWarning

from ...inputs import backend_name, on_host
from ...validation import check_labels_of_one_type, sample_weights
from .executor import Graph, Key
from .given_rows import counted_lengths, lengths_of
from .tables import whole_rows


class Blocks(NamedTuple):
    """The keys of every block's rows, labels and weights in one graph."""

    graph: Graph
    keys: list[tuple[Any, ...]]  # of X, y and the weights; a key None where there are none
    given: tuple[Any, ...]  # what was computed already is in no graph: this keeps it

    def __len__(self) -> int:
        return len(self.keys)


def aligned(X: Any, y: Any, sample_weight: Any) -> Blocks:
    """Return the blocks of X with the labels and weights of the same rows.

    Those that are no collections of Dask, or lie in other chunks, are cut as X is.
    """
    if y is None:
        raise ValueError("y is None: it takes a label a row.")
    if isinstance(sample_weight, Number):
        sample_weights(sample_weight, np.empty((1, 0)))  # raises for one that is no weight
        sample_weight = None
    rows = whole_rows(X) if isinstance(X, da.Array) else X
    others = [
        None if values is None else _beside(rows, values, name)
        for name, values in (("y", y), ("sample_weight", sample_weight))
    ]
    given = [rows, *(other for other in others if other is not None)]
    graph, lists = _optimised(given)
    columns = [lists.pop(0), *([] if other is None else lists.pop(0) for other in others)]
    n = len(columns[0])
    keys = zip(*(own or [None] * n for own in columns), strict=True)
    return Blocks(graph, list(keys), tuple(given))


def _optimised(given: Sequence[Any]) -> tuple[Graph, list[list[Key]]]:
    """Return one graph of some collections, and the keys of each of them.

    What they have in common is computed once, among the arrays and among the frames. Dask can
    optimise both at once, but then gives their keys in another order; and ``dask.optimize``
    gives the keys of one frame for those of another.
    """
    graph: Graph = {}
    keys: dict[int, list[Key]] = {}
    for arrays in (True, False):
        places = [i for i, one in enumerate(given) if isinstance(one, da.Array) == arrays]
        if places:
            found = collections_to_expr([given[i] for i in places]).optimize()
            graph.update(found.__dask_graph__())
            for i, own in zip(places, found.__dask_keys__(), strict=True):
                keys[i] = list(flatten(own))
    return graph, [keys[i] for i in range(len(given))]


def row_chunks(X: Any) -> tuple[float, ...]:
    """Return the rows of every block, NaN where they are not known."""
    if isinstance(X, da.Array):
        chunks: tuple[float, ...] = X.chunks[0]
        return chunks
    return counted_lengths(X) or (math.nan,) * int(X.npartitions)


def _beside(X: Any, values: Any, name: str) -> Any:
    """Return one number or label a row as a collection in the chunks of X."""
    if backend_name(values) != "dask" and not isinstance(X, da.Array):
        lengths_of(X)  # counts them
    chunks = row_chunks(X)
    known = not math.isnan(sum(chunks))
    if backend_name(values) != "dask":
        if not known:
            raise ValueError(
                f"X has blocks of unknown sizes and {name} is {type(values).__name__}: give {name} "
                "as a collection of Dask in the same blocks, or call X.compute_chunk_sizes() first."
            )
        if name == "y":
            check_labels_of_one_type(values)
        values = _one_a_row(np.asarray(on_host(values)), name)
        _check_length(values.shape, sum(chunks), name)
        return da.from_array(values, chunks=(chunks,))
    if not isinstance(values, da.Array) and not hasattr(type(values), "to_dask_array"):
        raise ValueError(
            f"{name} is Dask's {type(values).__name__}: it takes its arrays and its Series, and "
            "NumPy's arrays."
        )
    if isinstance(values, da.Array):
        values = _one_a_row(values, name)
    own = row_chunks(values)
    if isinstance(values, da.Array) and known and not math.isnan(sum(own)):
        _check_length(values.shape, sum(chunks), name)
        if own != chunks:
            return values.rechunk((chunks,))
    elif len(own) != len(chunks):
        raise ValueError(
            f"X has {len(chunks)} blocks and {name} {len(own)}, of sizes that are not known: give "
            "both in the same blocks, or call compute_chunk_sizes() on them first."
        )
    return values


def _one_a_row(values: Any, name: str) -> Any:
    """Return an array of one dimension; labels in a column are taken, with a warning."""
    if values.ndim == 1:
        return values
    if name == "y" and values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "y is a column, of the shape (rows, 1): it takes one dimension, as of y[:, 0].",
            DataConversionWarning,
            stacklevel=2,
        )
        return values[:, 0]
    raise ValueError(f"{name} has the shape {values.shape}: it takes one value a row, (rows,).")


def _check_length(shape: Sequence[int], n_rows: float, name: str) -> None:
    if len(shape) == 0 or shape[0] != n_rows:
        raise ValueError(
            f"X and {name} differ in length: X has {n_rows:.0f} rows, {name} the shape "
            f"{tuple(shape)}. {name} takes one value a row."
        )
