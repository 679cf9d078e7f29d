"""The accuracy of lazy predictions: of every block two sums, and nothing else, come back."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute, tokenize
from dask.delayed import delayed
from sklearn.metrics import accuracy_score

from ...inputs import backend_name, on_host


def accuracy(predicted: da.Array, y: Any, sample_weight: Any = None) -> float:
    """Return the weighted share of rows whose label is the predicted one.

    Labels and weights may lie in blocks of their own, or in NumPy's arrays.
    """
    beside = {"y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    here = not all(backend_name(values) == "dask" for values in beside.values())
    if here and np.isnan(predicted.shape[0]):
        # Nobody knows which of the labels belong to a block before it is predicted.
        own = compute(predicted, *beside.values())
        return _share([_sums(*own)])
    blocks = [predicted.to_delayed(optimize_graph=False).ravel()]
    blocks += [_blocks(values, predicted, name) for name, values in beside.items()]
    token = tokenize(predicted, *beside.values())
    in_a_block = delayed(_sums)
    sums = [
        in_a_block(*parts, dask_key_name=f"shareboost-score-{token}-{i}")
        for i, parts in enumerate(zip(*blocks, strict=True))
    ]
    return _share(compute(*sums))


def _blocks(values: Any, predicted: da.Array, name: str) -> Any:
    """Return the blocks of labels or weights, as many rows in each as are predicted."""
    if backend_name(values) != "dask":
        values = np.asarray(on_host(values))
        _check_length(len(values), predicted, name)
        values = da.from_array(values, chunks=(predicted.chunks[0], *values.shape[1:]))
    n_blocks = predicted.numblocks[0]
    if not isinstance(values, da.Array):
        if values.npartitions != n_blocks:
            raise ValueError(
                f"{name} has {values.npartitions} partitions and X {n_blocks}: it takes as many, "
                "of the same rows, where their lengths are not known."
            )
        return values.to_delayed(optimize_graph=False)
    if not np.isnan([values.shape[0], predicted.shape[0]]).any():
        _check_length(values.shape[0], predicted, name)
        values = values.rechunk(
            {0: predicted.chunks[0], **dict.fromkeys(range(1, values.ndim), -1)}
        )
    elif values.numblocks[0] != n_blocks:
        raise ValueError(
            f"{name} has {values.numblocks[0]} blocks and X {n_blocks}: it takes as many where the "
            "lengths of blocks are not known. compute_chunk_sizes() makes them known."
        )
    return values.to_delayed(optimize_graph=False).ravel()


def _check_length(length: int, predicted: da.Array, name: str) -> None:
    if length != predicted.shape[0]:
        raise ValueError(
            f"X and {name} differ in length: X has {predicted.shape[0]} rows, {name} {length} "
            "entries. It takes one a row."
        )


def _sums(predicted: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
    """Return the weight of the rows of a block whose label is the predicted one, and of all."""
    y, weight = on_host(y), on_host(sample_weight)
    if not len(predicted) and not len(y):  # which scikit-learn refuses
        return 0.0, 0.0
    if weight is not None and not np.any(weight):  # refused too, and no matter in a block
        accuracy_score(y, predicted)  # checks the labels
        return 0.0, 0.0
    right = accuracy_score(y, predicted, sample_weight=weight, normalize=False)
    return right, float(len(predicted) if weight is None else np.sum(weight))


def _share(sums: Any) -> float:
    """Return the share that the sums of all blocks make."""
    right, weight = (math.fsum(parts) for parts in zip(*sums, strict=True))
    if weight == 0:
        raise ValueError(
            "score takes at least one row of positive weight: there are no rows, or sample_weight "
            "is zero for all of them."
        )
    return right / weight
