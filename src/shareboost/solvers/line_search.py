"""A line search by slopes, shared by the solvers that follow a direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import Scalar, inner_products
from .objective import Evaluation, Function, Vector

# Sufficient decrease, and the share of the slope that may remain.
DECREASE, SLOPE = 1e-4, 0.9
MOST_TRIALS = 40


class Step(NamedTuple):
    """A step that was taken, and products of vectors about it."""

    there: Evaluation
    curvature: float  # step @ change of the gradient
    change: float  # change @ change
    slope: float  # step @ gradient there
    of_change: float  # change @ gradient there
    others: tuple[float, ...]  # that were asked for


def line_search(
    objective: Function,
    here: Evaluation,
    direction: Vector,
    others: Callable[[Vector, Vector], tuple[Scalar, ...]],
) -> Step | None:
    """Return a point along ``direction`` that meets the approximate Wolfe conditions.

    Those of Hager and Zhang (2005), which still work where the decrease is below the
    rounding of the value. Returns None where no trial met them, or where the direction is
    uphill. A trial that overflows counts as too long a step. ``others(gradient, change)`` are
    further products wanted of a new gradient and its change.
    """

    def products(gradient: Vector) -> tuple[Scalar, ...]:
        change = gradient - here.gradient
        pairs = inner_products((direction, change), (here.gradient, gradient, change))
        return (*pairs, *others(gradient, change))

    low, high = 0.0, np.inf
    low_slope = high_slope = np.nan
    length = 1.0
    for _ in range(MOST_TRIALS):
        there = objective.evaluate(here.z + length * direction, products)
        slope, new_slope, along, _, of_change, change, *more = there.products
        if not slope < 0.0:
            return None
        low_slope = slope if low == 0.0 else low_slope
        decreased = there.value <= here.value + DECREASE * length * slope
        flat = there.value <= here.value + here.noise and new_slope <= (2 * DECREASE - 1) * slope
        if not (decreased or flat):
            high, high_slope = length, new_slope
        elif new_slope < SLOPE * slope:
            low, low_slope = length, new_slope
        else:
            along, ahead = length * along, length * new_slope
            return Step(there, along, change, ahead, of_change, tuple(more))
        length = _next_length(low, low_slope, high, high_slope)
    return None


def _next_length(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Return a trial length inside (low, high): by the secant of the slopes, else nearer low.

    Never past the middle: on a profile with a kink, as of an example confidently wrong,
    the secant stays near ``high`` and the bracket would hardly shrink.
    """
    if not np.isfinite(high):
        return 4.0 * low
    width = high - low
    if high_slope > low_slope:
        secant = low - low_slope * width / (high_slope - low_slope)
        return float(np.clip(secant, low + 0.01 * width, low + 0.5 * width))
    return low + 0.1 * width
