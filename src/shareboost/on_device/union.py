"""Several pools as one on a torch device."""

from __future__ import annotations

from sklearn.base import clone

from ..pools import Pool, Union
from .forms import OnDevice, form_of
from .place import Device


class DeviceUnion(OnDevice, Union):
    """As ``Union``, of the forms of its pools."""

    @classmethod
    def of(cls, pool: Pool, place: Device) -> DeviceUnion:
        form = super().of(pool, place)
        for _, own in form._named():
            form_of(own, place)  # raises before any work where one has none
        return form

    def _new_pool(self, pool: Pool) -> Pool:
        return form_of(clone(pool), self.place)
