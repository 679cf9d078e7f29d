"""A triangular factor on a torch device, with the inverse of it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...gram import Factor


class InverseFactor(Factor):
    """C and its inverse.

    A device takes long to start a task and short to do it: one product with the inverse
    is faster than the many steps of a triangular solve. Neither changes as panels follow: both
    grow by the rows of a panel.
    """

    def __init__(self, C: Tensor, inverse: Tensor, stops: list[int]):
        self._C = C
        self._inverse = inverse
        self.stops = stops

    @classmethod
    def empty(cls, device: torch.device) -> InverseFactor:
        """Return the factor of no columns."""
        none = torch.zeros((0, 0), dtype=torch.float64, device=device)
        return cls(none, none, [])

    def times(self, W: Tensor) -> Tensor:
        return W @ self._C

    def divide(self, Z: Tensor) -> Tensor:
        return Z @ self._inverse

    def divide_transposed(self, G: Tensor) -> Tensor:
        return G @ self._inverse.T

    def first(self, n_panels: int) -> InverseFactor:
        stops = self.stops[:n_panels]
        c = stops[-1] if stops else 0
        return InverseFactor(self._C[:c, :c], self._inverse[:c, :c], stops)

    def grown(self, rows: Tensor) -> InverseFactor | None:
        old, new = self.size, rows.shape[1]
        L = self._inverse
        across = rows[:, :old] @ L.T
        C, info = torch.linalg.cholesky_ex(rows[:, old:] - across @ across.T)
        if int(info) or not bool(torch.isfinite(C).all()):
            return None
        eye = torch.eye(new - old, dtype=C.dtype, device=C.device)
        inverse = torch.linalg.solve_triangular(C, eye, upper=False)
        return InverseFactor(
            _with_rows(self._C, across, C),
            _with_rows(L, -(inverse @ (across @ L)), inverse),
            [*self.stops, new],
        )

    def asarray(self, values: NDArray[np.float64]) -> Tensor:
        return torch.as_tensor(values, device=self._C.device)


def _with_rows(triangle: Tensor, across: Tensor, corner: Tensor) -> Tensor:
    """Return a triangular matrix with some more rows, in memory of its own."""
    old, new = across.shape[1], across.shape[1] + across.shape[0]
    room = _room(new)
    grown = triangle.new_zeros((room, room))
    grown[:old, :old] = triangle
    grown[old:new, :old] = across
    grown[old:new, old:new] = corner
    return grown[:new, :new]


def _room(size: int) -> int:
    """Return for how many columns a matrix of so many has room: that and nothing else decides.

    The bits of a product hang on how far apart the rows of a matrix lie.
    """
    room = 64
    while room < size:
        room = -(-5 * room // 4 // 32) * 32
    return room
