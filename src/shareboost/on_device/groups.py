"""Groups of columns on a torch device."""

from __future__ import annotations

from ..pools import Columns, Groups
from .columns import DeviceColumns
from .forms import OnDevice


class DeviceGroups(OnDevice, Groups):
    """As ``Groups``, of ``DeviceColumns``."""

    takes_sparse = True

    def _new_columns(self) -> DeviceColumns:
        return DeviceColumns.of(Columns(self.scale), self.place)
