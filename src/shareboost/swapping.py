"""A run of Algorithm 1 with exchanges of features, beside the run without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .algorithm import Run
from .path import Round, StopReason
from .rows import Rows, may_overflow
from .selection.pricing import ROUNDING
from .selection.rules import Choice, Selector
from .solvers.objective import noise

if TYPE_CHECKING:
    from .selection.second_order import Places, SecondOrder
    from .solvers import Refit, Status


class SwappingRun(Run):
    """A run whose rounds end with exchanges, and never above a run without any.

    A set of atoms that is better now may lead to worse ones later. So the run without swaps
    continues in parallel from where the two part, and its round is used whenever it is better.
    """

    def round_after(self, last: Round, choice: Choice) -> Round:
        """Return the round after the last, with exchanges."""
        tolerance = self.stopping.refit_to(choice.norm)
        round_ = super().round_after(last, choice)
        plain = round_ if last.plain is None else self._plain_after(last.plain)
        round_ = self._exchanged(round_, tolerance)
        if plain is None:  # it has nothing more to gain
            return replace(round_, plain=last.plain)
        # A plain run that had ended and could go on later has fewer atoms: another matter.
        if len(plain.atoms) == len(round_.atoms) and self._better(plain, round_):
            self.rows.reset(plain.atoms)
            round_ = replace(self._exchanged(plain, tolerance), fell_back=True)
        return round_ if round_.W is plain.W else replace(round_, plain=plain)

    def finished(self, last: Round) -> tuple[Run, Round]:
        """Return the better of the last round and the one without swaps, refit; and its run."""
        _, finished = super().finished(last)
        plain = last.plain
        if plain is None or len(plain.atoms) != len(last.atoms):
            return self, finished
        self._plain.rows.reset(plain.atoms)
        _, plain = self._plain.finished(plain)
        if not self._better(plain, finished):
            return self, finished
        cost = self.selector.pricing.spent(plain.atoms)
        return self._plain, replace(plain, cost=cost, seconds=finished.seconds)

    def replay(self, round_: Round) -> bool:
        """Do to the rows what a finished round did; return whether it can have been these rows."""
        rows = self.rows
        if round_.fell_back:
            rows.reset((round_.plain or round_).atoms)
        else:
            rows.append(round_.atom)
        for out, into in round_.swaps:
            if out not in rows.atoms:
                return False
            rows.append(into)
            rows.remove(rows.atoms.index(out))
        return rows.atoms == round_.atoms

    def _exchanged(self, round_: Round, tolerance: float) -> Round:
        """Return the round of the atoms in the rows after exchanges of them."""
        refit = self.refit.at(round_.status.alpha)
        fit, swaps = exchange(self.selector, refit, Fit(round_.W, round_.status), tolerance)
        return replace(round_, W=fit.W, status=fit.status, atoms=self.rows.atoms, swaps=swaps)

    @cached_property
    def _plain(self) -> Run:
        """The run without swaps, on rows of its own."""
        rows = self.rows.fork()
        selector = self.selector
        own = Selector(rows, selector.pricing, selector.rule, selector.shortlist)
        return Run(rows, self.refit, self.stopping, own, self.held_out)

    def _plain_after(self, last: Round) -> Round | None:
        """Return the round without swaps after the last such; None where there is none."""
        run = self._plain
        if run.rows.atoms != last.atoms:
            run.rows.reset(last.atoms)
        choice, last = run.choose(last)
        return None if isinstance(choice, StopReason) else run.round_after(last, choice)

    def _better(self, one: Round, two: Round) -> bool:
        """Return whether the first has a lower loss or objective, beyond rounding."""
        pairs = (
            (one.status.objective, two.status.objective),
            (one.status.loss, two.status.loss),
        )
        return any(a < b - noise(self.rows, b) for a, b in pairs)


Matrix = NDArray[np.float64]

# Atoms that may come in. Of their exchanges the one that promises most is tried: with two or three
# tries held-out errors were no lower.
CANDIDATES = 10
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
    """Make the exchange that promises most, if it lowers the objective."""
    rows = selector.rows
    atoms = rows.atoms
    goal = fit.status.objective - noise(rows, fit.status.objective)
    plan = _best_plan(selector, refit, fit)
    if plan is None:
        return None
    rows.append(plan.new)
    removed = rows.remove(plan.place)
    better = Fit(*refit(rows, plan.W(), tolerance, goal))
    if better.status.objective < goal and better.status.loss < fit.status.loss:
        return better, (atoms[plan.place], plan.new)
    rows.restore(removed)
    rows.remove(len(atoms))
    return None


@may_overflow
def _best_plan(selector: Selector, refit: Refit, fit: Fit) -> Plan | None:
    """Return the exchange that promises most, if one may lower the objective."""
    rows, pricing = selector.rows, selector.pricing
    atoms = rows.atoms
    may_go = ~np.isin(atoms, pricing.owned)
    if not may_go.any():
        return None
    spent = pricing.spent(atoms) * (1.0 + ROUNDING)
    affordable = pricing.costs(atoms) <= pricing.freed(atoms).max() * (1.0 + ROUNDING)
    best = [choice.atom for choice in selector.ranked(refit, fit.W, CANDIDATES, affordable)]
    plans: list[Plan] = []
    for model, new in selector.second_order(refit, fit.W, best):
        allowed = [may_go & (pricing.spent_after(atoms, atom) <= spent) for atom in new]
        plans += _plans(model, rows, new, np.array(allowed))
    return min(plans, key=lambda plan: plan.change, default=None)


def _plans(
    model: SecondOrder, rows: Rows, new: list[int], allowed: NDArray[np.bool_]
) -> Iterator[Plan]:
    """Yield the best exchange for candidates of a model of each width, by atoms of each width.

    With a new atom all weights move to the minimum of the model, which lowers it by the gain
    ``g S^-1 g / 2``. Leaving out the columns J then raises it by ``w_J (A_JJ)^-1 w_J / 2``, with
    A the inverse of all second derivatives. ``allowed``, (new, chosen), tells which may be
    exchanged for which.
    """
    A = model.inverse
    lowest = model.W - (A @ model.slope[:, :, None])[:, :, 0]
    first = int(rows.intercept)
    edges = np.array(rows.layout.starts)
    widths = np.diff(edges)[first:]
    for places, S, U, g in model.candidates(new):
        steps: Matrix = np.asarray(
            np.linalg.solve(S, g[..., None]), dtype=np.float64
        )  # (k, new, columns, 1)
        gains = 0.5 * (steps[..., 0] * g).sum(axis=(0, 2))
        V: Matrix = np.asarray(np.linalg.solve(S, U), dtype=np.float64)  # (k or 1, new, columns, n)
        W = lowest[:, None] + (U.swapaxes(2, 3) @ steps)[..., 0]  # (k, new, n)
        for width in np.unique(widths):
            some = np.flatnonzero(widths == width)
            J = edges[first + some, None] + np.arange(width)  # (atoms, width)
            blocks = A[:, None, J[:, :, None], J[:, None, :]]  # (k or 1, 1, atoms, width, width)
            blocks = blocks + np.einsum("qacij,qacil->qaijl", U[..., J], V[..., J])
            w = W[..., J]  # (k, new, atoms, width)
            parts = np.linalg.solve(blocks, w[..., None])[..., 0]
            losses = 0.5 * (parts * w).sum(axis=(0, 3))  # (new, atoms)
            hopeful = allowed[places][:, some] & (losses < PESSIMISM * gains[:, None])
            if not hopeful.any():
                continue
            changes = np.where(hopeful, losses - gains[:, None], np.inf)
            a, i = np.unravel_index(changes.argmin(), changes.shape)
            end = partial(_end, model, W[:, a], steps[:, a], U[:, a], V[:, a], J[i], parts[:, a, i])
            yield Plan(float(changes[a, i]), new[places[a]], int(some[i]), end)


def _end(
    model: SecondOrder, W: Matrix, step: Matrix, U: Matrix, V: Matrix, J: Places, part: Matrix
) -> Matrix:
    """Return the weights without the columns J and with the new ones last, (k, columns)."""
    moved = part[:, None] @ (model.inverse[:, J] + U[:, :, J].swapaxes(1, 2) @ V)
    new = -step + V[:, :, J] @ part[:, :, None]
    found = np.hstack([np.delete(W - moved[:, 0], J, axis=1), new[:, :, 0]])
    return np.asarray(found / model.unit)
