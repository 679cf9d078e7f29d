"""A cluster as the backend of a fit."""

from __future__ import annotations

from typing import Any

from ..numpy import NumpyBackend


class DaskBackend(NumpyBackend):
    """The workers of a connected client have the rows; what is decided here is NumPy's.

    Workers compute where their blocks are, in NumPy or on a device of theirs.
    """

    @property
    def name(self) -> str:  # type: ignore[override]
        return "dask"

    def check_beside(self, X: Any, what: str) -> None:
        raise ValueError(
            f"{what} is on {X.device}, and the fit on a cluster: give it as a collection of Dask, "
            "or in NumPy's arrays."
        )
