"""Groups of columns on a torch device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ...pools.base import Pool
from ...pools.columns import Columns
from ...pools.groups import Groups
from .columns import DeviceColumns
from .on_device import OnDevice

if TYPE_CHECKING:
    from .backend import TorchBackend


class DeviceGroups(OnDevice, Groups):
    """As ``Groups``, of ``DeviceColumns``."""

    takes_sparse = True

    @classmethod
    def of(cls, pool: Pool, backend: TorchBackend) -> Self:
        form = super().of(pool, backend)
        if "columns_" in vars(pool):
            form.columns_ = DeviceColumns.of(form.columns_, backend)
        return form

    def _new_columns(self) -> DeviceColumns:
        return DeviceColumns.of(Columns(self.scale), self.backend)
