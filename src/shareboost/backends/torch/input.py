"""Input in tensors of torch and arrays of CuPy, which are computed on their device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    column_or_1d,
)
from torch import Tensor

from ...arrays import is_sparse
from ...inputs import backend_name
from ...validation import in_our_words
from ..base import Backend
from ..input import Input
from .backend import TorchBackend
from .tensors import as_tensor, host_array, readable, taken

DEVICES = ("cpu", "cuda")


class TensorInput(Input):
    """Rows that torch computes."""

    def backend(self, X: Any, device: Any) -> TorchBackend:
        if backend_name(X) != "torch":
            return TorchBackend(checked_device(device))
        its_device = as_tensor(X).device
        if device is not None and checked_device(device) != its_device:
            raise ValueError(
                f"device={str(device)!r}, but X is on {its_device}: rows are not moved from one "
                "device to another. Move X, or leave device=None, which takes that of X."
            )
        return TorchBackend(checked_device(its_device))

    def on_host(self, values: Any) -> Any:
        return host_array(values)

    def take(self, X: Any, rows: NDArray[Any]) -> Any:
        return self.like(taken(as_tensor(X), rows), X)

    def check_rows(self, estimator: Any, X: Any, finite: Any) -> Tensor:
        data = _checked_tensor(estimator, X, finite == "allow-nan")
        _check_n_features(estimator, data, reset=False)
        return data

    def check_data(
        self, estimator: Any, X: Any, y: Any, allows_nan: bool
    ) -> tuple[Any, NDArray[Any]]:
        data = _checked_tensor(estimator, X, allows_nan)
        _check_feature_names(estimator, None, reset=True)
        _check_n_features(estimator, data, reset=True)
        if y is None:
            raise ValueError("y is None: it takes a label a row.")
        labels = column_or_1d(
            check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True
        )
        if len(labels) != data.shape[0]:
            raise ValueError(
                f"X and y differ in length: X has {data.shape[0]} rows, y {len(labels)} labels. y "
                "takes a label a row."
            )
        return data, labels

    def evaluation_sample(
        self, checked: Any, eval_set: Any, classes: NDArray[Any], finite: Any, backend: Backend
    ) -> Any:
        its_device, other = as_tensor(eval_set[0]).device, getattr(backend, "device", None)
        if its_device != other:
            raise ValueError(
                f"eval_set is on {its_device}, and the fit on {other or 'no device'}: rows are not "
                "moved to another device. Move them, or give them in NumPy's arrays."
            )
        return super().evaluation_sample(checked, eval_set, classes, finite, backend)

    def like(self, result: Any, X: Any) -> Any:
        """Return a tensor as an array of X's kind, and what is NumPy's, such as text, as it is."""
        if isinstance(X, Tensor) or isinstance(result, np.ndarray):
            return result
        import cupy

        return cupy.from_dlpack(result)


def checked_device(device: Any) -> torch.device:
    """Return a device that can compute a fit, as tensors name theirs; raise for others."""
    try:
        checked = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={device!r} is not valid: it takes None, 'cuda', 'cuda:1', ..., 'cpu' or a "
            "torch.device."
        ) from error
    if checked.type not in DEVICES:
        raise ValueError(
            f"device={str(device)!r} is not supported: a fit is computed on 'cuda' or torch's "
            "'cpu'. It needs float64, which some devices do not have."
        )
    if checked.type == "cpu":
        return torch.device("cpu")
    n = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (checked.index or 0) >= n:
        raise ValueError(
            f"device={str(device)!r} is not there: torch {torch.__version__} sees {n} CUDA devices."
        )
    index = torch.cuda.current_device() if checked.index is None else checked.index
    return torch.device("cuda", index)


def _checked_tensor(estimator: Any, X: Any, allows_nan: bool) -> Tensor:
    """Return X as a tensor of rows; raise for what the estimator cannot read."""
    if not hasattr(estimator, "device"):
        raise ValueError(
            f"X is a {type(X).__module__.partition('.')[0]} array, and {type(estimator).__name__} "
            "computes in NumPy: it takes NumPy's arrays, SciPy's matrices and frames."
        )
    data = as_tensor(X)
    if data.device.type not in DEVICES:
        raise ValueError(f"X is on {data.device}: it takes tensors on {' or '.join(DEVICES)}.")
    if data.ndim != 2 or not data.shape[0] or not data.shape[1]:
        raise ValueError(
            f"X has the shape {tuple(data.shape)}: it takes two dimensions, (rows, columns), with "
            "at least one of each."
        )
    if data.layout not in (torch.strided, torch.sparse_csr):
        raise ValueError(
            f"X has the layout {data.layout}: it takes dense tensors, or compressed rows "
            "(torch.sparse_csr)."
        )
    if data.is_complex() or (data.is_floating_point() and data.dtype.itemsize < 4):
        raise ValueError(
            f"X has the dtype {data.dtype}: it takes float32 or float64, integers or booleans."
        )
    values = data.values() if is_sparse(data) else data
    # A finite sum, as of all usual numbers, needs no array of flags.
    if data.is_floating_point() and not math.isfinite(float(values.sum(dtype=torch.float64))):
        if bool(torch.isinf(values).any()):
            raise ValueError(f"Input X contains infinity or a value too large for {values.dtype}.")
        if not allows_nan and bool(torch.isnan(values).any()):
            raise in_our_words(ValueError("Input X contains NaN."))
    return readable(data)


INPUT = TensorInput()
