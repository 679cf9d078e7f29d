"""Several pools as one on a torch device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.base import clone

from ...pools.base import Pool
from ...pools.union import Union
from .on_device import OnDevice

if TYPE_CHECKING:
    from .backend import TorchBackend


class DeviceUnion(OnDevice, Union):
    """As ``Union``, of the forms of its pools."""

    @classmethod
    def of(cls, pool: Pool, backend: TorchBackend) -> DeviceUnion:
        form = super().of(pool, backend)
        for _, own in form._named():
            backend.form(own)  # raises before any work where one has none
        if "pools_" in vars(pool):
            form.pools_ = [backend.form(own) for own in form.pools_]
        return form

    def _new_pool(self, pool: Pool) -> Pool:
        return self.backend.form(clone(pool))
