"""Few, large steps: each minimises the loss of some rows near, tilted by the gradient of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .lbfgs import lbfgs
from .objective import Evaluation, Objective

if TYPE_CHECKING:
    from ..arrays import Array, Scalar
    from ..rows import Rows

# A step is minimised until its gradient is this share of what is asked for.
PRECISION = 0.1
# A step must leave at most this share of the gradient, or the next ones go another way.
CONTRACTION = 0.7
MOST_STEPS = 100
# Times that a step which leads uphill is halved.
HALVINGS = 3


class Tilted(Objective):
    """The objective of some rows plus a linear function of the weights."""

    def __init__(self, tilt: Array, *arguments: Any):
        self.tilt = tilt
        super().__init__(*arguments)

    def at(self, W: Array) -> tuple[Scalar, Scalar, Array]:
        """Return L, F and F's gradient in W, tilted."""
        loss, value, gradient = super().at(W)
        W = self.rows.backend.asarray(W)
        return loss, value + (self.tilt * W).sum(), gradient + self.tilt


def surrogate(
    objective: Objective, near: Rows, tolerance: float, max_iter: int
) -> tuple[Evaluation, int]:
    """Return the point where ``reached <= tolerance``, and the evaluations of all rows taken.

    For rows that are dear to evaluate. ``near`` are some of them, drawn at random, at hand, with
    the same atoms chosen. A step goes to the minimum of F on those rows plus a linear function,
    by which its gradient is that of all rows where the step begins (Shamir, Srebro and Zhang,
    "Communication-efficient distributed optimization", 2014). The curvatures of both differ the
    less the more rows are near, and the gradient shrinks as much in a step: often one is enough
    where L-BFGS takes ten. Where steps gain too little, L-BFGS on all rows goes on from there.
    """
    here, steps = objective.start, 0
    while here.reached > tolerance and steps < max_iter and not objective.cannot_reach(here):
        there, tried = _step(objective, near, here, tolerance)
        steps += tried
        if there is None or there.reached > CONTRACTION * here.reached:
            start = here if there is None or there.value > here.value else there
            end, more = lbfgs(objective.moved_to(start), tolerance, max(1, max_iter - steps))
            return end, steps + more
        here = there
    return here, steps


def _step(
    objective: Objective, near: Rows, here: Evaluation, tolerance: float
) -> tuple[Evaluation | None, int]:
    """Return the end of a step that leads down, if there is one, and the evaluations taken."""
    W = near.backend.numpy(here.W)
    _, _, slope = objective.at(here.W)  # known already
    model = Objective(near, objective.loss, objective.penalty, objective.alpha, W)
    tilt = slope - model.at(W)[2]
    if objective.loss.shifts:  # no slope that way but rounding
        tilt -= tilt.mean(axis=0)
    tilted = Tilted(tilt, near, objective.loss, objective.penalty, objective.alpha, W)
    end, _ = lbfgs(tilted, PRECISION * tolerance, MOST_STEPS)
    change = end.W - W
    for tried in range(1, HALVINGS + 2):
        if not np.isfinite(change).all():
            return None, tried
        there = objective.arrived(W + change)
        if there.value <= here.value + here.noise:
            return there, tried
        change = change / 2.0
    return None, HALVINGS + 1
