"""What one step on an atom gains, exactly: the costly greedy rules of section 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..rows import Rows, may_overflow
from ..solvers.lbfgs import lbfgs
from ..solvers.objective import Evaluation, Objective, Subspace, Vector

if TYPE_CHECKING:
    from ..penalties import Weights
    from ..solvers import Refit

# From the cheapest to the most exact; the step of each contains that of those before.
TRIALS = ("line_search", "column", "refit")

# A step is minimised until its gradient is this share of what it was.
PRECISION = 1e-3
MOST_STEPS = 100

Matrix = Array  # in float64, where the rows live


def decreases(rows: Rows, refit: Refit, W: Weights, atoms: Sequence[int], rule: str) -> list[float]:
    """Return what the objective falls by from W, (k, n_columns), in one step on each atom.

    The step is the best multiple of the atom's part of the gradient (``line_search``), the
    best weights of the atom with all others fixed (``column``), or the best weights of all
    (``refit``). Each starts from the end of the one before, so it is never worse.
    """
    gains = []
    for atom in atoms:
        rows.append(atom)
        try:
            gains.append(_decrease(rows, refit, W, rule))
        finally:
            rows.remove(len(rows.chosen) - 1)
    return gains


@may_overflow
def _decrease(rows: Rows, refit: Refit, W: Weights, rule: str) -> float:
    """Return what a step on the atom appended last gains."""
    new = slice(*rows.layout.starts[-2:])
    W = np.pad(W, ((0, 0), (0, new.stop - new.start)))
    function = refit.objective(rows, W)
    start, slope = function.start, function.at(W)[2]
    gradient = slope[:, new]
    size = float(abs(gradient).sum())
    if size == 0.0:
        return 0.0
    end = _minimum(_along(function, start.W, gradient, new))
    if rule != "line_search":
        end = _minimum(_within(function, end.W, new))
    value = end.value
    if rule == "refit":
        _, status = refit(rows, rows.backend.numpy(end.W), PRECISION * size)
        value = min(value, status.objective)
    return start.value - value


def _minimum(space: Subspace) -> Evaluation:
    """Return the lowest point found, no higher than the start."""
    end, _ = lbfgs(space, PRECISION * space.start.reached, MOST_STEPS)
    return min(space.start, end, key=lambda place: place.value)


def _along(function: Objective, W: Matrix, gradient: Matrix, new: slice) -> Subspace:
    """Return the line from W along the gradient of the new columns."""
    direction = 0.0 * W
    direction[:, new] = gradient
    scaled = function.unit * function.factor.times(direction)
    direction /= float((scaled * scaled).sum()) ** 0.5
    return Subspace(
        function,
        W,
        expand=lambda z: z[0] * direction,
        reduce=lambda slope: (slope * direction).sum().reshape(1),
    )


def _within(function: Objective, W: Matrix, new: slice) -> Subspace:
    """Return all weights of the new columns, the others as in W."""
    k, width = W.shape[0], new.stop - new.start
    gram = function.rows.backend.gram(float(np.finfo(function.rows.pool.dtype_).eps))
    gram.extend(function.rows.gram.border[:, new])
    C = gram.factor(np.zeros(width))

    def expand(z: Vector) -> Matrix:
        V = 0.0 * W
        V[:, new] = C.divide(z.reshape(k, width)) / function.unit
        return V

    def reduce(slope: Matrix) -> Vector:
        return C.divide_transposed(slope[:, new] / function.unit).ravel()

    return Subspace(function, W, expand, reduce)
