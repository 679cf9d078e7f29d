"""What one step on an atom gains, exactly: the costly greedy rules of section 3.1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..gram import Gram
from ..refit import Refit
from ..refit.lbfgs import lbfgs
from ..refit.objective import Evaluation, Objective, Subspace, Vector
from ..rows import Rows, may_overflow

# From the cheapest to the most exact; the step of each contains that of those before.
TRIALS = ("line_search", "column", "refit")

# A step is minimised until its gradient is this share of what it was.
PRECISION = 1e-3
MOST_STEPS = 100

Matrix = NDArray[np.float64]


def decreases(rows: Rows, refit: Refit, W: Matrix, atoms: Sequence[int], rule: str) -> list[float]:
    """Return what the objective falls by from W, (k, n_columns), in one step on each atom.

    The step is the best multiple of the atom's part of the gradient (``line_search``), the
    best weights of the atom with all others fixed (``column``), or the best weights of all
    (``refit``). Each starts from the end of the one before, so it is never worse.
    """
    found = []
    for atom in atoms:
        rows.append(atom)
        try:
            found.append(_decrease(rows, refit, W, rule))
        finally:
            rows.remove(len(rows.chosen) - 1)
    return found


@may_overflow
def _decrease(rows: Rows, refit: Refit, W: Matrix, rule: str) -> float:
    """Return what a step on the atom appended last gains."""
    new = slice(*rows.starts[-2:])
    W = np.pad(W, ((0, 0), (0, new.stop - new.start)))
    function = Objective(rows, refit.loss, refit.penalty, refit.alpha, W)
    _, before, slope = function.at(W)
    gradient = slope[:, new]
    if not gradient.any():
        return 0.0
    end = _minimum(_along(function, W, gradient, new))
    if rule != "line_search":
        end = _minimum(_within(function, end.W, new))
    value = end.value
    if rule == "refit":
        tolerance = PRECISION * float(np.abs(gradient).sum())
        value = min(value, function.at(refit(rows, end.W, tolerance)[0])[1])
    return before - value


def _minimum(space: Subspace) -> Evaluation:
    """Return the lowest point found, no higher than the start."""
    end, _ = lbfgs(space, PRECISION * space.start.reached, MOST_STEPS)
    return min(space.start, end, key=lambda place: place.value)


def _along(function: Objective, W: Matrix, gradient: Matrix, new: slice) -> Subspace:
    """Return the line from W along the gradient of the new columns."""
    direction = np.zeros_like(W)
    direction[:, new] = gradient
    direction /= np.linalg.norm(function.unit * function.factor.times(direction))
    return Subspace(
        function,
        W,
        expand=lambda z: z[0] * direction,
        reduce=lambda slope: np.array([np.sum(slope * direction)]),
    )


def _within(function: Objective, W: Matrix, new: slice) -> Subspace:
    """Return all weights of the new columns, the others as in W."""
    k, width = W.shape[0], new.stop - new.start
    own = Gram(float(np.finfo(function.rows.pool.dtype_).eps))
    own.extend(function.rows.gram.border[:, new])
    C = own.factor(np.zeros(width))

    def expand(z: Vector) -> Matrix:
        V = np.zeros_like(W)
        V[:, new] = C.divide(z.reshape(k, width)) / function.unit
        return V

    def reduce(slope: Matrix) -> Vector:
        return C.divide_transposed(slope[:, new] / function.unit).ravel()

    return Subspace(function, W, expand, reduce)
