"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsv

from ..arrays import Scalar, inner_products, namespace

if TYPE_CHECKING:
    from .objective import Evaluation, Function, Vector

MEMORY = 20
# Steps that lower neither the value nor the gradient, beyond rounding, before giving up.
PATIENCE = 30


def lbfgs(objective: Function, tolerance: float, max_iter: int) -> tuple[Evaluation, int]:
    """Return the point where ``reached <= tolerance``, and the iterations taken.

    Nocedal and Wright, Numerical Optimization (2006), chapter 7, in coordinates
    where the first inverse Hessian is near the identity. Stops early where no step
    improves: the point is then as good as the precision allows.
    """
    here = objective.start
    pairs = Pairs()
    restarted = False
    lowest, idle = here.reached, 0
    for iteration in range(max_iter):
        if here.reached <= tolerance or objective.cannot_reach(here):
            return here, iteration
        step = line_search(objective, here, pairs.direction(here.gradient), pairs.products)
        if step is None and pairs.n_slots and not restarted:
            pairs = Pairs()  # a direction spoilt by rounding: begin anew, once
            restarted = True
            continue
        if step is None:
            return here, iteration
        there = step.there
        pairs.add(here, step)
        better = there.reached < lowest or there.value < here.value - here.noise
        idle = 0 if better else idle + 1
        if idle == PATIENCE:
            return there, iteration
        lowest = min(lowest, there.reached)
        here = there
    return here, max_iter


class Pairs:
    """Steps s and changes y of the gradient over them: the inverse Hessian that they tell of.

    In the compact form of Byrd, Nocedal and Schnabel (1994): H is the identity times
    ``s y / y y`` of the last pair, and a matrix of as many rows as there are vectors. With all
    inner products at hand, the direction is one product with all vectors at once. They are
    fetched with the value of the function, so from a device there is no further wait.
    """

    def __init__(self) -> None:
        self.n_slots = 0
        self._vectors: Any = None  # (2 MEMORY, n): step and change of each slot
        self._slots: list[int] = []  # of the pairs, the oldest first, as in what follows
        self._sy = np.zeros((MEMORY, MEMORY))  # s_i y_j, where j is not older
        self._yy = np.zeros((MEMORY, MEMORY))
        self._along = np.zeros((MEMORY, 2))  # products of s and y with the gradient here

    def products(self, gradient: Vector, change: Vector) -> tuple[Any, ...]:
        """Return the products of all vectors with a gradient and its change, (2 slots,) each."""
        if not self.n_slots:
            return ()
        vectors = self._vectors[: 2 * self.n_slots]
        return vectors @ gradient, vectors @ change

    def direction(self, gradient: Vector) -> Vector:
        """Return ``-H gradient``, of the gradient here."""
        if not self.n_slots:
            return -gradient
        m = self.n_slots
        R, yy = self._sy[:m, :m], self._yy[:m, :m]  # of R the lower triangle is not read
        scale = R[-1, -1] / yy[-1, -1]
        of_s, of_y = self._along[:m].T
        q = dtrsv(R, of_s)
        inner = np.diagonal(R) * q + scale * (yy @ q - of_y)
        weights = np.empty((m, 2))
        weights[self._slots, 0] = -dtrsv(R, inner, trans=1)
        weights[self._slots, 1] = scale * q
        here = namespace(gradient).asarray(weights.ravel(), device=gradient.device)
        return here @ self._vectors[: 2 * m] - scale * gradient

    def add(self, here: Evaluation, step: Step) -> None:
        """Go on to the end of a step; keep its pair where it tells of a curvature."""
        there, n = step.there, self.n_slots
        with_gradient, with_change = np.reshape(step.others, (2, n, 2))[:, self._slots]  # s and y
        self._along[:n] = with_gradient
        if not step.curvature > np.finfo(np.float64).eps * step.change:
            return
        if n == MEMORY:  # the oldest pair goes
            n -= 1
            self._slots.append(self._slots.pop(0))
            for products in (self._sy, self._yy):
                products[:-1, :-1] = products[1:, 1:].copy()
            self._along[:-1] = self._along[1:].copy()
            with_change = with_change[1:]
        else:
            self._slots.append(n)
        self._sy[:n, n], self._yy[:n, n] = with_change.T
        self._yy[n, :n] = self._yy[:n, n]
        self._sy[n, n], self._yy[n, n] = step.curvature, step.change
        self._along[n] = step.slope, step.of_change
        self._keep(here, there, self._slots[-1])
        self.n_slots = n + 1

    def _keep(self, here: Evaluation, there: Evaluation, slot: int) -> None:
        """Write the step and the change of the gradient into their slot."""
        xp = namespace(there.z)
        if self._vectors is None:
            shape = 2 * MEMORY, len(there.z)
            self._vectors = xp.empty(shape, dtype=xp.float64, device=there.z.device)
        xp.subtract(there.z, here.z, out=self._vectors[2 * slot])
        xp.subtract(there.gradient, here.gradient, out=self._vectors[2 * slot + 1])


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
