"""The columns of X on a torch device, dense or as compressed rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...arrays import ranges
from ...pools.columns import Columns
from ...pools.table import Moments, Table, half_range
from .on_device import OnDevice
from .tensors import by_columns, compressed, is_sparse
from .types import tensor_type


class Compressed(NamedTuple):
    """The stored entries of a block's columns, column by column."""

    entries: Tensor  # (d, n), compressed rows: the columns of X
    pointers: NDArray[np.int64]  # (d + 1,), where each column's entries start

    def of(self, columns: slice) -> Compressed:
        """Return the entries of a range of columns."""
        if columns.stop - columns.start == len(self.pointers) - 1:
            return self
        pointers = self.pointers[columns.start : columns.stop + 1]
        own = slice(int(pointers[0]), int(pointers[-1]))
        entries = compressed(
            self.entries.crow_indices()[columns.start : columns.stop + 1] - own.start,
            # In memory of their own: cuSPARSE reads 16 bytes at a time, from a multiple of them.
            self.entries.col_indices()[own].clone(),
            self.entries.values()[own].clone(),
            (columns.stop - columns.start, self.entries.shape[1]),
        )
        return Compressed(entries, pointers - own.start)

    def times(self, rows: Tensor, values: Tensor | None = None) -> Tensor:
        """Return ``rows @ X``, (k, d), of rows given as (n, k), or of other values there."""
        entries = self.entries
        if values is not None:
            entries = compressed(
                entries.crow_indices(), entries.col_indices(), values, entries.shape
            )
        return (entries @ rows).T

    def column(self, j: int) -> Tensor:
        """Return a column, (n,), dense."""
        own = slice(int(self.pointers[j]), int(self.pointers[j + 1]))
        values = self.entries.values()
        found = values.new_zeros(self.entries.shape[1])
        found[self.entries.col_indices()[own]] = values[own]
        return found


class DeviceColumns(OnDevice, Columns):
    """As ``Columns``. Dense rows are read in their own type, sparse ones never made dense."""

    takes_sparse = True

    def _moments(self, table: Table) -> Moments:
        X, weight = table.gathered()
        share = self.backend.asarray(weight)
        return self._sparse_moments(X, share) if is_sparse(X) else self._dense_moments(X, share)

    def encode(self, X: Any, rows: slice) -> Any:
        if not self.sparse_:
            return X[rows]
        columns = by_columns(X)  # the compressed rows of the transposed matrix
        entries = compressed(
            columns.ccol_indices(),
            columns.row_indices(),
            columns.values().to(tensor_type(self.sums_dtype_)),
            (X.shape[1], X.shape[0]),
        )
        return Compressed(entries, self.backend.numpy(columns.ccol_indices()))

    def parts(self, n_classes: int) -> list[slice]:
        return ranges(self.n_atoms_, self.n_atoms_)

    def prepare(self, rows: Tensor) -> Tensor:
        rows = rows.to(tensor_type(self.sums_dtype_))
        return rows.T.contiguous() if self.sparse_ else rows

    def stats(
        self, data: Any, rows: Any, part: slice, out: Any = None, squares: bool = False
    ) -> Tensor:
        if self.sparse_:
            found = self._compressed_stats(data.of(part), rows, part, squares)
        elif squares:
            pivot, scale = self.here("pivot_"), self.here("scale_")

            def scaled(some: Tensor) -> Tensor:
                return ((some.double() - pivot) / scale).to(rows.dtype)

            found = torch.vstack(
                [
                    self.backend.sums(rows, data, scaled),
                    self.backend.sums(rows, data, lambda some: scaled(some).square_()),
                ]
            )
        else:
            found = self.backend.sums(rows, data, lambda some: some.to(rows.dtype))
        return found if out is None else out.add_(found)

    def _compressed_stats(
        self, data: Compressed, rows: Tensor, part: slice, squares: bool
    ) -> Tensor:
        """Return the sums of a part's columns, given alone."""
        if not squares:
            return data.times(rows).double()
        scale = self.here("scale_")[part].to(rows.dtype)
        counts = self.backend.asarray(np.diff(data.pointers))
        values = data.entries.values() / torch.repeat_interleave(scale, counts)
        return torch.vstack([data.times(rows, values), data.times(rows, values**2)]).double()

    def correlations(self, stats: Tensor, part: slice) -> Tensor:
        return stats / self.here("scale_")[part]

    def moments(self, stats: Tensor, part: slice) -> tuple[Tensor, Tensor]:
        first, second = stats.chunk(2)
        return first, second

    def gathered(self, data: Any, columns: Any) -> Tensor:
        if isinstance(data, Compressed):
            return torch.stack([data.column(int(j)) for j in columns])
        return data[:, self.backend.asarray(np.asarray(columns))].T

    def _dense_moments(self, X: Tensor, weight: Tensor) -> Moments:
        """Return the weighted moments, by sums about the row of largest weight as on the host."""
        low, high = self.backend.extremes(X)
        unit = self.backend.asarray(half_range(low, high))
        pivot = X[int(weight.argmax())].double()
        first, second = self.backend.powers(X, weight, pivot, unit)
        total = float(weight.sum())
        mean = first / total
        variance = (second / total - mean**2).clamp(min=0.0)
        found = pivot + mean * unit, torch.sqrt(variance) * unit
        return Moments(low, high, *(self.backend.numpy(values) for values in found))

    def _sparse_moments(self, X: Tensor, weight: Tensor) -> Moments:
        """Return the weighted moments of compressed rows, zeros counted."""
        columns = by_columns(X)
        values, lengths = columns.values().double(), columns.ccol_indices().diff()
        own = weight[columns.row_indices()]

        def of_columns(numbers: Tensor, how: str) -> Tensor:
            return torch.segment_reduce(numbers, how, lengths=lengths, unsafe=True, initial=0.0)

        full = lengths == X.shape[0]
        # Where all entries are stored, zero is not among them.
        low = torch.segment_reduce(values, "min", lengths=lengths, unsafe=True)
        high = torch.segment_reduce(values, "max", lengths=lengths, unsafe=True)
        low, high = (
            torch.where(full, low, low.clamp(max=0.0)),
            torch.where(full, high, high.clamp(min=0.0)),
        )
        low_, high_ = self.backend.numpy(low), self.backend.numpy(high)
        unit = self.backend.asarray(half_range(low_, high_))
        total = weight.sum()
        scaled = values / torch.repeat_interleave(unit, lengths)
        mean = of_columns(own * scaled, "sum") / total
        about = scaled - torch.repeat_interleave(mean, lengths)
        # The entries that are not stored lie a mean away from it.
        absent = (total - of_columns(own, "sum")).clamp(min=0.0)
        variance = (of_columns(own * about**2, "sum") + absent * mean**2) / total
        deviation = torch.sqrt(variance)
        return Moments(
            low_, high_, self.backend.numpy(mean * unit), self.backend.numpy(deviation * unit)
        )
