"""The kinds of input that rows, labels and weights come in: one adaptor each, found by their type.

This module imports no backend: a library is imported by whoever has its arrays.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from .backends import Backend
    from .backends.input import Input

# The backend that reads the arrays of a package. All others are NumPy's to read: its own arrays,
# SciPy's matrices, frames, lists.
BACKENDS = {
    "cupy": "torch",
    "cupyx": "torch",
    "torch": "torch",
    "dask": "dask",
    "dask_expr": "dask",
}
# The package of each backend, in which a module ``input`` has the adaptor ``INPUT``.
PACKAGES = {
    "numpy": "shareboost.backends",
    "torch": "shareboost.backends.torch",
    "dask": "shareboost.backends.dask",
}


def backend_name(X: Any) -> str:
    """Return the name of the backend that reads a value: "numpy", "torch" or "dask"."""
    kind: Any = type(X)
    return _name_of_type(kind)


def backend_module(X: Any, name: str) -> ModuleType:
    """Return the module of that name in the backend of a value."""
    return import_module(f"{PACKAGES[backend_name(X)]}.{name}")


def input_of(X: Any) -> Input:
    """Return the adaptor for a value, by its type and without importing any library."""
    return backend_module(X, "input").INPUT


def backend_of(X: Any, device: Any = None) -> Backend:
    """Return the backend for rows X and the estimator's ``device``; raise if they differ."""
    return input_of(X).backend(X, device)


def on_host(values: Any) -> Any:
    """Return an array of a device or of Dask as NumPy's or SciPy's; any other value as it is.

    Dask's are computed, its frames to pandas' frames.
    """
    return input_of(values).on_host(values)


def rows_of(X: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of X, a frame or a device's array too, by index or by mask.

    Those of Dask's arrays and frames are lazy, and their index is in rising order.
    """
    return input_of(X).take(X, rows)


@cache
def _name_of_type(kind: Any) -> str:
    """Return the backend of a type, or of one that it is a subclass of."""
    for base in kind.__mro__:
        name = BACKENDS.get(base.__module__.partition(".")[0])
        if name is not None and (name != "dask" or hasattr(kind, "__dask_graph__")):
            return name
    return "numpy"
