"""The forms in which pools compute on a torch device: what makes them fast there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...pools import Columns, Groups, Pieces, Pool, Products, Stumps, Templates, Union
from .columns import DeviceColumns
from .groups import DeviceGroups
from .pieces import DevicePieces
from .products import DeviceProducts
from .stumps import DeviceStumps
from .templates import DeviceTemplates
from .union import DeviceUnion

if TYPE_CHECKING:
    from .backend import TorchBackend

FORMS: dict[type[Pool], type[Any]] = {
    Columns: DeviceColumns,
    Groups: DeviceGroups,
    Stumps: DeviceStumps,
    Products: DeviceProducts,
    Pieces: DevicePieces,
    Templates: DeviceTemplates,
    Union: DeviceUnion,
}
# What a pool leaves to ``Pool`` if its columns are written out, which any device can.
WRITTEN_OUT = ("encode", "prepare", "stats", "correlations", "moments", "columns")


def form_of(pool: Pool, backend: TorchBackend) -> Any:
    """Return the form of a pool that the backend computes; raise where there is none.

    It is the pool itself where nothing of the pool is NumPy's but what its features hold.
    """
    if type(pool) in FORMS:
        return FORMS[type(pool)].of(pool, backend)
    if any(getattr(type(pool), name) is not getattr(Pool, name) for name in WRITTEN_OUT):
        raise ValueError(
            f"The pool {type(pool).__name__} cannot be computed on {backend.device}: those of "
            "shareboost.pools can, and others that sum over their columns as Pool does. Leave "
            "device=None and give X in NumPy's arrays."
        )
    return pool
