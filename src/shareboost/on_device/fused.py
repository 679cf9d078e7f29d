"""Whether steps that torch takes one by one can be taken at once, by Triton."""

from __future__ import annotations

from importlib.util import find_spec
from types import ModuleType

from torch import Tensor


def fused(tensor: Tensor) -> ModuleType | None:
    """Return the module of Triton's kernels where they run: on CUDA, with Triton installed.

    Elsewhere the same is computed by torch's own functions, step by step.
    """
    if not tensor.is_cuda or find_spec("triton") is None:
        return None
    from . import triton_kernels

    return triton_kernels
