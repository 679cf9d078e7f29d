"""Truncated Newton: conjugate gradients on the curvature, then a backtracking step."""

from __future__ import annotations

import numpy as np

from .objective import Evaluation, Objective, Vector


def newton(objective: Objective, tolerance: float, max_iter: int) -> tuple[Evaluation, int]:
    """Return the point where ``reached <= tolerance``, and the iterations taken.

    Nocedal and Wright, Numerical Optimization (2006), algorithm 7.1. An iteration is
    one product with the Hessian or one step.
    """
    here = objective.start
    iteration = 0
    while here.reached > tolerance and iteration < max_iter:
        direction, products = _solve(objective, here, max_iter - iteration)
        iteration += products + 1
        slope = here.gradient @ direction
        length = 1.0
        there = objective.evaluate(here.z + direction)
        while there.value > here.value + 1e-4 * length * slope + here.noise:
            length *= 0.5
            if length < 1e-10:
                return here, iteration
            there = objective.evaluate(here.z + length * direction)
        here = there
    return here, min(iteration, max_iter)


def _solve(objective: Objective, here: Evaluation, max_products: int) -> tuple[Vector, int]:
    """Return an approximate solution of ``H d = -gradient`` and the products it took."""
    direction = np.zeros_like(here.gradient)
    remainder = -here.gradient
    search = remainder.copy()
    squared = remainder @ remainder
    size = np.sqrt(squared)
    goal = min(0.25, np.sqrt(size)) * size
    for product in range(max_products):
        curved = objective.curvature_product(here.z, search)
        curvature = search @ curved
        if curvature <= 1e-12 * (search @ search):
            return (direction if product else remainder), product + 1
        step = squared / curvature
        direction += step * search
        remainder -= step * curved
        new_squared = remainder @ remainder
        if np.sqrt(new_squared) <= goal:
            return direction, product + 1
        search = remainder + new_squared / squared * search
        squared = new_squared
    return direction, max_products
