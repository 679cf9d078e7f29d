"""Inner products of the training columns, and a triangular factor of them that grows."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.blas import dtrsm

from .arrays import Array, namespace

# A ridge is rounded to a power of this number, so that it seldom changes.
RIDGE_BASE = 4.0
# Columns are factored in panels of at least this many, whole atoms each.
PANEL_COLUMNS = 32


class Panel(NamedTuple):
    """Some rows of a lower triangular matrix."""

    across: Array  # (rows, start), left of the diagonal block
    corner: Array  # (rows, rows), lower triangular, stored by columns as BLAS reads it

    @property
    def start(self) -> int:
        """Its first row."""
        return self.across.shape[1]

    @property
    def stop(self) -> int:
        """The row after its last."""
        return self.start + self.across.shape[0]


class Factor:
    """C, lower triangular, (c, c), made of panels of rows.

    It is never changed: a factor of more or fewer panels is another one. Here it is NumPy's; a
    backend with arrays of its own has another.
    """

    stops: list[int]  # of the panels: columns up to each

    def __init__(self, panels: list[Panel]):
        self.panels = panels
        self.stops = [panel.stop for panel in panels]

    @property
    def size(self) -> int:
        """Number of columns, c."""
        return self.stops[-1] if self.stops else 0

    def times(self, W: Array) -> Array:
        """Return ``W C``, (k, c)."""
        product = np.zeros_like(W)
        for panel in self.panels:
            mine = W[:, panel.start : panel.stop]
            product[:, : panel.start] += mine @ panel.across
            product[:, panel.start : panel.stop] += mine @ panel.corner
        return product

    def divide(self, Z: Array) -> Array:
        """Return ``Z C^-1``."""
        W = Z.copy()
        for panel in reversed(self.panels):
            mine = W[:, panel.start : panel.stop]
            mine[:] = _solved(panel.corner, mine, transposed=False)
            W[:, : panel.start] -= mine @ panel.across
        return W

    def divide_transposed(self, G: Array) -> Array:
        """Return ``G C^-T``."""
        Z = G.copy()
        for panel in self.panels:
            mine = Z[:, panel.start : panel.stop]
            mine -= Z[:, : panel.start] @ panel.across.T
            mine[:] = _solved(panel.corner, mine, transposed=True)
        return Z

    def first(self, n_panels: int) -> Factor:
        """Return the factor of so many panels alone."""
        return Factor(self.panels[:n_panels])

    def grown(self, rows: Array) -> Factor | None:
        """Return the factor with a panel for further rows of the matrix, (new, c + new).

        None where they make the matrix indefinite.
        """
        across = self.divide_transposed(rows[:, : self.size])
        corner = rows[:, self.size :] - across @ across.T
        try:
            corner = cholesky(np.asfortranarray(corner), lower=True, check_finite=False)
        except LinAlgError:
            return None
        return Factor([*self.panels, Panel(across, np.asfortranarray(corner))])

    def asarray(self, values: NDArray[np.float64]) -> Array:
        """Return NumPy's values as an array where the factor is."""
        return values


def _solved(corner: Array, rows: Array, transposed: bool) -> Array:
    """Return ``rows corner^-1`` or, of the transposed corner, ``rows corner^-T``.

    By BLAS itself: a refit solves some thousand small systems, and SciPy's ``solve_triangular``
    would take longer to look at them than to solve them.
    """
    return dtrsm(1.0, corner, rows.T, lower=True, trans_a=not transposed).T


