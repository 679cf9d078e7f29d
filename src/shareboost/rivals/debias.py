"""Weights of the features that a mixed norm chose, fit again without it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..losses import Loss
from ..penalties import Frobenius
from ..rows import Rows
from ..solvers import Refit, Status
from .active_atoms import Minimum

Matrix = NDArray[np.float64]

# The refit without the norm ends at this gradient, as a run of ShareBoost does by default. A
# Frobenius penalty too small to be felt settles what the data leave open.
REFIT_TOL, LEAST_REFIT_ALPHA = 1e-5, 1e-9


@dataclass(frozen=True)
class Refitted:
    """Weights without the norm."""

    atoms: tuple[int, ...]  # in the order of their columns
    W: Matrix  # (k, intercept + columns)
    loss: float
    iterations: int


class WithoutNorm:
    """Weights that no norm shrinks, of one set of atoms after the other."""

    def __init__(self, rows: Rows, loss: Loss, alpha: float, max_iter: int):
        self.rows = rows
        self.late: Status | None = None  # the last refit that ended above its tolerance
        alpha = max(alpha, LEAST_REFIT_ALPHA)
        self._refit = Refit(loss, Frobenius(), alpha, "lbfgs", max_iter)
        self._last: Refitted | None = None

    def refit(self, minimum: Minimum) -> Refitted:
        """Return the weights, sought from the minimum's; the same ones again for the same set."""
        rows, wanted, held = self.rows, set(minimum.atoms.tolist()), set(self.rows.atoms)
        if self._last is not None and wanted == held:
            return replace(self._last, iterations=0)
        for place in reversed(range(len(rows.chosen))):
            if rows.chosen[place].atom not in wanted:
                rows.remove(place)
        for atom in minimum.atoms.tolist():
            if atom not in held:
                rows.append(atom)
        W, status = self._refit(rows, self._start(minimum), REFIT_TOL)
        if not status.converged:
            self.late = status
        self._last = Refitted(rows.atoms, W, status.loss, status.iterations)
        return self._last

    def _start(self, minimum: Minimum) -> Matrix:
        """Return the minimum's weights in the order of the rows' columns."""
        first = int(self.rows.intercept)
        widths = {chosen.atom: chosen.scales.size for chosen in self.rows.chosen}
        atoms = minimum.atoms.tolist()
        edges = np.cumsum([first, *(widths[atom] for atom in atoms)])
        own = {
            atom: minimum.weights[slice(*edge)]
            for atom, edge in zip(atoms, pairwise(edges), strict=True)
        }
        return np.concatenate([minimum.weights[:first], *(own[a] for a in self.rows.atoms)]).T
