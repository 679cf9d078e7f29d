"""L-BFGS."""

from __future__ import annotations

from collections import deque

import numpy as np

from .line_search import line_search
from .objective import Evaluation, Function, Vector

MEMORY = 20
# Steps that lower neither the value nor the gradient, beyond rounding, before giving up.
PATIENCE = 30

Pairs = deque[tuple[Vector, Vector, float]]


def lbfgs(objective: Function, tolerance: float, max_iter: int) -> tuple[Evaluation, int]:
    """Return the point where ``reached <= tolerance``, and the iterations taken.

    Nocedal and Wright, Numerical Optimization (2006), algorithm 7.5, in coordinates
    where the first inverse Hessian is near the identity. Stops early where no step
    improves: the point is then as good as the precision allows.
    """
    here = objective.start
    pairs: Pairs = deque(maxlen=MEMORY)
    restarted = False
    lowest, idle = here.reached, 0
    for iteration in range(max_iter):
        if here.reached <= tolerance or objective.hopeless(here):
            return here, iteration
        there = line_search(objective, here, -_inverse_hessian_product(pairs, here.gradient))
        if there is None and pairs and not restarted:
            pairs.clear()  # a direction spoilt by rounding: begin anew, once
            restarted = True
            continue
        if there is None:
            return here, iteration
        step, change = there.z - here.z, there.gradient - here.gradient
        curvature = float(step @ change)
        if curvature > np.finfo(np.float64).eps * (change @ change):
            pairs.append((step, change, 1.0 / curvature))
        better = there.reached < lowest or there.value < here.value - here.noise
        idle = 0 if better else idle + 1
        if idle == PATIENCE:
            return there, iteration
        lowest = min(lowest, there.reached)
        here = there
    return here, max_iter


def _inverse_hessian_product(pairs: Pairs, gradient: Vector) -> Vector:
    """Return the two-loop recursion's H @ gradient."""
    product = gradient.copy()
    coefficients = []
    for step, change, inverse in reversed(pairs):
        coefficient = inverse * (step @ product)
        product -= coefficient * change
        coefficients.append(coefficient)
    if pairs:
        _, change, inverse = pairs[-1]
        product /= inverse * (change @ change)
    for (step, change, inverse), coefficient in zip(pairs, reversed(coefficients), strict=True):
        product += (coefficient - inverse * (change @ product)) * step
    return product
