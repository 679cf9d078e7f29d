"""Truncated Newton: conjugate gradients on the curvature inside a trust region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import numbers

if TYPE_CHECKING:
    from .objective import Evaluation, Objective, Vector

# A step is taken if it keeps this share of the decrease that the quadratic model promised.
ACCEPTED = 1e-4
SMALLEST_RADIUS = 1e-12


def newton(objective: Objective, tolerance: float, max_iter: int) -> tuple[Evaluation, int]:
    """Return the point where ``reached <= tolerance``, and the iterations taken.

    Steihaug's method: Nocedal and Wright, Numerical Optimization (2006), algorithms
    4.1 and 7.2. The coordinates are chosen anew at every step, so that a round region
    of size one is a natural one to trust. An iteration is one product with the
    Hessian or one trial step.
    """
    radius, iteration = 1.0, 0
    while objective.start.reached > tolerance and iteration < max_iter:
        here = objective.start
        z, promised, products, at_edge, length = _step(objective, radius, max_iter - iteration)
        iteration += products + 1
        there = objective.evaluate(here.z + z)
        kept = (here.value - there.value + here.noise) / (promised + here.noise)
        if kept > 0.75 and at_edge:
            radius *= 2.0
        elif not kept > 0.25:  # so too where the trial overflowed
            radius = 0.25 * length
        if radius < SMALLEST_RADIUS:
            return here, min(iteration, max_iter - 1)
        objective = objective.moved_to(there if kept > ACCEPTED else here)
    return objective.start, min(iteration, max_iter)


def _step(
    objective: Objective, radius: float, max_products: int
) -> tuple[Vector, float, int, bool, float]:
    """Return an approximate minimiser of the quadratic model within the radius.

    With it come the decrease that the model promises, the products taken, whether the step ends
    at the edge of the radius, and its length.

    The numbers that decide are taken from inner products of the vectors before a step, all
    fetched at once, so that from a device there is one wait a product.
    """
    gradient = objective.start.gradient
    place, curved_place = 0.0 * gradient, 0.0 * gradient
    remainder = -gradient
    search = -gradient
    squared = objective.start.squared
    goal = min(0.25, squared**0.25) * squared**0.5
    size, product, at_edge = 0.0, 0, False  # size: squared, of place
    while product < max_products and not at_edge and squared**0.5 > goal:
        product += 1
        curved = objective.curvature_product(search)
        curvature, squared_search, across, within, beyond = numbers(
            [search @ curved, search @ search, place @ search, remainder @ curved, curved @ curved]
        )
        to_edge = _length_to_edge(squared_search, across, size - radius**2)
        length = squared / curvature if curvature > 0.0 else np.inf
        at_edge = length >= to_edge
        length = min(length, to_edge)
        place += length * search
        curved_place += length * curved
        remainder -= length * curved
        size += length * (2.0 * across + length * squared_search)
        previous, squared = squared, squared - length * (2.0 * within - length * beyond)
        squared = max(squared, 0.0)  # rounding may say less
        search = remainder + squared / previous * search
    down, curve = numbers([gradient @ place, place @ curved_place])
    return place, -(down + 0.5 * curve), product, at_edge, size**0.5


def _length_to_edge(a: float, b: float, c: float) -> float:
    """Return the positive t where ``a t^2 + 2 b t + c`` is zero, c being below zero."""
    return (-b + max(b * b - a * c, 0.0) ** 0.5) / a
