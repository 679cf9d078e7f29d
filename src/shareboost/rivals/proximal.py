r"""The accelerated proximal gradient method with restart.

It minimises ``L(W) + sum over groups of alpha * norm(W_group)`` for a smooth L (Beck and
Teboulle, "A Fast Iterative Shrinkage-Thresholding Algorithm", 2009). The momentum is dropped
where it points uphill (the gradient scheme of O'Donoghue and Candes, "Adaptive Restart for
Accelerated Gradient Schemes", 2015). The step follows the curvature that is met on the way:
far below the worst case, and falling as the examples come to be right.

Measured on Isolet's 617 columns, paths of 50 values of alpha to 1e-6: Anderson's
extrapolation of plain proximal steps took 5 to 10 times the iterations, L-BFGS on the
forward-backward envelope (PANOC) twice as many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .column_cache import LossOnColumns, Matrix, Point, Vector
from .norms import Norm

# By what the estimate of the curvature falls after a step, so that it follows downwards. An
# estimate that follows what a step met saves a tenth of the iterations, but passes the rounding
# of the last steps on: weighted rows would not end where repeated ones do.
FALL = 0.98
# By what it rises where a step shows that it is too low: at least, and at most.
RISE = (1.1, 2.0)
# A step shorter than this share of the largest weight is rounding.
ROUNDING = float(np.finfo(np.float64).eps)
# The gradient at the new point is worth its price where the step was so near the tolerance.
NEAR = 3.0


class Solution(NamedTuple):
    """Where the method ended."""

    point: Point
    violation: float  # of the conditions of a minimum, the largest of any group or intercept
    iterations: int
    curvature: float  # the last estimate


class Penalised(NamedTuple):
    """``L + sum of alpha * norm`` on some columns; the intercept's row of weights is free."""

    loss: LossOnColumns
    norm: Norm
    alphas: Vector  # of each atom

    @property
    def free(self) -> int:
        """How many rows of weights are not penalised."""
        return int(self.loss.rows.intercept)

    def step(self, weights: Matrix, gradient: Matrix, curvature: float) -> Matrix:
        """Return the proximal step from some weights."""
        moved = weights - gradient / curvature
        rest = moved[self.free :]
        moved[self.free :] = self.norm.prox(rest, self.loss.starts, self.alphas / curvature)
        return moved

    def violation(self, weights: Matrix, gradient: Matrix) -> float:
        """Return by how much the conditions of a minimum are missed."""
        free = self.free
        missed = self.norm.violations(
            weights[free:], gradient[free:], self.loss.starts, self.alphas
        )
        return max(float(np.abs(gradient[:free]).max(initial=0.0)), float(missed.max(initial=0.0)))


def minimise(
    problem: Penalised, weights: Matrix, tol: float, max_iter: int, curvature: float
) -> Solution:
    """Return the minimiser, searched from some weights until no condition is missed by ``tol``."""
    loss = problem.loss
    last = loss.at(weights)
    ahead, gradient = last, loss.gradient(last)
    violation = problem.violation(weights, gradient)
    if violation <= tol:
        return Solution(last, violation, 0, curvature)
    steepest, momentum = loss.steepest, 1.0
    for iteration in range(1, max_iter + 1):
        while True:
            new = loss.at(problem.step(ahead.weights, gradient, curvature))
            way = new.weights - ahead.weights
            length = float(np.vdot(way, way))
            met = loss.curvature(new, ahead)
            if not (met > curvature * length and length > 0.0 and curvature < steepest):
                break
            curvature = min(max(RISE[0] * curvature, met / length), RISE[1] * curvature)
        if not np.isfinite(new.loss):
            raise FloatingPointError(
                f"The loss is {new.loss}: the margin or the scale of the columns is too large."
            )
        longest = float(np.abs(way).max(initial=0.0))
        least = ROUNDING * float(np.abs(new.weights).max(initial=0.0))
        last_one = iteration == max_iter or longest <= least  # rounding: it leads nowhere
        if curvature * longest <= NEAR * tol or last_one:
            violation = problem.violation(new.weights, loss.gradient(new))
            if violation <= tol or last_one:
                return Solution(new, violation, iteration, curvature)
        if np.vdot(ahead.weights - new.weights, new.weights - last.weights) > 0.0:
            momentum = 1.0
        before, momentum = momentum, (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = loss.beyond(new, last, (before - 1.0) / momentum)
        gradient = loss.gradient(ahead)
        last = new
        curvature *= FALL
    raise AssertionError("unreachable: the last iteration returns")
