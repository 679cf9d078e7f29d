"""Products of float32 in full precision, by whichever interface torch was told otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute products and convolutions of float32 as such, not in 10 bits, meanwhile."""
    settings = _settings()
    before = [getattr(owner, name) for owner, name, _ in settings]
    for owner, name, value in settings:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for (owner, name, _), value in zip(settings, before, strict=True):
            setattr(owner, name, value)


def _settings() -> list[tuple[Any, str, Any]]:
    """Return what to set: owner, name and value.

    Since torch 2.9 there is a newer interface, and the older one fails where it was used.
    """
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    if hasattr(products, "fp32_precision") and hasattr(convolutions, "conv"):
        owners = products, convolutions.conv
        return [(owner, "fp32_precision", "ieee") for owner in owners]
    return [(owner, "allow_tf32", False) for owner in (products, convolutions)]
