"""The forms in which pools compute on a torch device: what makes them fast there."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from torch import Tensor

from ...pools.base import Pool, added
from ...pools.columns import Columns
from ...pools.groups import Groups
from ...pools.pieces import Pieces
from ...pools.products import Products
from ...pools.stumps import Stumps
from ...pools.table import Table, Whole
from ...pools.templates import Templates
from ...pools.union import Union
from .tensors import host_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .backend import TorchBackend

# The module here that has a pool's form, named "Device" and the pool's name.
FORMS: dict[type[Pool], str] = {
    Columns: "columns",
    Groups: "columns",
    Stumps: "stumps",
    Products: "columns",
    Pieces: "pieces",
    Templates: "templates",
    Union: "forms",
}
# What a pool leaves to ``Pool`` if its columns are written out, which any device can.
SUMS = ("encode", "prepare", "stats", "correlations", "moments", "columns")


def form_of(pool: Pool, backend: TorchBackend) -> Any:
    """Return the form of a pool that the backend computes; raise where there is none.

    It is the pool itself where nothing of the pool is NumPy's but what its features hold.
    """
    kind: Any = type(pool)
    name = f"Device{kind.__name__}"
    if kind in FORMS:
        form: Any = getattr(import_module(f"{__package__}.{FORMS[kind]}"), name)
        return form.of(pool, backend)
    if all(getattr(kind, name) is getattr(Pool, name) for name in SUMS):
        return pool
    if "n_atoms_" in vars(pool):
        raise ValueError(
            f"The pool {kind.__name__} cannot be computed on {backend.device} with what it has "
            "learned in NumPy: only it can read its statistics. Leave device=None."
        )
    form = type(name, (WrittenOut, kind), {})
    return form.of(pool, backend)


class OnDevice:
    """What the forms have in common: all that their pool holds, and a backend."""

    backend: TorchBackend
    _held: dict[str, Tensor]
    takes_sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, pool: Pool, backend: TorchBackend) -> Self:
        """Return the form of a pool, fitted if the pool is."""
        form = cls.__new__(cls)
        vars(form).update(vars(pool), backend=backend, _held={})
        return form

    def held(self, name: str, make: Callable[[], NDArray[Any]]) -> Tensor:
        """Return what is held on the device under a name, made in NumPy when first asked for."""
        if name not in self._held:
            self._held[name] = self.backend.asarray(make())
        return self._held[name]

    def _learned(self, name: str) -> Tensor:
        return self.held(name, partial(getattr, self, name))


class SumsOnDevice(OnDevice):
    """A form with sums of its own; a block is the rows of X, or has them as its ``source``."""

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
    def of(cls, pool: Pool, backend: TorchBackend) -> DeviceUnion:
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


def padded(values: NDArray[Any], sizes: NDArray[Any], fill: Any) -> NDArray[Any]:
    """Return values as rows of those sizes, filled up, (rows, longest)."""
    rows = np.full((len(sizes), max(1, int(sizes.max(initial=0)))), fill, dtype=values.dtype)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = values
    return rows
