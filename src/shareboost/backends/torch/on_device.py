"""What the forms of pools that compute on a torch device have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ...pools.base import Pool

if TYPE_CHECKING:
    from .backend import TorchBackend


class OnDevice:
    """What the forms have in common: all that their pool holds, and a backend."""

    backend: TorchBackend
    _held: dict[str, Tensor]
    takes_sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, pool: Pool, backend: TorchBackend) -> Self:
        """Return the form of a pool, fitted if the pool is."""
        form = cls.__new__(cls)
        vars(form).update(vars(pool), backend=backend, _held={})
        return form

    def _largest(self, X: Tensor) -> NDArray[np.float64]:
        """Return the largest magnitude of every column."""
        low, high = self.backend.extremes(X)
        return np.maximum(-low, high)

    def here(self, name: str) -> Tensor:
        """Return what ``fit`` set under that name, NumPy's numbers, as a tensor of the device."""
        if name not in self._held:
            self._held[name] = self.backend.asarray(getattr(self, name))
        return self._held[name]
