"""The forms in which pools compute on a torch device: what makes them fast there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ...pools import Columns, Groups, Pieces, Pool, Products, Stumps, Templates, Union
from ...pools.table import Table, Whole
from .columns import DeviceColumns
from .groups import DeviceGroups
from .on_device import OnDevice
from .pieces import DevicePieces
from .products import DeviceProducts
from .stumps import DeviceStumps
from .templates import DeviceTemplates
from .tensors import host_array
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
SUMS = ("encode", "prepare", "stats", "correlations", "moments", "columns")


def form_of(pool: Pool, backend: TorchBackend) -> Any:
    """Return the form of a pool that the backend computes; raise where there is none.

    It is the pool itself where nothing of the pool is NumPy's but what its features hold.
    """
    kind: Any = type(pool)
    if kind in FORMS:
        return FORMS[kind].of(pool, backend)
    if all(getattr(kind, name) is getattr(Pool, name) for name in SUMS):
        return pool
    if "n_atoms_" in vars(pool):
        raise ValueError(
            f"The pool {kind.__name__} cannot be computed on {backend.device} with what it has "
            "learned in NumPy: only it can read its statistics. Leave device=None."
        )
    form: Any = type(f"Device{kind.__name__}", (WrittenOut, kind), {})
    return form.of(pool, backend)


class WrittenOut(OnDevice, Pool):
    """A pool whose fast statistics are NumPy's alone, with those that ``Pool`` has of any columns.

    It learns from the rows in NumPy; the device computes the columns of its features.
    """

    slow_columns = adds_in_place = False
    encode, stats, correlations, moments = (
        Pool.encode,
        Pool.stats,
        Pool.correlations,
        Pool.moments,
    )
    columns, parts, starts, scales = Pool.columns, Pool.parts, Pool.starts, Pool.scales

    def learn(self, table: Table, centred: bool) -> None:
        X, weight = table.gathered()
        own: Any = super()  # the pool's class, which comes after this one
        own.learn(Whole(host_array(X), weight), centred)
        self._check_portable(X)
        if "dtype_" not in vars(self):
            return  # the scales are those of the columns, told next
        scales = [np.asarray(own.scales(atom)) for atom in range(self.n_atoms_)]
        self.scale_ = np.concatenate(scales)
        self.edges_ = np.cumsum([0, *map(len, scales)])
        self.pivot_ = np.zeros(len(self.scale_))

    def prepare(self, rows: Any) -> Tensor:
        """Return the rows in float64, as columns are summed far from their means."""
        return rows.double()

    def _check_portable(self, X: Tensor) -> None:
        """Raise where the columns of features take no tensors."""
        try:
            columns = self.features([0]).columns(X[:1])
        except Exception as error:
            columns = error
        if not isinstance(columns, Tensor):
            cause = columns if isinstance(columns, Exception) else None
            name = type(self).__name__.removeprefix("Device")
            raise ValueError(
                f"The pool {name} cannot be computed on {self.backend.device}: the columns of its "
                "features take no tensors. Leave device=None and give X in NumPy's arrays."
            ) from cause