class Gram:
    """The weighted mean of ``x x^T`` over examples, (c, c), and its Cholesky factor.

    A round adds few columns to many, so neither is ever computed anew as a whole: c
    columns on n examples cost ``n c`` and ``c^2`` a column, not ``n c^2`` and ``c^3``. A
    factor that must be made anew takes the same steps in the same order, so it does not
    depend, to the last bit, on when it was asked for. No list or array is ever changed in
    place, so a shallow copy is a snapshot.

    ``rounding`` is the relative precision of the inner products: collinear columns are kept apart
    by more than that. ``empty`` is the factor of no columns, where the matrix is to live.
    """

    def __init__(self, rounding: float, empty: Factor):
        self._borders: list[Array] = []  # of each atom: products with all columns up to it
        self._factor = self._empty = empty
        self._ridge = np.empty(0)  # that the factor holds
        self._least_apart = self._apart = 1.0 + 100.0 * rounding

    def extend(self, border: Array) -> None:
        """Add an atom; ``border`` holds its products with all columns, (new, old + new)."""
        self._borders = [*self._borders, border]
        self._begin_anew(self._apart != self._least_apart)

    @property
    def border(self) -> Array:
        """Inner products of the last atom's columns with all columns, (new, old + new)."""
        return self._borders[-1]

    @property
    def matrix(self) -> Array:
        """The whole matrix."""
        return self._rows(0, self._borders)

    def remove(self, place: int) -> Gram:
        """Remove the atom at that place; return the matrix as it was before."""
        before = copy(self)
        stop = self._borders[place].shape[1]
        start = stop - self._borders[place].shape[0]
        later = self._borders[place + 1 :]
        hstack = namespace(self._borders[place]).hstack
        cut = [hstack([border[:, :start], border[:, stop:]]) for border in later]
        self._borders = [*self._borders[:place], *cut]
        self._factor = self._factor.first(sum(end <= start for end in self._factor.stops))
        self._ridge = np.delete(self._ridge, slice(start, stop))
        self._begin_anew(self._apart != self._least_apart)
        return before

    def factor(self, ridge: NDArray[np.float64]) -> Factor:
        """Return C with ``C C^T`` the matrix plus about ``diag(ridge)``."""
        with np.errstate(divide="ignore"):
            ridge = RIDGE_BASE ** np.round(np.log(ridge) / np.log(RIDGE_BASE))
        self._begin_anew(not np.array_equal(ridge[: self._ridge.size], self._ridge))
        self._ridge = ridge
        panels = atoms_of_panels([border.shape[0] for border in self._borders])
        stops = [self._borders[last - 1].shape[1] for _, last in panels]
        same = [a == b for a, b in zip(self._factor.stops, stops, strict=False)]
        # A panel that was not yet full is factored again when it is.
        factor = self._factor.first(same.index(False) if False in same else len(same))
        while len(factor.stops) < len(panels):
            first, last = panels[len(factor.stops)]
            grown = factor.grown(self._regular(factor.size, self._borders[first:last]))
            if grown is None:  # rounding made it indefinite
                self._apart = 1.0 + 10.0 * (self._apart - 1.0)
            factor = self._empty if grown is None else grown
        self._factor = factor
        return factor

    def _begin_anew(self, needed: bool) -> None:
        """Forget the factor, and how far collinear columns had to be kept apart for it.

        So that a factor depends on the columns and the ridge alone, and on nothing earlier.
        """
        if needed:
            self._factor = self._empty
            self._apart = self._least_apart

    def _rows(self, start: int, borders: list[Array]) -> Array:
        """Return the rows of some atoms from column ``start`` on, (rows, columns up to them)."""
        stop = borders[-1].shape[1] if borders else 0
        rows = self._empty.asarray(np.zeros((stop - start, stop)))
        for border in borders:
            height, end = border.shape
            rows[end - height - start : end - start, :end] = border
            rows[: end - start, end - height : end] = border[:, start:].T
        return rows

    def _regular(self, start: int, borders: list[Array]) -> Array:
        """Return the rows of some atoms with the ridge, collinear columns kept apart."""
        rows = self._rows(start, borders)
        places = np.arange(len(rows))
        ridge = self._ridge[start : start + len(rows)] + np.finfo(np.float64).tiny
        diagonal = rows[places, start + places] * self._apart
        rows[places, start + places] = diagonal + self._empty.asarray(ridge)
        return rows


def atoms_of_panels(widths: list[int]) -> list[tuple[int, int]]:
    """Return the first atom of every panel and the one after its last, from their columns."""
    edges, width = [0], 0
    for atom, n_columns in enumerate(widths, start=1):
        width += n_columns
        if width >= PANEL_COLUMNS or atom == len(widths):
            edges.append(atom)
            width = 0
    return list(pairwise(edges))
