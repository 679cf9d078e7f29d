"""Rows of Dask as others ask for them: some of them, still lazy, or all, in NumPy's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.delayed import delayed
from numpy.typing import NDArray

from ...inputs import backend_name, on_host, rows_of

# Where a frame has the lengths of its partitions, once they are counted.
COUNTED = "_shareboost_lengths"


def some_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of an array or a frame, lazy, by mask or by index in rising order.

    Every row stays in its block; blocks of which no row is taken are left out. Of a frame the
    lengths of its partitions are counted, which Dask does not know.
    """
    lengths = lengths_of(X)
    own = by_block(_indices(rows, sum(lengths)), lengths)
    # One block at least, if of no rows: Dask has no arrays without any.
    kept = [block for block, taken in enumerate(own) if taken.size] or [0]
    own = [own[block] for block in kept]
    if not isinstance(X, da.Array):
        return _of_frame(X, kept, own)
    counts = tuple(taken.size for taken in own)
    index = tuple("ijklm"[: X.ndim])
    return da.blockwise(
        rows_of,
        index,
        X.blocks[kept],
        index,
        da.from_array(np.concatenate(own), chunks=(counts,)),
        index[:1],
        adjust_chunks={"i": counts},
        align_arrays=False,  # the blocks are longer than what is taken of them
        meta=X._meta,
        token="shareboost-rows",
    )


def computed(values: Any) -> Any:
    """Return what Dask computes, blocks of a device's arrays as NumPy's."""
    if isinstance(values, da.Array) and backend_name(values._meta) == "torch":
        values = da.map_blocks(on_host, values, meta=on_host(values._meta))
    return values.compute()


def _of_frame(X: Any, kept: list[int], own: list[NDArray[np.intp]]) -> Any:
    """Return those rows of some partitions as a frame."""
    import dask.dataframe as dd

    take = delayed(rows_of)
    name = f"shareboost-rows-{tokenize(X, kept, own)}"
    parts = X.partitions[kept].to_delayed(optimize_graph=False)
    found = [
        take(part, taken, dask_key_name=f"{name}-{i}")
        for i, (part, taken) in enumerate(zip(parts, own, strict=True))
    ]
    # Verified: of a frame that is not, Dask fails to fuse the tasks of arrays made from it.
    frame = dd.from_delayed(found, meta=X._meta, prefix="shareboost-rows")
    _remember(frame, tuple(taken.size for taken in own))
    return frame


def lengths_of(X: Any) -> tuple[int, ...]:
    """Return how many rows each block has; those of a frame are counted once."""
    if not isinstance(X, da.Array):
        if counted_lengths(X) is None:
            _remember(X, tuple(map(int, X.map_partitions(len).compute())))
        return counted_lengths(X) or ()
    if np.isnan(X.chunks[0]).any():
        raise ValueError(
            "X has blocks of unknown lengths, and so nobody knows where a row is: call "
            "X.compute_chunk_sizes() first."
        )
    return X.chunks[0]


def counted_lengths(X: Any) -> tuple[int, ...] | None:
    """Return how many rows each partition of a frame has, where they were counted."""
    return vars(X).get(COUNTED)


def _remember(X: Any, lengths: tuple[int, ...]) -> None:
    """Keep the lengths of a frame's partitions at the frame: Dask has no place for them."""
    vars(X)[COUNTED] = lengths


def _indices(rows: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
    """Return the rows by index; raise where they are no rows, or not in their order."""
    rows = np.asarray(rows)
    if rows.dtype == bool:
        if rows.shape != (n_rows,):
            raise ValueError(
                f"rows is a mask of the shape {rows.shape}: it takes one of X's {n_rows} rows."
            )
        return np.flatnonzero(rows)
    rows = rows.astype(np.intp, copy=False)
    if rows.size and not (rows[0] >= 0 and rows[-1] < n_rows and (np.diff(rows) >= 0).all()):
        raise ValueError(
            f"rows takes places of X's {n_rows} rows, from 0 on and in rising order, so that "
            "every row can stay in its block."
        )
    return rows


def by_block(rows: NDArray[np.intp], lengths: Sequence[int]) -> list[NDArray[np.intp]]:
    """Return the places in each block of the rows that are taken of it."""
    starts = np.cumsum([0, *lengths])
    cuts = pairwise(np.searchsorted(rows, starts))
    return [rows[a:b] - start for (a, b), start in zip(cuts, starts[:-1], strict=True)]
