"""A triangular factor in NumPy, panel by panel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.blas import dtrsm

from ..gram import Factor

Matrix = NDArray[np.float64]


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


class PanelFactor(Factor):
    """C in NumPy, stored as panels of rows."""

    def __init__(self, panels: list[Panel]):
        self.panels = panels
        self.stops = [panel.stop for panel in panels]

    def times(self, W: Matrix) -> Matrix:
        product = np.zeros_like(W)
        for panel in self.panels:
            mine = W[:, panel.start : panel.stop]
            product[:, : panel.start] += mine @ panel.across
            product[:, panel.start : panel.stop] += mine @ panel.corner
        return product

    def divide(self, Z: Matrix) -> Matrix:
        W = Z.copy()
        for panel in reversed(self.panels):
            mine = W[:, panel.start : panel.stop]
            mine[:] = _solved(panel.corner, mine, transposed=False)
            W[:, : panel.start] -= mine @ panel.across
        return W

    def divide_transposed(self, G: Matrix) -> Matrix:
        Z = G.copy()
        for panel in self.panels:
            mine = Z[:, panel.start : panel.stop]
            mine -= Z[:, : panel.start] @ panel.across.T
            mine[:] = _solved(panel.corner, mine, transposed=True)
        return Z

    def first(self, n_panels: int) -> PanelFactor:
        return PanelFactor(self.panels[:n_panels])

    def grown(self, rows: Matrix) -> PanelFactor | None:
        start = self.size
        corner = rows[:, start:]
        across = self.divide_transposed(rows[:, :start])
        corner = corner - across @ across.T
        try:
            own = cholesky(np.asfortranarray(corner), lower=True, check_finite=False)
        except LinAlgError:
            return None
        return PanelFactor([*self.panels, Panel(across, np.asfortranarray(own))])

    def asarray(self, values: NDArray[np.float64]) -> Matrix:
        return values


def _solved(corner: Matrix, rows: Matrix, transposed: bool) -> Matrix:
    """Return ``rows corner^-1`` or, of the transposed corner, ``rows corner^-T``.

    By BLAS itself: a refit solves some thousand small systems, and SciPy's ``solve_triangular``
    would take longer to look at them than to solve them.
    """
    return dtrsm(1.0, corner, rows.T, lower=True, trans_a=not transposed).T
