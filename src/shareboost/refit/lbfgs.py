"""L-BFGS with an approximate Wolfe line search."""

from __future__ import annotations

from collections import deque

import numpy as np

from .objective import Evaluation, Objective, Vector

MEMORY = 20
# Conditions of the line search: sufficient decrease and remaining slope.
DECREASE, SLOPE = 1e-4, 0.9
# Steps that lower neither the value nor the gradient, beyond rounding, before giving up.
PATIENCE = 30


def lbfgs(objective: Objective, tolerance: float, max_iter: int) -> tuple[Evaluation, int]:
    """Return the point where ``reached <= tolerance``, and the iterations taken.

    Nocedal and Wright, Numerical Optimization (2006), algorithm 7.5, in coordinates
    where the first inverse Hessian is near the identity. The line search accepts by
    the approximate Wolfe conditions of Hager and Zhang (2005), which still work where
    the decrease is below the rounding of the value. Stops early where no step
    improves: the point is then as good as the precision allows.
    """
    here = objective.start
    pairs: deque[tuple[Vector, Vector, float]] = deque(maxlen=MEMORY)
    restarted = False
    lowest, idle = here.reached, 0
    for iteration in range(max_iter):
        if here.reached <= tolerance:
            return here, iteration
        direction = -_inverse_hessian_product(pairs, here.gradient)
        there = _line_search(objective, here, direction)
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


def _inverse_hessian_product(
    pairs: deque[tuple[Vector, Vector, float]], gradient: Vector
) -> Vector:
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


def _line_search(objective: Objective, here: Evaluation, direction: Vector) -> Evaluation | None:
    """Return a point along ``direction`` that meets the approximate Wolfe conditions."""
    slope = float(here.gradient @ direction)
    if not slope < 0.0:
        return None
    low, high = 0.0, np.inf
    low_slope, high_slope = slope, np.nan
    length = 1.0
    for _ in range(20):
        there = objective.evaluate(here.z + length * direction)
        new_slope = float(there.gradient @ direction)
        decreased = there.value <= here.value + DECREASE * length * slope
        flat = (
            there.value <= here.value + here.noise and new_slope <= (2.0 * DECREASE - 1.0) * slope
        )
        if not (decreased or flat):
            high, high_slope = length, new_slope
        elif new_slope < SLOPE * slope:
            low, low_slope = length, new_slope
        else:
            return there
        length = _next_length(low, low_slope, high, high_slope)
    return None


def _next_length(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Return a trial length inside (low, high): by the secant of the slopes, else halfway."""
    if not np.isfinite(high):
        return 4.0 * low if low > 0.0 else 1.0
    width = high - low
    if high_slope > low_slope:
        secant = low - low_slope * width / (high_slope - low_slope)
        return float(np.clip(secant, low + 0.1 * width, high - 0.1 * width))
    return low + 0.5 * width
