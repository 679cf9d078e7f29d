"""What the forms in which pools compute on a torch device have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from torch import Tensor

from ...pools.base import Pool, added
from ...pools.table import Table, Whole
from ...pools.union import Union
from .tensors import host_array

if TYPE_CHECKING:
    from .backend import TorchBackend

# What a pool leaves to ``Pool`` if its columns are written out, which any device can.
SUMS = ("encode", "prepare", "stats", "correlations", "moments", "columns")


class OnDevice:
    """All that a pool holds, and a backend."""

    backend: TorchBackend
    _held: dict[str, Tensor]

    @classmethod
    def of(cls, pool: Pool, backend: TorchBackend) -> Self:
        """Return the form of a pool, fitted if the pool is."""
        form = cls.__new__(cls)
        vars(form).update(vars(pool), backend=backend, _held={})
        return form

    def held(self, name: str, make: Callable[[], NDArray[Any]] | None = None) -> Tensor:
        """Return what NumPy makes, else the attribute of that name, held on the device."""
        if name not in self._held:
            self._held[name] = self.backend.asarray(make() if make else getattr(self, name))
        return self._held[name]

    _learned = held  # as pools call it


class SumsOnDevice(OnDevice):
    """A form with sums of its own; a block is the rows of X, or has them as its ``source``."""

    n_atoms_: int

    def parts(self, n_classes: int) -> list[slice]:
        return [slice(0, self.n_atoms_)]

    def sums(self, data: Any, rows: Any, part: slice, squares: bool) -> Tensor:
        """Return the statistic of a block, in float64."""
        raise NotImplementedError

    def stats(
        self, data: Any, rows: Any, part: slice, out: Any = None, squares: bool = False
    ) -> Any:
        return added(out, self.sums(data, rows, part, squares))

    def columns(self: Any, data: Any, atom: int) -> Any:
        return self.backend.columns(self.features([atom]), getattr(data, "source", data)).T


class DeviceUnion(OnDevice, Union):
    """As ``Union``, of the forms of its pools."""

    @classmethod
    def of(cls, pool: Pool, backend: TorchBackend) -> Self:
        form = super().of(pool, backend)
        for _, member in form._named():
            backend.form(member)  # raises before any work where one has none
        if "pools_" in vars(pool):
            form.pools_ = [backend.form(member) for member in form.pools_]
        return form

    def _new_pool(self, pool: Pool) -> Pool:
        return self.backend.form(clone(pool))


class WrittenOut(OnDevice, Pool):
    """A pool whose fast statistics are NumPy's alone, with those that ``Pool`` has of any columns.

    It learns from the rows in NumPy; the device computes the columns of its features.
    """

    slow_columns = adds_in_place = False
    encode, stats, correlations = Pool.encode, Pool.stats, Pool.correlations
    moments, columns, parts = Pool.moments, Pool.columns, Pool.parts
    starts, scales = Pool.starts, Pool.scales

    def learn(self, table: Table, centred: bool) -> None:
        X, weight = table.gathered()
        pool: Any = super()  # the pool's class, which comes after this one
        pool.learn(Whole(host_array(X), weight), centred)
        columns, cause = None, None
        try:
            columns = self.features([0]).columns(X[:1])
        except Exception as error:
            cause = error
        if not isinstance(columns, Tensor):
            name = type(self).__name__.removeprefix("Device")
            raise ValueError(
                f"The pool {name} cannot be computed on {self.backend.device}: the columns of its "
                "features take no tensors. Leave device=None and give X in NumPy's arrays."
            ) from cause
        if "dtype_" in vars(self):  # else the scales are those of the columns, told next
            scales = [np.asarray(pool.scales(atom)) for atom in range(self.n_atoms_)]
            self.scale_ = np.concatenate(scales)
            self.edges_ = np.cumsum([0, *map(len, scales)])
            self.pivot_ = np.zeros(len(self.scale_))

    def prepare(self, rows: Any) -> Tensor:
        """Return the rows in float64, as columns are summed far from their means."""
        return rows.double()


def padded(values: NDArray[Any], sizes: NDArray[Any], fill: Any) -> NDArray[Any]:
    """Return values as rows of those sizes, filled up, (rows, longest)."""
    rows = np.full((len(sizes), max(1, int(sizes.max(initial=0)))), fill, dtype=values.dtype)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = values
    return rows
