"""The torch forms of rows and pools: everything of a fit on a device.

Nothing outside this package imports torch, and this package is imported only where a device
is asked for.
"""

try:
    import torch  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "device and tensors as X need PyTorch: pip install 'shareboost[gpu]'."
    ) from error

from .backend import TorchBackend

__all__ = ["TorchBackend"]
