"""Tensors of torch's and CuPy's arrays, dense or of compressed rows, and back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from ...arrays import is_sparse

# Types for which torch has few functions, and floats that hold their numbers.
CONVERTED = {torch.uint16: torch.float32, torch.uint32: torch.float64, torch.uint64: torch.float64}


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out torch's word that compressed rows are new to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@_quiet()
def as_tensor(X: Any) -> Tensor:
    """Return a torch or CuPy array as a tensor of the same memory; sparse ones as rows."""
    if isinstance(X, Tensor):
        X = X.detach()
        return X.to_sparse_csr() if X.layout in (torch.sparse_coo, torch.sparse_csc) else X
    if type(X).__module__.startswith("cupyx"):  # CuPy's sparse matrices
        rows = X.tocsr()
        pointers, columns, values = map(from_dlpack, (rows.indptr, rows.indices, rows.data))
        return compressed(pointers, columns, values, rows.shape)
    return from_dlpack(X)


def host_array(X: Any) -> Any:
    """Return a torch or CuPy array as NumPy's, compressed rows as SciPy's."""
    tensor = as_tensor(X).cpu()
    if tensor.dtype == torch.bfloat16:  # which NumPy does not have
        tensor = tensor.float()
    if not is_sparse(tensor):
        return tensor.numpy()
    parts = tensor.values(), tensor.col_indices(), tensor.crow_indices()
    return sp.csr_array(tuple(part.numpy() for part in parts), shape=tuple(tensor.shape))


@_quiet()
def compressed(pointers: Tensor, columns: Tensor, values: Tensor, shape: Sequence[int]) -> Tensor:
    """Return a tensor of compressed rows."""
    return torch.sparse_csr_tensor(pointers, columns, values, tuple(shape), check_invariants=False)


@_quiet()
def by_columns(X: Tensor) -> Tensor:
    """Return compressed rows as compressed columns."""
    return X.to_sparse_csc()


def readable(data: Tensor) -> Tensor:
    """Return a tensor whose type torch computes with, in floats that hold it where it cannot."""
    return data.to(CONVERTED.get(data.dtype, data.dtype))


@_quiet()
def taken(X: Tensor, places: NDArray[Any]) -> Tensor:
    """Return some rows of a tensor, dense or of compressed rows, by index or by mask."""
    rows = torch.as_tensor(np.flatnonzero(places) if places.dtype == bool else places)
    rows = rows.to(X.device)
    return X.to_sparse_coo().index_select(0, rows).to_sparse_csr() if is_sparse(X) else X[rows]


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute products and convolutions of float32 as such, not in 10 bits, meanwhile."""
    products, convolutions = torch.backends.cuda.matmul, cast("Any", torch.backends.cudnn)
    # Since torch 2.9 there is a newer interface, and the older one fails where it was used.
    newer = hasattr(products, "fp32_precision") and hasattr(convolutions, "conv")
    name, value = ("fp32_precision", "ieee") if newer else ("allow_tf32", False)
    owners: list[Any] = [products, convolutions.conv if newer else convolutions]
    before = [getattr(owner, name) for owner in owners]
    try:
        for owner in owners:
            setattr(owner, name, value)
        yield
    finally:
        for owner, earlier in zip(owners, before, strict=True):
            setattr(owner, name, earlier)
