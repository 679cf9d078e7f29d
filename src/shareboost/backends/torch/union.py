"""Several pools as one on a torch device."""

from __future__ import annotations

from sklearn.base import clone

from ...pools import Pool, Union
from .backend import Device
from .forms import OnDevice, form_of


class DeviceUnion(OnDevice, Union):
    """As ``Union``, of the forms of its pools."""

    @classmethod
    def of(cls, pool: Pool, place: Device) -> DeviceUnion:
        form = super().of(pool, place)
        for _, own in form._named():
            form_of(own, place)  # raises before any work where one has none
        if "pools_" in vars(pool):
            form.pools_ = [form_of(own, place) for own in form.pools_]
        return form

    def _new_pool(self, pool: Pool) -> Pool:
        return form_of(clone(pool), self.place)
