"""The columns of X, groups of them and products of two on a torch device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...arrays import cast, is_sparse, ranges
from ...pools.columns import Columns
from ...pools.groups import Groups
from ...pools.products import Products
from ...pools.table import Powers, Vector
from .forms import SumsOnDevice
from .memory import CHUNK_EXAMPLES, Memory
from .tensors import by_columns, compressed

if TYPE_CHECKING:
    from .backend import TorchBackend

# Examples whose products of two columns are summed in the type of the rows.
PRODUCT_EXAMPLES = 4096
# What the statistics of a part of all products take at most.
PART_BYTES = 1 << 28


class Compressed(NamedTuple):
    """The stored entries of a block's columns, column by column."""

    entries: Tensor  # (d, n), compressed rows: the columns of X
    pointers: NDArray[np.int64]  # (d + 1,), where each column's entries start

    def of(self, columns: slice) -> Compressed:
        """Return the entries of a range of columns."""
        if columns.stop - columns.start == len(self.pointers) - 1:
            return self
        pointers = self.pointers[columns.start : columns.stop + 1]
        stored = slice(int(pointers[0]), int(pointers[-1]))
        entries = compressed(
            self.entries.crow_indices()[columns.start : columns.stop + 1] - stored.start,
            # In memory of their own: cuSPARSE reads 16 bytes at a time, from a multiple of them.
            self.entries.col_indices()[stored].clone(),
            self.entries.values()[stored].clone(),
            (columns.stop - columns.start, self.entries.shape[1]),
        )
        return Compressed(entries, pointers - stored.start)

    def times(self, rows: Tensor, values: Tensor) -> Tensor:
        """Return ``rows @ X``, (k, d), in float64, of rows given as (n, k) and entries."""
        pointers, columns = self.entries.crow_indices(), self.entries.col_indices()
        return (compressed(pointers, columns, values, self.entries.shape) @ rows).T.double()

    def column(self, j: int) -> Tensor:
        """Return a column, (n,), dense."""
        stored = slice(int(self.pointers[j]), int(self.pointers[j + 1]))
        values = self.entries.values()
        column = values.new_zeros(self.entries.shape[1])
        column[self.entries.col_indices()[stored]] = values[stored]
        return column


class DeviceColumns(SumsOnDevice, Columns):
    """As ``Columns``. Dense rows are read in their own type, sparse ones never made dense."""

    columns = Columns.columns

    def encode(self, X: Any, rows: slice) -> Any:
        if not self.sparse_:
            return X[rows]
        columns = by_columns(X)  # the compressed rows of the transposed matrix
        pointers, values = columns.ccol_indices(), cast(columns.values(), self.sums_dtype_)
        entries = compressed(pointers, columns.row_indices(), values, (X.shape[1], X.shape[0]))
        return Compressed(entries, self.backend.numpy(pointers))

    def prepare(self, rows: Tensor) -> Tensor:
        rows = cast(rows, self.sums_dtype_)
        return rows.T.contiguous() if self.sparse_ else rows

    def sums(self, data: Any, rows: Any, part: slice, squares: bool) -> Tensor:
        scale = self.held("scale_")
        if self.sparse_:
            data = data.of(part)
            values = data.entries.values()
            if not squares:
                return data.times(rows, values)
            counts = data.entries.crow_indices().diff()
            values = values / torch.repeat_interleave(scale[part].to(rows.dtype), counts)
            return torch.vstack([data.times(rows, v) for v in (values, values**2)])
        if not squares:
            return summed(self.backend, rows, data, lambda some: some.to(rows.dtype))
        pivot = self.held("pivot_")

        def scaled(some: Tensor, power: int) -> Tensor:
            return ((some.double() - pivot) / scale).to(rows.dtype).pow_(power)

        reads = [partial(scaled, power=power) for power in (1, 2)]
        return torch.vstack([summed(self.backend, rows, data, read) for read in reads])

    def gathered(self, data: Any, columns: Any) -> Tensor:
        if isinstance(data, Compressed):
            return torch.stack([data.column(int(j)) for j in columns])
        return data[:, self.backend.asarray(np.asarray(columns))].T


class DeviceGroups(Groups, DeviceColumns):
    """As ``Groups``, of ``DeviceColumns``."""


