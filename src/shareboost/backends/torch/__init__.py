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
from .tensors import as_tensor


def place_of(X: Any, device: Any) -> TorchBackend:
    """Return the device of X, or that asked for; raise where there is none, or they differ."""
    own = as_tensor(X).device if backend_name(X) == "torch" else None
    asked = None if device is None else checked_device(device)
    if own is None:
        assert asked is not None
        return TorchBackend(asked)
    if asked is not None and (asked.type, asked.index or 0) != (own.type, own.index or 0):
        raise ValueError(
            f"device={str(device)!r}, but X is on {own}: rows are not moved from one device to "
            "another. Move X, or leave device=None, which takes that of X."
        )
    return TorchBackend(checked_device(own))


def checked_device(device: Any) -> torch.device:
    """Return a device that can compute a fit; raise for others."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={device!r} is not valid: it takes None, 'cuda', 'cuda:1', ..., 'cpu' or a "
            "torch.device."
        ) from error
    if found.type not in ("cuda", "cpu"):
        raise ValueError(
            f"device={str(device)!r} is not supported: a fit is computed on 'cuda' or torch's "
            "'cpu'. It needs float64, which some devices do not have."
        )
    if found.type == "cuda":
        n = torch.cuda.device_count() if torch.cuda.is_available() else 0
        index: int | None = found.index
        if (index or 0) >= n:
            raise ValueError(
                f"device={str(device)!r} is not there: torch {torch.__version__} sees {n} CUDA "
                "devices."
            )
        return torch.device("cuda", torch.cuda.current_device() if index is None else index)
    return found


__all__ = ["TorchBackend", "as_tensor", "checked_device", "place_of"]
