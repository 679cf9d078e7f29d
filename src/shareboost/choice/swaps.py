"""Exchanging a chosen atom that later ones made useless for a better one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..refit import Refit, Status
from ..refit.objective import noise
from ..rows import Rows, may_overflow
from .select import Selector
from .terms import ROUNDING

Matrix = NDArray[np.float64]

# Atoms that may come in, and exchanges of one round that may fail, one after the other.
CANDIDATES = 5
TRIED = 3
# The model's losses, of examples that are nearly right, are too large: up to this often.
PESSIMISM = 4.0


class Fit(NamedTuple):
    """Weights of the atoms now in the rows, and how their refit ended."""

    W: Matrix
    status: Status


class Plan(NamedTuple):
    """An exchange that a quadratic model has something to say for."""

    change: float  # of the objective, by the model
    new: int
    place: int  # of the atom that goes
    W: Callable[[], Matrix]  # where the model has its minimum


def exchange(
    selector: Selector, fit: Fit, tolerance: float
) -> tuple[Fit, tuple[tuple[int, int], ...]]:
    """Return the fit after all exchanges that lower the objective, and these as (out, in).

    Every exchange is tried: the objective after a refit to the tolerance must be lower than
    before by more than rounding, and the loss with it, or all is put back. So it never
    rises, no set of atoms comes twice, and the exchanges end. At most as many are made as
    there are atoms.
    """
    made: list[tuple[int, int]] = []
    for _ in selector.rows.chosen:
        better = _exchanged(selector, fit, tolerance)
        if better is None:
            break
        fit, pair = better
        made.append(pair)
    return fit, tuple(made)


def _exchanged(
    selector: Selector, fit: Fit, tolerance: float
) -> tuple[Fit, tuple[int, int]] | None:
    """Make the first exchange that lowers the objective, of those that promise most."""
    rows, refit = selector.rows, selector.refit
    atoms = rows.atoms
    goal = fit.status.objective - noise(rows, fit.status.objective)
    for plan in _plans(selector, fit)[:TRIED]:
        rows.append(plan.new)
        removed = rows.remove(plan.place)
        better = Fit(*refit(rows, plan.W(), tolerance, goal))
        if better.status.objective < goal and better.status.loss < fit.status.loss:
            return better, (atoms[plan.place], plan.new)
        rows.restore(removed)
        rows.remove(len(atoms))
    return None


@may_overflow
def _plans(selector: Selector, fit: Fit) -> list[Plan]:
    """Return exchanges that may lower the objective, those that promise most first."""
    rows, terms = selector.rows, selector.terms
    atoms = rows.atoms
    may_go = ~np.isin(atoms, terms.owned)
    if not may_go.any():
        return []
    spent = terms.spent(atoms) * (1.0 + ROUNDING)
    affordable = terms.costs(atoms) <= terms.freed(atoms).max() * (1.0 + ROUNDING)
    found = selector.ranked(fit.W, CANDIDATES, affordable)
    model = _Quadratic(rows, selector.refit, fit.W)
    plans = []
    for new in found:
        no_dearer = terms.spent_after(atoms, new.atom) <= spent
        rows.append(new.atom)
        plans += model.plans(np.flatnonzero(may_go & no_dearer))
        rows.remove(len(atoms))
    return sorted(plans, key=lambda plan: plan.change)


class _Quadratic:
    """A quadratic model of the objective about W.

    The curvature in the weights of class q is that class's mean curvature a_q times the
    Gram matrix (plus the penalty's), whose inverse is A. A new atom gains
    ``g S^-1 g / 2 a_q``, with g its gradient and S what the chosen columns do not explain of
    its own, and moves all weights; leaving out the columns J then loses
    ``a_q w_J (A_JJ)^-1 w_J / 2``. These are matrices of the chosen columns, not of the rows,
    and NumPy's wherever the rows live.
    """

    def __init__(self, rows: Rows, refit: Refit, W: Matrix):
        self.rows = rows
        self.W = W
        # Leaves the residuals at W in the blocks.
        factor = refit.objective(rows, W).factor
        place = rows.place
        inverse = factor.divide(place.asarray(np.eye(W.shape[1])))
        self.A = place.numpy(inverse.T @ inverse)
        (total,) = rows.total("class_curvatures")
        mean = place.numpy(total) / rows.total_weight
        self.a = np.maximum(mean, np.finfo(np.float64).tiny)[:, None]

    def plans(self, places: NDArray[np.intp]) -> list[Plan]:
        """Return the exchanges of the atoms at those places for the one appended last."""
        rows = self.rows
        *starts, start, stop = rows.starts
        (found,) = rows.total("correlate", start, stop)
        g = rows.place.numpy(found) / rows.total_weight
        border = rows.place.numpy(rows.gram.border)  # (new, old + new)
        U = border[:, :start] @ self.A
        S = border[:, start:] - U @ border[:, :start].T
        # Columns that the chosen ones explain up to rounding gain nothing.
        least = np.sqrt(np.finfo(np.float64).eps) * np.trace(border[:, start:])
        if not np.linalg.eigvalsh(S)[0] > least:
            return []
        step = np.linalg.solve(S, g.T).T / self.a  # (k, new)
        gain = 0.5 * float(np.sum(step * g))
        W = self.W + step @ U
        V: Matrix = np.asarray(np.linalg.solve(S, U), dtype=np.float64)  # (new, old)
        edges = np.array([*starts, start])
        widths = np.diff(edges)[rows.intercept + places]
        plans = []
        for width in np.unique(widths):  # atoms of as many columns at once
            own = places[widths == width]
            J = edges[rows.intercept + own, None] + np.arange(width)  # (atoms, width)
            blocks = self.A[J[:, :, None], J[:, None, :]] + np.einsum(
                "cij,cil->ijl", U[:, J], V[:, J]
            )
            w = W[:, J].transpose(1, 2, 0)  # (atoms, width, k)
            parts = np.linalg.solve(blocks, w)
            losses = 0.5 * np.einsum("iwk,iwk,k->i", parts, w, self.a[:, 0])
            for i in np.flatnonzero(losses < PESSIMISM * gain):
                end = partial(self._end, W, step, U, V, J[i], parts[i].T)
                plans.append(Plan(float(losses[i]) - gain, rows.atoms[-1], int(own[i]), end))
        return plans

    def _end(self, W: Matrix, step: Matrix, U: Matrix, V: Matrix, J: slice, part: Matrix) -> Matrix:
        """Return the weights without the columns J and with the new ones last."""
        old = W - part @ (self.A[J] + U[:, J].T @ V)
        return np.hstack([np.delete(old, J, axis=1), -step + part @ V[:, J].T])
