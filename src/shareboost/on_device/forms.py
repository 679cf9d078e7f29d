"""The form of every pool that computes on a torch device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from torch import Tensor

from ..pools import Columns, Groups, Pieces, Pool, Products, Stumps, Templates, Union

if TYPE_CHECKING:
    from .place import Device


class OnDevice:
    """What the forms have in common: the parameters of their pool, and a place."""

    place: Device
    _held: dict[str, Tensor]
    takes_sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, pool: Pool, place: Device) -> Self:
        """Return the form of an unfitted pool."""
        form = cls(**pool.get_params(deep=False))
        form.place = place
        form._held = {}  # a form is fitted once
        return form

    def here(self, name: str) -> Tensor:
        """Return what ``fit`` set under that name, NumPy's numbers, as a tensor of the device."""
        if name not in self._held:
            self._held[name] = self.place.asarray(getattr(self, name))
        return self._held[name]


def form_of(pool: Pool, place: Device) -> Any:
    """Return the form of an unfitted pool; raise where it has none."""
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
    if type(pool) not in forms:
        raise ValueError(
            f"The pool {type(pool).__name__} cannot be computed on {place.device}: those of "
            "shareboost.pools can. Leave device=None and give X in NumPy's arrays."
        )
    return forms[type(pool)].of(pool, place)
