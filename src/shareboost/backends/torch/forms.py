"""The form of every pool that computes on a torch device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ...pools import Columns, Groups, Pieces, Pool, Products, Stumps, Templates, Union

if TYPE_CHECKING:
    from .backend import Device


# What a pool leaves to ``Pool`` if its columns are written out, which any device can.
WRITTEN_OUT = ("encode", "prepare", "stats", "correlations", "moments", "columns")


class OnDevice:
    """What the forms have in common: all that their pool holds, and a place."""

    place: Device
    _held: dict[str, Tensor]
    takes_sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, pool: Pool, place: Device) -> Self:
        """Return the form of a pool, fitted if the pool is."""
        form = cls.__new__(cls)
        vars(form).update(vars(pool), place=place, _held={})
        return form

    def _largest(self, X: Tensor) -> NDArray[np.float64]:
        """Return the largest magnitude of every column."""
        low, high = self.place.extremes(X)
        return np.maximum(-low, high)

    def here(self, name: str) -> Tensor:
        """Return what ``fit`` set under that name, NumPy's numbers, as a tensor of the device."""
        if name not in self._held:
            self._held[name] = self.place.asarray(getattr(self, name))
        return self._held[name]


def form_of(pool: Pool, place: Device) -> Any:
    """Return the form of a pool that computes at the place; raise where there is none.

    It is the pool itself where nothing of the pool is NumPy's but what its features hold.
    """
    from .columns import DeviceColumns
    from .groups import DeviceGroups
    from .pieces import DevicePieces
    from .products import DeviceProducts
    from .stumps import DeviceStumps
    from .templates import DeviceTemplates
    from .union import DeviceUnion

    forms: dict[type[Pool], type[Any]] = {
        Columns: DeviceColumns,
        Groups: DeviceGroups,
        Stumps: DeviceStumps,
        Products: DeviceProducts,
        Pieces: DevicePieces,
        Templates: DeviceTemplates,
        Union: DeviceUnion,
    }
    if type(pool) in forms:
        return forms[type(pool)].of(pool, place)
    if any(getattr(type(pool), name) is not getattr(Pool, name) for name in WRITTEN_OUT):
        raise ValueError(
            f"The pool {type(pool).__name__} cannot be computed on {place.device}: those of "
            "shareboost.pools can, and others that sum over their columns as Pool does. Leave "
            "device=None and give X in NumPy's arrays."
        )
    return pool
