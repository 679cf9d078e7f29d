"""All decision stumps on a torch device."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...arrays import cast
from ...pools.stumps import Stumps
from ...pools.table import Table, Vector
from ...pools.thresholds import Counted
from .forms import SumsOnDevice, padded

# What the statistics of a part take at most.
PART_BYTES = 1 << 28


class Ranked(NamedTuple):
    """Rows, and every column's order of them where that fits the device."""

    order: Tensor | None  # (d, n): the rows of a column from its lowest code to its highest
    below: Tensor  # (atoms,): how many rows each stump is 1 for
    source: Tensor  # rows of X


class DeviceStumps(SumsOnDevice, Stumps):
    """As ``Stumps``. A stump's sum is that of the first rows in the order of its column.

    Sums along that order give those of all thresholds, always in the same order of additions,
    which counting by atomic operations would not. Where the orders of all columns do not fit the
    free memory, columns are sorted anew in every round, some at a time.
    """

    def _counted(self, X: Tensor, weight: Vector) -> Iterator[Counted]:
        share = self.backend.asarray(weight)

        def count(columns: slice) -> list[Counted]:
            values, order = X[:, columns].T.double().sort(dim=1)
            # Two NaN are one value, though they are not equal.
            same = (values[:, 1:] == values[:, :-1]) | values[:, :-1].isnan()
            last = torch.cat([~same, same.new_ones((len(same), 1))], dim=1)
            totals = torch.cumsum(share[order], dim=1)[last]
            edges = torch.cumsum(last.sum(dim=1), dim=0)[:-1].tolist()
            both = (np.split(self.backend.numpy(some), edges) for some in (values[last], totals))
            return [(v, np.diff(total, prepend=0.0)) for v, total in zip(*both, strict=True)]

        return chain.from_iterable(self.backend.memory.chunks(X.shape[1], 48 * len(X), count))

    def _set_common(self, table: Table) -> None:
        self.stored_ = False  # no code is left out

    def parts(self, n_classes: int) -> list[slice]:
        return self._of_whole_columns(PART_BYTES // (8 * n_classes))

    def encode(self, X: Tensor, rows: slice) -> Ranked:
        X = X[rows]
        n, d = X.shape
        order = None
        if self.backend.memory.fits(4 * n * d):
            order = torch.empty((d, n), dtype=torch.int32, device=X.device)

        def rank(columns: slice) -> Tensor:
            places, reached = self._ranked(X, columns)
            if order is not None:
                order[columns] = places
            return reached

        below = self.backend.memory.chunks(d, 64 * n, rank)
        return Ranked(order, torch.cat(below), X)

    def _ranked(self, X: Tensor, columns: slice) -> tuple[Tensor, Tensor]:
        """Return the order of the rows by each column, and how many each stump is 1 for."""
        starts = self.starts_[columns.start : columns.stop + 1]
        sizes = np.diff(starts)
        # Every column's thresholds, after the last of which come some that no value exceeds.
        cuts = padded(self.thresholds_[starts[0] : starts[-1]], sizes, np.inf)
        thresholds, count = self.backend.asarray(cuts), self.backend.asarray(sizes)[:, None]
        values = X[:, columns].T.double().contiguous()
        codes = torch.minimum(torch.searchsorted(thresholds, values), count)
        codes, places = codes.sort(dim=1, stable=True)
        each = torch.arange(cuts.shape[1], device=X.device)
        reached = torch.searchsorted(codes, each.expand(len(cuts), -1).contiguous(), right=True)
        return places.to(torch.int32), reached[each < count]

    def prepare(self, rows: Tensor) -> Tensor:
        return cast(rows, self.sums_dtype_)

    def sums(self, data: Any, rows: Any, part: slice, squares: bool) -> Tensor:
        """Return the sums of rows by code, (bins of the part, k): differences of those below.

        Where NumPy's leave common codes out, one more row has the sum of all rows.
        """
        k, n = rows.shape
        first, last = self._columns_of(part)
        kept = data.order is not None

        def of_columns(columns: slice) -> Tensor:
            some = slice(first + columns.start, first + columns.stop)
            order = data.order[some] if kept else self._ranked(data.source, some)[0]
            running = torch.cumsum(rows[:, order.long()], dim=2, dtype=torch.float64)
            starts = self.starts_[some.start : some.stop + 1]
            column = self.backend.asarray(np.repeat(np.arange(len(order)), np.diff(starts)))
            reached = data.below[starts[0] : starts[-1]]
            sums = running[:, column, (reached - 1).clamp(min=0)]
            return torch.where(reached > 0, sums, 0.0)

        each = n * (8 + 14 * k + (0 if kept else 64))
        below = self.backend.memory.chunks(last - first, each, of_columns)
        total = rows.sum(dim=1, dtype=torch.float64)
        stumps, _, edges = self._bins(part)
        up_to = total.new_empty((len(stumps) + last - first, k))
        up_to[edges[1:] - 1] = total  # the last bin of each column, which has no stump
        up_to[stumps] = torch.cat(below, dim=1).T
        bins = up_to - up_to.roll(1, dims=0)
        bins[edges[:-1]] = up_to[edges[:-1]]
        return torch.vstack([bins, total]) if self.stored_ else bins

    def moments(self, stats: Tensor, part: slice) -> tuple[Tensor, Tensor]:
        mostly, scale = self.held("mostly_one_")[part], self.held("scale_")[part]
        first = int(self._bin_edges(*self._columns_of(part))[1])
        total = stats[:first].sum(dim=0)[:, None]  # as of any column
        sums = (self._below(stats, part) - torch.where(mostly, total, 0.0)) / scale
        return sums, sums * (torch.where(mostly, -1.0, 1.0) / scale)

    def _below(self, stats: Any, part: slice) -> Any:
        """Return the sums of the rows that each stump of a part is 1 for, (k, atoms)."""
        stumps, first, _ = self._bins(part)
        n_bins = len(stats) - self.stored_
        running = torch.nn.functional.pad(torch.cumsum(stats[:n_bins], dim=0), (0, 0, 1, 0))
        return (running[stumps + 1] - running[first]).T

    def _bins(self, part: slice) -> tuple[Tensor, ...]:
        """Return the bin of each stump of a part, the first of its column, and all edges."""
        edges = self._bin_edges(*self._columns_of(part))
        stumps = np.delete(np.arange(edges[-1]), edges[1:] - 1)
        first = np.repeat(edges[:-1], np.diff(edges) - 1)
        return tuple(map(self.backend.asarray, (stumps, first, edges)))
