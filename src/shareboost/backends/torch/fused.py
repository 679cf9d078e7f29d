"""Whether steps that torch takes one by one can be taken at once, by Triton."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor

# Of devices that Triton compiles all kernels for.
LEAST_CAPABILITY = (8, 0)


def fused(tensor: Tensor) -> ModuleType | None:
    """Return the module of Triton's kernels where they run: on CUDA, with Triton installed.

    Elsewhere the same is computed by torch's own functions, step by step.
    """
    return _kernels(tensor.device.index) if tensor.is_cuda else None


@cache
def _kernels(device: int) -> ModuleType | None:
    """Return the kernels for a CUDA device of that number."""
    if find_spec("triton") is None or torch.cuda.get_device_capability(device) < LEAST_CAPABILITY:
        return None
    from . import triton_kernels

    return triton_kernels
