"""The torch forms of rows and pools: everything of a fit on a device.

Nothing outside this package imports torch, and this package is imported only where a device
is asked for.
"""

from __future__ import annotations

from typing import Any

try:
    import torch
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "device and tensors as X need PyTorch: pip install 'shareboost[gpu]'."
    ) from error

from ...inputs import backend_name
from .backend import TorchBackend
from .tensors import as_tensor, same_device


def place_of(X: Any, device: Any) -> TorchBackend:
    """Return the device of X, or that asked for; raise where there is none, or they differ."""
    if backend_name(X) != "torch":
        return TorchBackend(checked_device(device))
    own = as_tensor(X).device
    if device is not None and not same_device(checked_device(device), own):
        raise ValueError(
            f"device={str(device)!r}, but X is on {own}: rows are not moved from one device to "
            "another. Move X, or leave device=None, which takes that of X."
        )
    return TorchBackend(checked_device(own))


def checked_device(device: Any) -> torch.device:
    """Return a device that can compute a fit; raise for others."""
    try:
        checked = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={device!r} is not valid: it takes None, 'cuda', 'cuda:1', ..., 'cpu' or a "
            "torch.device."
        ) from error
    if checked.type == "cpu":
        return checked
    if checked.type != "cuda":
        raise ValueError(
            f"device={str(device)!r} is not supported: a fit is computed on 'cuda' or torch's "
            "'cpu'. It needs float64, which some devices do not have."
        )
    n = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (checked.index or 0) >= n:
        raise ValueError(
            f"device={str(device)!r} is not there: torch {torch.__version__} sees {n} CUDA devices."
        )
    index = torch.cuda.current_device() if checked.index is None else checked.index
    return torch.device("cuda", index)


__all__ = ["TorchBackend", "as_tensor", "checked_device", "place_of"]
