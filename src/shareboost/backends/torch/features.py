"""The columns of chosen features on a torch device, some rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...pools.features import Features, columns_type
from .tensors import is_sparse

if TYPE_CHECKING:
    from .backend import TorchBackend


def columns_of(features: Features, X: Tensor, backend: TorchBackend) -> Tensor:
    """Return the columns of chosen features, (rows, n_columns), as ``features.columns`` does.

    Rows are read as many at a time as there is room for.
    """
    if is_sparse(X):
        return _of_sparse(features, X, backend)
    if features.input_columns is not None or not len(X):
        return features.columns(X)
    found: list[Tensor] = []  # (n_columns, rows), once the first rows tell its type

    def write(rows: slice) -> None:
        columns = features.columns(X[rows])
        if not found:
            found.append(columns.new_empty((columns.shape[1], len(X))))
        found[0][:, rows] = columns.T

    backend.memory.chunks(len(X), features.scratch(X.shape[1]), write, "the columns of features")
    return found[0].T


def _of_sparse(features: Features, X: Tensor, backend: TorchBackend) -> Tensor:
    """Return columns of compressed rows: a product with ones where the chosen columns are."""
    if features.input_columns is None:
        kind = getattr(features, "kind", type(features).__name__)
        kind = "a union" if kind == "union" else kind
        raise ValueError(
            f"Sparse X cannot be computed on {backend.device} by a model of {kind}: there it is "
            "taken by models of columns. Give X dense, or as a SciPy matrix."
        )
    ids = backend.asarray(features.input_columns)
    chosen = torch.zeros((X.shape[1], len(ids)), dtype=columns_type(X), device=X.device)
    chosen[ids, torch.arange(len(ids), device=X.device)] = 1.0
    return X.to(chosen.dtype) @ chosen
