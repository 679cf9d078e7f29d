"""The form of every pool that computes on a torch device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ...pools import Columns, Groups, Pieces, Pool, Products, Stumps, Templates, Union

if TYPE_CHECKING:
    from .backend import Device


class OnDevice:
    """What the forms have in common: the parameters of their pool, and a place."""

    place: Device
    _held: dict[str, Tensor]
    takes_sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, pool: Pool, place: Device) -> Self:
        """Return the form of a pool, unfitted."""
        form = cls(**pool.get_params(deep=False))
        form.place = place
        form._held = {}  # a form is fitted once
        return form

    def adopt(self, fitted: Pool) -> Self:
        """Take over what ``fit`` set in the pool of which this is the form, fitted in NumPy."""
        check_is_fitted(fitted)
        for name, value in vars(fitted).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def plain_stats(self, stats: Tensor, part: slice) -> Tensor:
        """Return a statistic in the shape and the meaning that it has in NumPy.

        The part is one of ``parts`` there, which a form takes beside its own.
        """
        return stats

    def _largest(self, X: Tensor) -> NDArray[np.float64]:
        """Return the largest magnitude of every column."""
        low, high = self.place.extremes(X)
        return np.maximum(-low, high)

    def here(self, name: str) -> Tensor:
        """Return what ``fit`` set under that name, NumPy's numbers, as a tensor of the device."""
        if name not in self._held:
            self._held[name] = self.place.asarray(getattr(self, name))
        return self._held[name]


def fitted_form_of(pool: Pool, place: Device) -> Any:
    """Return the form of a pool that was fitted in NumPy; raise where it has none."""
    return form_of(pool, place).adopt(pool)


def form_of(pool: Pool, place: Device) -> Any:
    """Return the form of a pool, unfitted; raise where it has none."""
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
