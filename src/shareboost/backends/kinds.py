"""What kind of array a value is, and so where it is computed."""

from __future__ import annotations

from typing import Any

from .base import Place
from .numpy import HOST


def is_device_array(X: Any) -> bool:
    """Return whether X is a torch tensor or a CuPy array, without importing either."""
    kinds = type(X).__mro__  # of a subclass of tensors too
    return any(kind.__module__.partition(".")[0] in ("torch", "cupy", "cupyx") for kind in kinds)


def is_spread(X: Any) -> bool:
    """Return whether X is an array or a frame of Dask, without importing it."""
    package = type(X).__module__.partition(".")[0]
    return package in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def place_of(X: Any, device: Any) -> Place:
    """Return the place for rows X and the estimator's ``device``; raise where they differ."""
    if is_spread(X):
        from .dask.backend import Cluster  # imports Dask, whose X is

        return Cluster()
    if device is None and not is_device_array(X):
        return HOST
    from .torch import place_of as on_device  # imports torch, which is asked for

    return on_device(X, device)
