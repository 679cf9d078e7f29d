"""Exchanging a chosen atom that later ones made useless for a better one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..rows import Rows, may_overflow
from ..solvers import Refit, Status
from ..solvers.objective import noise
from .pricing import ROUNDING
from .rules import Selector
from .second_order import Places, SecondOrder

Matrix = NDArray[np.float64]

# Atoms that may come in, and exchanges of one round that may fail, one after the other.
CANDIDATES = 10
TRIED = 1
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
    selector: Selector, refit: Refit, fit: Fit, tolerance: float
) -> tuple[Fit, tuple[tuple[int, int], ...]]:
    """Return the fit after all exchanges that lower the objective, and these as (out, in).

    Every exchange is tried: the objective after a refit to the tolerance must be lower than
    before by more than rounding, and the loss with it, or all is put back. So it never
    rises, no set of atoms comes twice, and the exchanges end. At most as many are made as
    there are atoms.
    """
    made: list[tuple[int, int]] = []
    for _ in selector.rows.chosen:
        better = _exchanged(selector, refit, fit, tolerance)
        if better is None:
            break
        fit, pair = better
        made.append(pair)
    return fit, tuple(made)


def _exchanged(
    selector: Selector, refit: Refit, fit: Fit, tolerance: float
) -> tuple[Fit, tuple[int, int]] | None:
    """Make the first exchange that lowers the objective, of those that promise most."""
    rows = selector.rows
    atoms = rows.atoms
    goal = fit.status.objective - noise(rows, fit.status.objective)
    for plan in _plans(selector, refit, fit)[:TRIED]:
        rows.append(plan.new)
        removed = rows.remove(plan.place)
        better = Fit(*refit(rows, plan.W(), tolerance, goal))
        if better.status.objective < goal and better.status.loss < fit.status.loss:
            return better, (atoms[plan.place], plan.new)
        rows.restore(removed)
        rows.remove(len(atoms))
    return None


@may_overflow
def _plans(selector: Selector, refit: Refit, fit: Fit) -> list[Plan]:
    """Return exchanges that may lower the objective, those that promise most first."""
    rows, terms = selector.rows, selector.terms
    atoms = rows.atoms
    may_go = ~np.isin(atoms, terms.owned)
    if not may_go.any():
        return []
    spent = terms.spent(atoms) * (1.0 + ROUNDING)
    affordable = terms.costs(atoms) <= terms.freed(atoms).max() * (1.0 + ROUNDING)
    plans = []
    for new in selector.ranked(refit, fit.W, CANDIDATES, affordable):
        no_dearer = terms.spent_after(atoms, new.atom) <= spent
        model = selector.second_order(refit, fit.W, new.atom)
        plans += _exchanges(model, rows, new.atom, np.flatnonzero(may_go & no_dearer))
    return sorted(plans, key=lambda plan: plan.change)


def _exchanges(model: SecondOrder, rows: Rows, new: int, places: Places) -> list[Plan]:
    """Return the exchanges of the atoms at those places for a new one, which is a candidate.

    With the new atom all weights move to the minimum of the model, which lowers it by the gain
    ``g S^-1 g / 2``. Leaving out the columns J then raises it by ``w_J (A_JJ)^-1 w_J / 2``, with
    A the inverse of all second derivatives.
    """
    candidate = model.candidate(new)
    if candidate is None:
        return []
    S, U, g = candidate  # (k or 1, new, new), (k or 1, new, n), (k, new)
    step: Matrix = np.asarray(np.linalg.solve(S, g[:, :, None]), dtype=np.float64)  # (k, new, 1)
    gain = 0.5 * float((step[:, :, 0] * g).sum())
    V: Matrix = np.asarray(np.linalg.solve(S, U), dtype=np.float64)  # (k or 1, new, n)
    A = model.inverse
    W = model.W - (A @ model.slope[:, :, None])[:, :, 0] + (U.swapaxes(1, 2) @ step)[:, :, 0]
    first = int(rows.intercept)
    edges = np.array(rows.starts)
    widths = np.diff(edges)[first + places]
    plans = []
    for width in np.unique(widths):  # atoms of as many columns at once
        some = places[widths == width]
        J = edges[first + some, None] + np.arange(width)  # (atoms, width)
        blocks = A[:, J[:, :, None], J[:, None, :]]  # (k or 1, atoms, width, width)
        blocks = blocks + np.einsum("qcij,qcil->qijl", U[:, :, J], V[:, :, J])
        w = W[:, J]  # (k, atoms, width)
        parts = np.linalg.solve(blocks, w[:, :, :, None])[:, :, :, 0]
        losses = 0.5 * (parts * w).sum(axis=(0, 2))
        for i in np.flatnonzero(losses < PESSIMISM * gain):
            end = partial(_end, model, W, step, U, V, J[i], parts[:, i])
            plans.append(Plan(float(losses[i]) - gain, new, int(some[i]), end))
    return plans


def _end(
    model: SecondOrder, W: Matrix, step: Matrix, U: Matrix, V: Matrix, J: Places, part: Matrix
) -> Matrix:
    """Return the weights without the columns J and with the new ones last, (k, columns)."""
    moved = part[:, None] @ (model.inverse[:, J] + U[:, :, J].swapaxes(1, 2) @ V)
    new = -step + V[:, :, J] @ part[:, :, None]
    found = np.hstack([np.delete(W - moved[:, 0], J, axis=1), new[:, :, 0]])
    return np.asarray(found / model.unit)
