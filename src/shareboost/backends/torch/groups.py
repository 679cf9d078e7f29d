"""Groups of columns on a torch device."""

from __future__ import annotations

from typing import Self

from ...pools import Columns, Groups, Pool
from .columns import DeviceColumns
from .forms import OnDevice


class DeviceGroups(OnDevice, Groups):
    """As ``Groups``, of ``DeviceColumns``."""

    takes_sparse = True

    def adopt(self, fitted: Pool) -> Self:
        super().adopt(fitted)
        self.columns_ = self._new_columns().adopt(self.columns_)
        return self

    def _new_columns(self) -> DeviceColumns:
        return DeviceColumns.of(Columns(self.scale), self.place)
