"""Inner products of the training columns, and a triangular factor of them that grows."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.blas import dtrsm

Matrix = NDArray[np.float64]

# A ridge is rounded to a power of this number, so that it seldom changes.
RIDGE_BASE = 4.0
# Columns are factored in panels of at least this many, whole atoms each.
PANEL_COLUMNS = 32


class Panel(NamedTuple):
    """Some rows of a lower triangular matrix."""

    across: Matrix  # (rows, start), left of the diagonal block
    corner: Matrix  # (rows, rows), lower triangular, stored by columns as BLAS reads it

    @property
    def start(self) -> int:
        """Its first row."""
        return self.across.shape[1]

    @property
    def stop(self) -> int:
        """The row after its last."""
        return self.start + self.across.shape[0]


class Factor:
    """C, lower triangular, (c, c), stored as panels of rows."""

    def __init__(self, panels: list[Panel]):
        self.panels = panels

    def times(self, W: Matrix) -> Matrix:
        """Return ``W C``, (k, c)."""
        product = np.zeros_like(W)
        for panel in self.panels:
            mine = W[:, panel.start : panel.stop]
            product[:, : panel.start] += mine @ panel.across
            product[:, panel.start : panel.stop] += mine @ panel.corner
        return product

    def divide(self, Z: Matrix) -> Matrix:
        """Return ``Z C^-1``."""
        W = Z.copy()
        for panel in reversed(self.panels):
            mine = W[:, panel.start : panel.stop]
            mine[:] = _solved(panel.corner, mine, transposed=False)
            W[:, : panel.start] -= mine @ panel.across
        return W

    def divide_transposed(self, G: Matrix) -> Matrix:
        """Return ``G C^-T``."""
        Z = G.copy()
        for panel in self.panels:
            mine = Z[:, panel.start : panel.stop]
            mine -= Z[:, : panel.start] @ panel.across.T
            mine[:] = _solved(panel.corner, mine, transposed=True)
        return Z


class Gram:
    """The weighted mean of ``x x^T`` over examples, (c, c), and its Cholesky factor.

    A round adds few columns to many, so neither is ever computed anew as a whole: c
    columns on n examples cost ``n c`` and ``c^2`` a column, not ``n c^2`` and ``c^3``. A
    factor that must be made anew takes the same steps in the same order, so it does not
    depend, to the last bit, on when it was asked for. No list or array is ever changed in
    place, so a shallow copy is a snapshot.

    Parameters
    ----------
    rounding : float
        Relative precision of the inner products: collinear columns are kept apart by
        more than that.
    """

    def __init__(self, rounding: float):
        self._borders: list[Matrix] = []  # of each atom: products with all columns up to it
        self._panels: list[Panel] = []
        self._ridge = np.empty(0)  # that the panels hold
        self._least_apart = self._apart = 1.0 + 100.0 * rounding

    def extend(self, border: Matrix) -> None:
        """Add an atom; ``border`` holds its products with all columns, (new, old + new)."""
        self._borders = [*self._borders, border]
        self._begin_anew(self._apart != self._least_apart)

    @property
    def border(self) -> Matrix:
        """Inner products of the last atom's columns with all columns, (new, old + new)."""
        return self._borders[-1]

    @property
    def matrix(self) -> Matrix:
        """The whole matrix."""
        n = self._borders[-1].shape[1] if self._borders else 0
        matrix = np.zeros((n, n))
        for border in self._borders:
            height, stop = border.shape
            matrix[stop - height : stop, :stop] = border
            matrix[:stop, stop - height : stop] = border.T
        return matrix

    def remove(self, place: int) -> Gram:
        """Remove the atom at that place; return the matrix as it was before."""
        before = copy(self)
        stop = self._borders[place].shape[1]
        gone = slice(stop - self._borders[place].shape[0], stop)
        later = [np.delete(border, gone, axis=1) for border in self._borders[place + 1 :]]
        self._borders = [*self._borders[:place], *later]
        self._panels = [panel for panel in self._panels if panel.stop <= gone.start]
        self._ridge = np.delete(self._ridge, gone)
        self._begin_anew(self._apart != self._least_apart)
        return before

    def _begin_anew(self, needed: bool) -> None:
        """Forget the factor, and how far collinear columns had to be kept apart for it.

        So that a factor depends on the columns and the ridge alone, and on nothing earlier.
        """
        if needed:
            self._panels = []
            self._apart = self._least_apart

    def factor(self, ridge: NDArray[np.float64]) -> Factor:
        """Return C with ``C C^T`` the matrix plus about ``diag(ridge)``."""
        ridge = rounded_ridge(ridge)
        self._begin_anew(not np.array_equal(ridge[: self._ridge.size], self._ridge))
        self._ridge = ridge
        while True:
            try:
                for first, last in self._atoms_of_panels():
                    self._add_panel(self._borders[first:last])
                return Factor(self._panels)
            except LinAlgError:  # rounding made it indefinite
                self._apart = 1.0 + 10.0 * (self._apart - 1.0)
                self._panels = []

    def _atoms_of_panels(self) -> list[tuple[int, int]]:
        """Return the atoms of every panel that is not yet factored or was not yet full."""
        pairs = atoms_of_panels([border.shape[0] for border in self._borders])
        kept = 0
        while kept < min(len(self._panels), len(pairs)):
            if self._panels[kept].stop != self._borders[pairs[kept][1] - 1].shape[1]:
                break
            kept += 1
        self._panels = self._panels[:kept]
        return pairs[kept:]

    def _add_panel(self, borders: list[Matrix]) -> None:
        """Factor the rows of some atoms below all panels."""
        start, stop = borders[0].shape[1] - borders[0].shape[0], borders[-1].shape[1]
        corner = np.zeros((stop - start, stop - start))
        for border in borders:
            own = slice(border.shape[1] - border.shape[0] - start, border.shape[1] - start)
            corner[own, : own.stop] = border[:, start:]
            corner[: own.stop, own] = border[:, start:].T
        diagonal = np.einsum("cc->c", corner)  # a view
        diagonal *= self._apart
        diagonal += self._ridge[start:stop] + np.finfo(np.float64).tiny
        left = np.concatenate([border[:, :start] for border in borders])
        across = Factor(self._panels).divide_transposed(left)
        corner -= across @ across.T
        factor = cholesky(np.asfortranarray(corner), lower=True, check_finite=False)
        self._panels = [*self._panels, Panel(across, np.asfortranarray(factor))]


def atoms_of_panels(widths: list[int]) -> list[tuple[int, int]]:
    """Return the first atom of every panel and the one after its last, from their columns."""
    edges, width = [0], 0
    for atom, own in enumerate(widths, start=1):
        width += own
        if width >= PANEL_COLUMNS or atom == len(widths):
            edges.append(atom)
            width = 0
    return list(pairwise(edges))


def rounded_ridge(ridge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ridge rounded to powers of ``RIDGE_BASE``."""
    with np.errstate(divide="ignore"):
        power = np.round(np.log(ridge) / np.log(RIDGE_BASE))
    return np.asarray(RIDGE_BASE**power)


def _solved(corner: Matrix, rows: Matrix, transposed: bool) -> Matrix:
    """Return ``rows corner^-1`` or, of the transposed corner, ``rows corner^-T``.

    By BLAS itself: a refit solves some thousand small systems, and SciPy's ``solve_triangular``
    would take longer to look at them than to solve them.
    """
    return dtrsm(1.0, corner, rows.T, lower=True, trans_a=not transposed).T
