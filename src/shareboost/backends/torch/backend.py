"""A torch device as the backend of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...arrays import Map, columns_type, is_sparse, to_float64
from ...gram import Factor, Gram
from ...model import Model
from ...penalties import PENALTIES
from ...pools.base import Pool
from ...pools.features import Features
from ..base import Backend
from .columns import DeviceColumns, DeviceGroups, DeviceProducts
from .forms import SUMS, DeviceUnion, OnDevice, WrittenOut
from .memory import CHUNK_EXAMPLES, Memory
from .pieces import DevicePieces
from .stumps import DeviceStumps
from .templates import DeviceTemplates
from .tensors import compressed, full_precision, readable

# By the pool that each is the form of.
FORMS: dict[Any, type[OnDevice]] = {
    next(base for base in form.__mro__ if not issubclass(base, OnDevice)): form
    for form in (
        *(DeviceColumns, DeviceGroups, DeviceProducts, DeviceStumps, DevicePieces),
        *(DeviceTemplates, DeviceUnion),
    )
}


class TorchBackend(Backend):
    """The tensors of a torch device.

    All rows are one block: a device is the faster the larger its tasks. No sum depends on the
    order in which threads of the device end, so a run on the same kind of device, with as much
    memory free for its chunks, ends alike, to the last bit.
    """

    xp = torch
    columns_apart = False

    def __init__(self, device: torch.device):
        self.device = device
        self.memory = Memory(device)
        kind = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        self.name = f"torch {torch.__version__}, {kind}"

    @contextmanager
    def deterministic(self) -> Iterator[Map]:
        """Products of float32 are not rounded to 10 bits meanwhile, whatever is set."""
        # Where Triton starts its kernels; a device of -1 changes nothing.
        current = torch.cuda.device(self.device if self.device.type == "cuda" else -1)
        without_autocast = torch.autocast(self.device.type, enabled=False)
        try:
            with current, torch.no_grad(), without_autocast, full_precision():
                yield map
        except torch.OutOfMemoryError as error:
            raise MemoryError(
                f"{self.device} ran out of memory. Give fewer rows or features at a time, X in a "
                f"smaller type, a pool of fewer atoms, or a device with more memory. ({error})"
            ) from None

    def edges(self, n_rows: int, n_classes: int) -> list[int]:
        return [0, n_rows]

    def rows(self, X: Any) -> Tensor:
        """Return rows of X as a tensor of the device; SciPy's sparse ones as compressed rows."""
        if isinstance(X, Tensor):
            return X
        if not sp.issparse(X):
            return readable(self._shared(X))
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        pointers, columns = (self.asarray(i.astype(np.int64)) for i in (X.indptr, X.indices))
        return compressed(pointers, columns, readable(self.asarray(X.data)), X.shape)

    def form(self, pool: Pool) -> Any:
        kind: Any = type(pool)
        if kind in FORMS:
            return FORMS[kind].of(pool, self)
        if all(getattr(kind, name) is getattr(Pool, name) for name in SUMS):
            return pool  # whose columns are written out anywhere
        if "n_atoms_" in vars(pool):
            raise ValueError(
                f"The pool {kind.__name__} cannot be computed on {self.device} with what it has "
                "learned in NumPy: only it can read its statistics. Leave device=None."
            )
        form: Any = type(f"Device{kind.__name__}", (WrittenOut, kind), {})
        return form.of(pool, self)

    def check(self, form: Pool, penalty: Any, X: Any) -> None:
        if is_sparse(X) and not isinstance(form, DeviceColumns):
            name = type(form).__name__.removeprefix("Device")
            raise ValueError(
                f"Sparse X cannot be computed on {self.device} with {name}: there only Columns and "
                "groups of them take it. Give X dense, or leave device=None."
            )
        if not isinstance(penalty, str) and type(penalty) not in PENALTIES.values():
            raise ValueError(
                f"The penalty {type(penalty).__name__} cannot be computed on {self.device}: those "
                "of shareboost.penalties can. Leave device=None and give X in NumPy's arrays."
            )

    def columns(self, features: Features, X: Any) -> Tensor:
        """Return the columns of chosen atoms, of as many rows at a time as there is room for.

        Those of compressed rows are their product with ones where the chosen columns are.
        """
        ids = features.input_columns
        if is_sparse(X):
            if ids is None:
                raise ValueError(
                    f"Sparse X cannot be computed on {self.device} by {type(features).__name__}: "
                    "there only models of columns take it. Give X dense, or as a SciPy matrix."
                )
            ones = torch.zeros((X.shape[1], len(ids)), dtype=columns_type(X), device=X.device)
            ones[self.asarray(ids), torch.arange(len(ids), device=X.device)] = 1.0
            return X.to(ones.dtype) @ ones
        if ids is not None or not len(X):
            return features.columns(X)
        out: list[Tensor] = []  # (n_columns, rows), once the first rows tell its type

        def write(rows: slice) -> None:
            columns = features.columns(X[rows])
            if not out:
                out.append(columns.new_empty((columns.shape[1], len(X))))
            out[0][:, rows] = columns.T

        self.memory.chunks(len(X), features.scratch(X.shape[1]), write)
        return out[0].T

    def scores(self, model: Model, rows: Tensor) -> Tensor:
        """Return the scores of rows, (rows, k), of as many at a time as there is room for."""
        with self.deterministic():
            weights, intercept = self.asarray(model.weights.T), self.asarray(model.intercept)

            def of(some: Tensor) -> Tensor:
                return to_float64(self.columns(model.features, some)) @ weights + intercept

            if is_sparse(rows):  # which are not cut
                return of(rows)
            each = 24 * max(1, len(weights))
            return torch.cat(self.memory.chunks(len(rows), each, lambda i: of(rows[i])))

    def best(self, model: Model, rows: Tensor) -> Tensor:
        return self.scores(model, rows).argmax(dim=1)

    def gram(self, rounding: float) -> Gram:
        none = self.zeros((0, 0))
        return Gram(rounding, InverseFactor(none, none, []))

    def asarray(self, values: Any, dtype: Any = None) -> Tensor:
        """Return NumPy's values in memory of torch's own, as its start decides products' bits."""
        if isinstance(values, Tensor):
            return values
        shared = self._shared(np.asarray(values, dtype=dtype))
        if self.device.type != "cpu":
            return shared
        return shared.clone(memory_format=torch.contiguous_format)

    def _shared(self, array: NDArray[Any]) -> Tensor:
        """Return a tensor of an array, of the same memory where the device has it."""
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()  # torch has no read-only tensors, nor any that run backwards
        return torch.as_tensor(array, device=self.device)

    def numpy(self, array: Tensor) -> NDArray[Any]:
        return array.cpu().numpy()

    def zeros(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Tensor:
        return torch.zeros(shape, dtype=getattr(torch, np.dtype(dtype).name), device=self.device)

    def product(self, W: Tensor, columns: Tensor, out: Tensor) -> None:
        torch.matmul(W, columns, out=out)

    def correlated(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return ``rows @ columns.T`` in float64, from sums over some examples each."""
        n = rows.shape[1]
        n_chunks, size = _chunked(n)
        whole = n_chunks * size
        left = rows[:, :whole].unflatten(1, (n_chunks, size)).transpose(0, 1)
        right = columns[:, :whole].unflatten(1, (n_chunks, size)).permute(1, 2, 0)
        total = torch.bmm(left, right).sum(dim=0, dtype=torch.float64)
        return total if whole == n else total + rows[:, whole:] @ columns[:, whole:].T

    inner = correlated


@cache
def _chunked(n: int) -> tuple[int, int]:
    """Return how many chunks of how many examples, at most ``CHUNK_EXAMPLES``, n of them make.

    None are left over where chunks of at least half as many allow it.
    """
    least = max(1, -(-n // CHUNK_EXAMPLES))
    most = max(least, 2 * n // CHUNK_EXAMPLES)
    even = (n_chunks for n_chunks in range(least, most + 1) if n % n_chunks == 0)
    n_chunks = next(even, n // CHUNK_EXAMPLES)
    return n_chunks, min(n // n_chunks, CHUNK_EXAMPLES)


@dataclass(eq=False)
class InverseFactor(Factor):
    """C and its inverse.

    A device takes long to start a task and short to do it: one product with the inverse
    is faster than the many steps of a triangular solve. Both grow by the rows of a panel.
    """

    C: Tensor
    inverse: Tensor
    stops: list[int]

    def times(self, W: Tensor) -> Tensor:
        return W @ self.C

    def divide(self, Z: Tensor) -> Tensor:
        return Z @ self.inverse

    def divide_transposed(self, G: Tensor) -> Tensor:
        return G @ self.inverse.T

    def first(self, n_panels: int) -> InverseFactor:
        stops = self.stops[:n_panels]
        c = stops[-1] if stops else 0
        return InverseFactor(self.C[:c, :c], self.inverse[:c, :c], stops)

    def grown(self, rows: Tensor) -> InverseFactor | None:
        old, new = self.size, rows.shape[1]
        L = self.inverse
        across = rows[:, :old] @ L.T
        C, info = torch.linalg.cholesky_ex(rows[:, old:] - across @ across.T)
        if int(info) or not bool(torch.isfinite(C).all()):
            return None
        eye = torch.eye(new - old, dtype=C.dtype, device=C.device)
        inverse = torch.linalg.solve_triangular(C, eye, upper=False)
        return InverseFactor(
            _with_rows(self.C, across, C),
            _with_rows(L, -(inverse @ (across @ L)), inverse),
            [*self.stops, new],
        )

    def asarray(self, values: NDArray[np.float64]) -> Tensor:
        return torch.as_tensor(values, device=self.C.device)


def _with_rows(triangle: Tensor, across: Tensor, corner: Tensor) -> Tensor:
    """Return a triangular matrix with some more rows, in memory of its own.

    Its size alone decides how far apart the rows lie there, as the bits of products hang on that.
    """
    old, new = across.shape[1], across.shape[1] + across.shape[0]
    room = 64
    while room < new:
        room = -(-5 * room // 4 // 32) * 32
    grown = triangle.new_zeros((room, room))
    grown[:old, :old] = triangle
    grown[old:new, :old] = across
    grown[old:new, old:new] = corner
    return grown[:new, :new]
