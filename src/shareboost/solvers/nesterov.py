"""Nesterov's accelerated gradient, the paper's own solver, with adaptive restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .objective import Evaluation, Function


def nesterov(objective: Function, tolerance: float, max_iter: int) -> tuple[Evaluation, int]:
    """Return the point where ``reached <= tolerance``, and the iterations taken.

    Accelerated gradient (Nesterov 2004) with a step length found by backtracking and
    the momentum dropped whenever it points uphill (O'Donoghue and Candes 2015).
    """
    here = ahead = objective.start
    length, momentum = 1.0, 1.0
    for iteration in range(max_iter):
        if here.reached <= tolerance:
            return here, iteration
        there = _trial(objective, here, ahead, length)
        # The quadratic bound, tested by slopes where the values are rounded too much.
        while not (
            there.value <= ahead.value - 0.5 * length * ahead.squared + ahead.noise
            or there.products[0] >= 0.5 * ahead.squared
        ):
            length *= 0.5
            if length < 1e-12:
                return here, iteration
            there = _trial(objective, here, ahead, length)
        if there.products[1] > 0.0:
            momentum, ahead = 1.0, here
            continue
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        pushed = there.z + float((momentum - 1.0) / next_momentum) * (there.z - here.z)
        here, ahead, momentum = there, objective.evaluate(pushed), next_momentum
        length *= 1.1
    return here, max_iter


def _trial(objective: Function, here: Evaluation, ahead: Evaluation, length: float) -> Evaluation:
    """Return the end of a step from ``ahead``.

    Its products: those of the gradient there and of the step from here with that of ahead.
    """
    z = ahead.z - length * ahead.gradient
    return objective.evaluate(
        z,
        lambda gradient: (gradient @ ahead.gradient, (z - here.z) @ ahead.gradient),
    )
