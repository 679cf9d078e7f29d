"""All products of two columns on a torch device, never written out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...pools.products import Products
from .on_device import OnDevice
from .types import tensor_type

# Examples whose products are summed in the type of the rows.
CHUNK_EXAMPLES = 4096
# What the statistics of a part take at most.
PART_BYTES = 1 << 28


class DeviceProducts(OnDevice, Products):
    """As ``Products``: the correlations of all classes are one product of two matrices.

    Its left factor has a row for each class and column, that column times the residual.
    """

    def parts(self, n_classes: int) -> list[slice]:
        d = self.n_columns_in_
        step = max(1, PART_BYTES // (8 * n_classes * d))
        edges = [0, 1, *range(1 + step, d + 1, step), d + 1]
        starts = self.starts_[edges].tolist()
        return [slice(a, b) for a, b in pairwise(starts) if b > a]

    def encode(self, X: Tensor, rows: slice) -> Tensor:
        return X[rows]

    def prepare(self, rows: Tensor) -> Tensor:
        return rows.to(tensor_type(self.sums_dtype_))

    def stats(
        self, data: Any, rows: Any, part: slice, out: Any = None, squares: bool = False
    ) -> Tensor:
        if squares:
            found = self._squares(data, rows.to(tensor_type(self.squares_dtype_)), part)
        else:
            found = self._sums(data, rows, part)
        return found if out is None else out.add_(found)

    def correlations(self, stats: Tensor, part: slice) -> Tensor:
        return stats / self.here("scale_")[part]

    def moments(self, stats: Tensor, part: slice) -> tuple[Tensor, Tensor]:
        first, second = stats.chunk(2)
        ratio = np.where(self.usable_[part], self._sizes(part) / self.scale_[part], 1.0)
        factor = self.backend.asarray(ratio)
        return first * factor, second * factor**2

    def columns(self, data: Tensor, atom: int) -> Tensor:
        return self.backend.columns(self.features([atom]), data).T

    def _moments(
        self, X: Tensor, share: NDArray[np.float64], part: slice
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first, second = self._squares(X, self.backend.asarray(share)[None], part)
        return self.backend.numpy(first), self.backend.numpy(second)

    def _squares(self, X: Tensor, rows: Tensor, part: slice) -> Tensor:
        """Return the sums for products of columns in their units, above those for the squares."""
        unit = self.backend.asarray(self.unit_)  # while fit still works on it
        sums = [
            self._sums(X, rows, part, lambda some: some / unit.to(some.dtype)),
            self._sums(X, rows, part, lambda some: (some / unit.to(some.dtype)).square_()),
        ]
        return torch.vstack(sums)

    def _sums(self, X: Tensor, rows: Tensor, part: slice, read: Any = None) -> Tensor:
        """Return the sums of ``rows * product``, (k, atoms of the part), in float64."""

        def values(some: Tensor) -> Tensor:
            some = some.to(rows.dtype)
            return some if read is None else read(some)

        if part.start < self.starts_[1]:  # the plain columns
            return self.backend.sums(rows, X, values)
        first = self._first_column(part)
        last = int(np.searchsorted(self.starts_, part.stop)) - 1
        k, n = rows.shape
        width = self.n_columns_in_ - first
        total = torch.zeros((k, last - first, width), dtype=torch.float64, device=X.device)

        def add(classes: slice) -> None:
            own = torch.zeros_like(total[classes])
            for start in range(0, n, CHUNK_EXAMPLES):
                examples = slice(start, min(start + CHUNK_EXAMPLES, n))
                right = values(X[examples])[:, first:]
                left = rows[classes, None, examples] * right[:, : last - first].T
                own += (left.flatten(0, 1) @ right).unflatten(0, left.shape[:2])
            total[classes] = own

        size = (last - first) * (CHUNK_EXAMPLES * rows.element_size() + width * 16)
        self.backend.memory.chunks(k, size, add, "the products of a class")
        return total.flatten(1)[:, self._places(part, first, width)]

    def _places(self, part: slice, first: int, width: int) -> Tensor:
        """Return where the part's products are among those of all pairs of its columns."""
        name = f"places {part}"
        if name not in self._held:
            left, right = self._factors(np.arange(part.start, part.stop))
            self._held[name] = self.backend.asarray((left - first) * width + right - first)
        return self._held[name]
