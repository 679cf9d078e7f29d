"""A cluster as the backend of a fit."""

from __future__ import annotations

from ..numpy import NumpyBackend


class DaskBackend(NumpyBackend):
    """The workers of a connected client have the rows; what is decided here is NumPy's.

    Workers compute where their blocks are, in NumPy or on a device of theirs.
    """

    name = "dask"
