"""Arrays of torch and CuPy as tensors, checked, and back."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

DEVICES = ("cpu", "cuda")
# Types that are read as they are, and those for which torch has few functions.
READ = {
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float32, torch.float64),
}
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
    tensor = as_tensor(X)
    if tensor.device.type == "meta":
        raise ValueError("A tensor on the device 'meta' holds no numbers: give one that does.")
    tensor = tensor.cpu()
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


def checked_tensor(X: Any, allows_nan: bool) -> Tensor:
    """Return X as a tensor of rows; raise for what no fit and no model can read."""
    data = as_tensor(X)
    if data.device.type not in DEVICES:
        raise ValueError(f"X is on {data.device}: it takes tensors on {' or '.join(DEVICES)}.")
    if data.ndim != 2 or not len(data) or not data.shape[1]:
        raise ValueError(
            f"X has the shape {tuple(data.shape)}: it takes two dimensions, (rows, columns), with "
            "at least one of each."
        )
    if data.layout not in (torch.strided, torch.sparse_csr):
        raise ValueError(
            f"X has the layout {data.layout}: it takes dense tensors, or compressed rows "
            "(torch.sparse_csr)."
        )
    if data.dtype not in READ and data.dtype not in CONVERTED:
        raise ValueError(
            f"X has the dtype {data.dtype}: it takes float32 or float64, integers or booleans."
        )
    if data.is_floating_point():
        _check_finite(data.values() if is_sparse(data) else data, allows_nan)
    return readable(data)


def readable(data: Tensor) -> Tensor:
    """Return a tensor whose type torch computes with, in floats that hold it where it cannot."""
    return data.to(CONVERTED[data.dtype]) if data.dtype in CONVERTED else data


def _check_finite(values: Tensor, allows_nan: bool) -> None:
    """Raise where there are infinite numbers, or NaN that are not allowed."""
    total = float(values.sum(dtype=torch.float64))
    if math.isfinite(total):  # as of all usual numbers, without an array of flags
        return
    if bool(torch.isinf(values).any()):
        raise ValueError(f"Input X contains infinity or a value too large for {values.dtype}.")
    if not allows_nan and bool(torch.isnan(values).any()):
        raise ValueError(
            "Input X contains NaN, which this pool does not take. Fill the gaps, or choose among "
            "stumps, which take NaN for 'not <='."
        )


def same_device(one: torch.device, other: torch.device) -> bool:
    """Return whether both are one device, the first of its kind if it has no number."""
    return (one.type, one.index or 0) == (other.type, other.index or 0)


def like(tensor: Tensor, X: Any) -> Any:
    """Return a result as an array of X's kind: a tensor for one, CuPy's for CuPy's."""
    if isinstance(X, Tensor):
        return tensor
    import cupy

    return cupy.from_dlpack(tensor)


def is_sparse(X: Tensor) -> bool:
    """Return whether the tensor holds compressed rows."""
    return X.layout == torch.sparse_csr


@_quiet()
def taken(X: Tensor, places: NDArray[Any]) -> Tensor:
    """Return some rows of a tensor, dense or of compressed rows, by index or by mask."""
    rows = torch.as_tensor(np.flatnonzero(places) if places.dtype == bool else places)
    rows = rows.to(X.device)
    if not is_sparse(X):
        return X[rows]
    return X.to_sparse_coo().index_select(0, rows).to_sparse_csr()


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
