"""Inner products of the training columns, and a triangular factor, both grown by borders."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

Matrix = NDArray[np.float64]

# A ridge is rounded to a power of this number, so that it seldom changes.
RIDGE_BASE = 4.0


class Gram:
    """The weighted mean of ``x x^T`` over examples, (c, c), and its Cholesky factor.

    A round adds few columns to many, so neither is ever computed anew as a whole: c
    columns on n examples cost ``n c`` and ``c^2`` a column, not ``n c^2`` and ``c^3``. A
    factor that must be made anew takes the same steps in the same order, so it does not
    depend, to the last bit, on when it was asked for.

    Parameters
    ----------
    rounding : float
        Relative precision of the inner products: collinear columns are kept apart by
        more than that.
    """

    def __init__(self, rounding: float):
        self.matrix: Matrix = np.empty((0, 0))
        self._edges = [0]  # of the columns that were added together
        self._factor: Matrix = np.empty((0, 0))
        self._ridge = np.empty(0)
        self._apart = 1.0 + 100.0 * rounding

    def extend(self, border: Matrix) -> None:
        """Add columns; ``border`` holds their products with all columns, (new, old + new)."""
        old = self.matrix.shape[0]
        grown = np.empty((border.shape[1], border.shape[1]))
        grown[:old, :old] = self.matrix
        grown[:old, old:] = border[:, :old].T
        grown[old:] = border
        self.matrix = grown
        self._edges.append(self.matrix.shape[0])

    def factor(self, ridge: NDArray[np.float64]) -> Matrix:
        """Return C, lower triangular, with ``C C^T`` the matrix plus about ``diag(ridge)``."""
        with np.errstate(divide="ignore"):
            power = np.round(np.log(ridge) / np.log(RIDGE_BASE))
        ridge = RIDGE_BASE**power
        if not np.array_equal(ridge[: self._ridge.size], self._ridge):
            self._begin_anew()
        while True:
            try:
                for start, stop in pairwise(self._edges):
                    if stop > self._ridge.size:
                        self._border(start, stop, ridge)
                return self._factor
            except LinAlgError:  # rounding made it indefinite
                self._apart = 1.0 + 10.0 * (self._apart - 1.0)
                self._begin_anew()

    def _begin_anew(self) -> None:
        self._factor, self._ridge = np.empty((0, 0)), np.empty(0)

    def _border(self, start: int, stop: int, ridge: NDArray[np.float64]) -> None:
        """Extend the factor from the first ``start`` columns to the first ``stop``."""
        corner = self.matrix[start:stop, start:stop].copy()
        diagonal = np.einsum("cc->c", corner)  # a view
        diagonal *= self._apart
        diagonal += ridge[start:stop] + np.finfo(np.float64).tiny
        factor = np.zeros((stop, stop))
        if start:
            across = solve_triangular(
                self._factor, self.matrix[:start, start:stop], lower=True, check_finite=False
            ).T
            corner -= across @ across.T
            factor[:start, :start] = self._factor
            factor[start:, :start] = across
        factor[start:, start:] = cholesky(corner, lower=True, check_finite=False)
        self._factor, self._ridge = factor, ridge[:stop]
