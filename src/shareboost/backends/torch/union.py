"""Several pools as one on a torch device."""

from __future__ import annotations

from typing import Self

from sklearn.base import clone
from torch import Tensor

from ...pools import Pool, Union
from .backend import Device
from .forms import OnDevice, fitted_form_of, form_of


class DeviceUnion(OnDevice, Union):
    """As ``Union``, of the forms of its pools."""

    @classmethod
    def of(cls, pool: Pool, place: Device) -> DeviceUnion:
        form = super().of(pool, place)
        for _, own in form._named():
            form_of(own, place)  # raises before any work where one has none
        return form

    def adopt(self, fitted: Pool) -> Self:
        super().adopt(fitted)
        self.pools_ = [fitted_form_of(pool, self.place) for pool in self.pools_]
        return self

    def plain_stats(self, stats: Tensor, part: slice) -> Tensor:
        number, own = self._own(part)
        return self.pools_[number].plain_stats(stats, own)

    def _new_pool(self, pool: Pool) -> Pool:
        return form_of(clone(pool), self.place)
