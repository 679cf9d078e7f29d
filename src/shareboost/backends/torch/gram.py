"""Inner products of the training columns on a torch device, and the inverse of their factor."""

from __future__ import annotations

from copy import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...gram import atoms_of_panels, rounded_ridge


class Factor:
    """C, lower triangular, (c, c), and its inverse.

    A device takes long to start a task and short to do it: one product with the inverse
    is faster than the many steps of a triangular solve.
    """

    def __init__(self, C: Tensor, inverse: Tensor):
        self._C = C
        self._inverse = inverse

    def times(self, W: Tensor) -> Tensor:
        """Return ``W C``, (k, c)."""
        return W @ self._C

    def divide(self, Z: Tensor) -> Tensor:
        """Return ``Z C^-1``."""
        return Z @ self._inverse

    def divide_transposed(self, G: Tensor) -> Tensor:
        """Return ``G C^-T``."""
        return G @ self._inverse.T


class DeviceGram:
    """As ``shareboost.gram.Gram``, on a device, panel by panel as there.

    The factor of some columns does not change as others follow, nor does its inverse: both
    grow by the rows of a panel. A panel that was not yet full is factored again when it is,
    so a factor does not depend, to the last bit, on when it was asked for.
    """

    def __init__(self, rounding: float, device: torch.device):
        self._borders: list[Tensor] = []  # of each atom: products with all columns up to it
        # With room for more columns than are factored.
        self._C = self._inverse = torch.zeros((0, 0), dtype=torch.float64, device=device)
        self._stops: list[int] = []  # of the panels: columns up to each
        self._ridge: NDArray[np.float64] = np.empty(0)  # of these columns
        self._least_apart = self._apart = 1.0 + 100.0 * rounding

    @property
    def _size(self) -> int:
        """Columns that are factored."""
        return self._stops[-1] if self._stops else 0

    def extend(self, border: Tensor) -> None:
        """Add an atom; ``border`` holds its products with all columns, (new, old + new)."""
        self._borders = [*self._borders, border]
        self._begin_anew(self._apart != self._least_apart)

    @property
    def border(self) -> Tensor:
        """Inner products of the last atom's columns with all columns, (new, old + new)."""
        return self._borders[-1]

    @property
    def matrix(self) -> Tensor:
        """The whole matrix."""
        n = self._borders[-1].shape[1] if self._borders else 0
        matrix = self._C.new_zeros((n, n))
        for border in self._borders:
            height, stop = border.shape
            matrix[stop - height : stop, :stop] = border
            matrix[:stop, stop - height : stop] = border.T
        return matrix

    def remove(self, place: int) -> DeviceGram:
        """Remove the atom at that place; return the matrix as it was before."""
        before = copy(self)
        stop = self._borders[place].shape[1]
        start = stop - self._borders[place].shape[0]
        later = [
            torch.hstack([border[:, :start], border[:, stop:]])
            for border in self._borders[place + 1 :]
        ]
        self._borders = [*self._borders[:place], *later]
        # From now on in tensors of its own.
        self._C, self._inverse = self._C.clone(), self._inverse.clone()
        self._keep([stop for stop in self._stops if stop <= start])
        self._begin_anew(self._apart != self._least_apart)
        return before

    def factor(self, ridge: NDArray[np.float64]) -> Factor:
        """Return C with ``C C^T`` the matrix plus about ``diag(ridge)``."""
        ridge = rounded_ridge(ridge)
        self._begin_anew(not np.array_equal(ridge[: self._size], self._ridge))
        panels = atoms_of_panels([len(border) for border in self._borders])
        stops = [self._borders[last - 1].shape[1] for _, last in panels]
        same = [a == b for a, b in zip(self._stops, stops, strict=False)]
        self._keep(stops[: same.index(False) if False in same else len(same)])
        while self._stops != stops:
            first, last = panels[len(self._stops)]
            if not self._add_panel(self._borders[first:last], ridge):
                self._apart = 1.0 + 10.0 * (self._apart - 1.0)  # rounding made it indefinite
                self._keep([])
        c = self._size
        return Factor(self._C[:c, :c], self._inverse[:c, :c])

    def _begin_anew(self, needed: bool) -> None:
        """Forget the factor, and how far collinear columns had to be kept apart for it."""
        if needed:
            self._keep([])
            self._apart = self._least_apart

    def _keep(self, stops: list[int]) -> None:
        """Keep these panels alone."""
        self._stops = stops
        self._ridge = self._ridge[: self._size]

    def _add_panel(self, borders: list[Tensor], ridge: NDArray[np.float64]) -> bool:
        """Factor the rows of some atoms below all panels; return whether that was possible."""
        old, new = self._size, borders[-1].shape[1]
        rows = self._C.new_zeros((new - old, new))
        for border in borders:
            height, stop = border.shape
            own = slice(stop - height - old, stop - old)
            rows[own, :stop] = border
            rows[: own.stop, own.start + old : stop] = border[:, old:].T
        corner = rows[:, old:]
        corner.diagonal().mul_(self._apart)
        ridged = ridge[old:new] + np.finfo(np.float64).tiny
        corner.diagonal().add_(torch.as_tensor(ridged, device=rows.device))
        L = self._inverse[:old, :old]
        across = rows[:, :old] @ L.T
        C, info = torch.linalg.cholesky_ex(corner - across @ across.T)
        if int(info) or not bool(torch.isfinite(C).all()):
            return False
        eye = torch.eye(new - old, dtype=C.dtype, device=C.device)
        inverse = torch.linalg.solve_triangular(C, eye, upper=False)
        self._C = _written(self._C, across, C)
        self._inverse = _written(self._inverse, -(inverse @ (across @ L)), inverse)
        self._stops, self._ridge = [*self._stops, new], ridge[:new]
        return True


def _written(tensor: Tensor, across: Tensor, corner: Tensor) -> Tensor:
    """Return the triangular matrix with some more rows, in place where it has the right room."""
    old, new = across.shape[1], across.shape[1] + across.shape[0]
    room = _room(new)
    if tensor.shape[0] != room:
        moved = tensor.new_zeros((room, room))
        moved[:old, :old] = tensor[:old, :old]
        tensor = moved
    tensor[old:new, :old] = across
    tensor[old:new, old:new] = corner
    return tensor


def _room(size: int) -> int:
    """Return for how many columns a matrix of so many has room: that and nothing else decides.

    The bits of a product hang on how far apart the rows of a matrix lie.
    """
    room = 64
    while room < size:
        room = -(-5 * room // 4 // 32) * 32
    return room
