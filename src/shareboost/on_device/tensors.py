"""Arrays of torch and CuPy as tensors, checked, and back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.dlpack import from_dlpack


def as_tensor(X: Any) -> Tensor:
    """Return a torch or CuPy array as a tensor of the same memory; sparse ones as rows."""
    if isinstance(X, Tensor):
        X = X.detach()
        if X.layout not in (torch.sparse_coo, torch.sparse_csc):
            return X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return X.to_sparse_csr()
    if type(X).__module__.startswith("cupyx"):  # CuPy's sparse matrices
        rows = X.tocsr()
        pointers, columns, values = map(from_dlpack, (rows.indptr, rows.indices, rows.data))
        return compressed(pointers, columns, values, rows.shape)
    return from_dlpack(X)


def host_array(X: Any) -> Any:
    """Return a torch or CuPy array as NumPy's, compressed rows as SciPy's."""
    tensor = as_tensor(X).cpu()
    if not is_sparse(tensor):
        return tensor.numpy()
    parts = tensor.values(), tensor.col_indices(), tensor.crow_indices()
    return sp.csr_array(tuple(part.numpy() for part in parts), shape=tuple(tensor.shape))


def compressed(pointers: Tensor, columns: Tensor, values: Tensor, shape: Sequence[int]) -> Tensor:
    """Return a tensor of compressed rows, without torch's word that these are new to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(
            pointers, columns, values, tuple(shape), check_invariants=False
        )


def by_columns(X: Tensor) -> Tensor:
    """Return compressed rows as compressed columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return X.to_sparse_csc()


def checked_tensor(X: Any, allows_nan: bool) -> Tensor:
    """Return X as a tensor of rows; raise for what no fit and no model can read."""
    data = as_tensor(X)
    if data.ndim != 2 or not len(data) or not data.shape[1]:
        raise ValueError(
            f"X has the shape {tuple(data.shape)}: it takes rows and columns, at least one of each."
        )
    if data.layout not in (torch.strided, torch.sparse_csr):
        raise ValueError(
            f"X has the layout {data.layout}: it takes dense tensors, or compressed rows "
            "(torch.sparse_csr)."
        )
    if data.dtype in (torch.float16, torch.bfloat16):
        raise ValueError(
            f"X has the dtype {data.dtype}: it takes float32 or float64, or integers. Half "
            "precision is chosen by a pool where its columns do not fit."
        )
    if data.is_complex():
        raise ValueError("X is complex: it takes real or integer numbers.")
    if data.is_floating_point():
        _check_finite(data.values() if is_sparse(data) else data, allows_nan)
    return data


def _check_finite(values: Tensor, allows_nan: bool) -> None:
    """Raise where there are infinite numbers, or NaN that are not allowed."""
    total = float(values.abs().sum(dtype=torch.float64)) if values.numel() else 0.0
    if total < float("inf"):  # as of all usual numbers, without an array of flags
        return
    if bool(torch.isinf(values).any()):
        raise ValueError(
            f"Input X contains infinity or a value too large for dtype({values.dtype})."
        )
    if not allows_nan and bool(torch.isnan(values).any()):
        raise ValueError(
            "Input X contains NaN, which this pool does not take. Fill the gaps, or choose "
            "among stumps, which take NaN for 'not <='."
        )


def like(tensor: Tensor, X: Any) -> Any:
    """Return a result as an array of X's kind: a tensor for one, CuPy's for CuPy's."""
    if isinstance(X, Tensor):
        return tensor
    import cupy

    return cupy.from_dlpack(tensor)


def is_sparse(X: Tensor) -> bool:
    """Return whether the tensor holds compressed rows."""
    return X.layout == torch.sparse_csr


def taken(X: Tensor, places: NDArray[Any]) -> Tensor:
    """Return some rows of a tensor, dense or of compressed rows, by index or by mask."""
    rows = torch.as_tensor(np.flatnonzero(places) if places.dtype == bool else places)
    rows = rows.to(X.device)
    if not is_sparse(X):
        return X[rows]
    pointers, columns, values = X.crow_indices(), X.col_indices(), X.values()
    starts, lengths = pointers[:-1][rows], pointers.diff()[rows]
    stops = torch.cumsum(lengths, 0)
    own = torch.arange(int(lengths.sum()), device=X.device)
    entries = own + torch.repeat_interleave(starts - (stops - lengths), lengths)
    pointers = torch.cat([stops.new_zeros(1), stops])
    return compressed(pointers, columns[entries], values[entries], (len(rows), X.shape[1]))