class DeviceProducts(SumsOnDevice, Products):
    """As ``Products``: the correlations of all classes are one product of two matrices."""

    def parts(self, n_classes: int) -> list[slice]:
        d = self.n_columns_in_
        step = max(1, PART_BYTES // (8 * n_classes * d))
        edges = [0, 1, *range(1 + step, d + 1, step), d + 1]
        starts = self.starts_[edges].tolist()
        return [slice(a, b) for a, b in pairwise(starts) if b > a]

    def sums(self, data: Any, rows: Any, part: slice, squares: bool) -> Tensor:
        if not squares:
            return self._sums(data, rows, part)
        return self._squares(data, cast(rows, self.squares_dtype_), part)

    def _moments(self, X: Tensor, share: Vector, part: slice) -> tuple[Vector, Vector]:
        first, second = self._squares(X, self.backend.asarray(share)[None], part)
        return self.backend.numpy(first), self.backend.numpy(second)

    def _squares(self, X: Tensor, rows: Tensor, part: slice) -> Tensor:
        """Return the sums for products of columns in their units, above those for the squares."""
        unit = self.backend.asarray(self.unit_).to(rows.dtype)  # while fit still works on it
        return torch.vstack([self._sums(X, rows, part, unit, power) for power in (1, 2)])

    def _sums(
        self, X: Tensor, rows: Tensor, part: slice, unit: Tensor | None = None, power: int = 1
    ) -> Tensor:
        """Return the sums of ``rows * product``, (k, atoms of the part), in float64.

        The products are those of powers of the columns, in their units if these are given.
        """

        def values(some: Tensor) -> Tensor:
            some = some.to(rows.dtype)
            return some if unit is None else (some / unit).pow_(power)

        if part.start < self.starts_[1]:  # the plain columns
            return summed(self.backend, rows, X, values)
        first = self._first_column(part)
        last = int(np.searchsorted(self.starts_, part.stop)) - 1
        k, n = rows.shape
        width = self.n_columns_in_ - first

        def of_classes(classes: slice) -> Tensor:
            shape = classes.stop - classes.start, last - first, width
            total = torch.zeros(shape, dtype=torch.float64, device=X.device)
            for examples in ranges(n, PRODUCT_EXAMPLES):
                right = values(X[examples])[:, first:]
                left = rows[classes, None, examples] * right[:, : last - first].T
                total += (left.flatten(0, 1) @ right).unflatten(0, left.shape[:2])
            return total

        size = (last - first) * (PRODUCT_EXAMPLES * rows.element_size() + width * 16)
        total = torch.cat(self.backend.memory.chunks(k, size, of_classes))

        def places() -> NDArray[np.intp]:
            """Return where the products are among those of all pairs of the columns."""
            one, other = self._factors(np.arange(part.start, part.stop))
            return (one - first) * width + other - first

        return total.flatten(1)[:, self.held(f"places {part}", places)]


def summed(
    backend: TorchBackend, rows: Tensor, data: Tensor, read: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return ``rows @ read(data)`` in float64, (k, d): rows (k, n), data (n, ...).

    ``read`` turns some of the data's rows, as many as there is room for, into the type of ``rows``.
    """
    k, n = rows.shape

    def of_some(some: slice) -> Tensor:
        chunk = slice(some.start * CHUNK_EXAMPLES, some.stop * CHUNK_EXAMPLES)
        return backend.correlated(rows[:, chunk], read(data[chunk]).T)

    each = rows.element_size() * data[:1].numel() * (3 * CHUNK_EXAMPLES + k)
    n_chunks = -(-n // CHUNK_EXAMPLES)
    parts = backend.memory.chunks(n_chunks, each, of_some)
    return torch.stack(parts).sum(dim=0)


def powers(X: Tensor, weight: Vector) -> Powers:
    """Return the powers of the columns of a block, as ``pools.table`` tells of NumPy's."""
    mass, total = torch.as_tensor(weight, device=X.device), float(weight.sum())
    if is_sparse(X):
        low, high, mean, second = (values.cpu().numpy() for values in _sparse_powers(X, mass))
        return Powers(low, high, mean, total, np.zeros_like(mean), second, total)
    ends = [values.double() for values in torch.aminmax(X, dim=0)]
    heaviest = int(np.argmax(weight))
    pivot, unit = X[heaviest].double(), _half_range(*ends)

    def of_some(some: slice) -> Tensor:
        chunk = (X[some].double() - pivot).div_(unit)
        first = mass[some] @ chunk
        return torch.stack([first, mass[some] @ chunk.square_()])

    each = 3 * 8 * X[:1].numel()
    parts = Memory(X.device).chunks(len(X), each, of_some)
    wanted = *ends, pivot, *torch.stack(parts).sum(dim=0)
    low, high, middle, first, second = (values.cpu().numpy() for values in wanted)
    return Powers(low, high, middle, float(weight[heaviest]), first, second, total)


def _sparse_powers(X: Tensor, mass: Tensor) -> tuple[Tensor, ...]:
    """Return extremes, means, and squares about these, of compressed rows, zeros counted."""
    columns = by_columns(X)
    values, lengths = columns.values().double(), columns.ccol_indices().diff()
    stored, total = mass[columns.row_indices()], mass.sum()

    def of_columns(numbers: Tensor, how: str = "sum", initial: float | None = 0.0) -> Tensor:
        return torch.segment_reduce(numbers, how, lengths=lengths, unsafe=True, initial=initial)

    # Where all entries are stored, zero is not among them.
    full = lengths == X.shape[0]
    low, high = (of_columns(values, how, None) for how in ("min", "max"))
    low = torch.where(full, low, low.clamp(max=0.0))
    high = torch.where(full, high, high.clamp(min=0.0))
    unit = _half_range(low, high)
    scaled = values / torch.repeat_interleave(unit, lengths)
    mean = of_columns(stored * scaled) / total
    about = scaled - torch.repeat_interleave(mean, lengths)
    # The entries that are not stored lie a mean away from it.
    absent = (total - of_columns(stored)).clamp(min=0.0)
    return low, high, mean * unit, of_columns(stored * about**2) + absent * mean**2


def _half_range(low: Tensor, high: Tensor) -> Tensor:
    """Return half the range of each column, or one where it is constant."""
    unit = high / 2 - low / 2
    return torch.where(unit > 0, unit, 1.0)
