"""Step 6 of Algorithm 1: the minimum of the loss over all selected columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..penalties import Frobenius, Penalty
from ..rows import Rows, may_overflow
from .dane import surrogate
from .lbfgs import lbfgs
from .nesterov import nesterov
from .newton import newton
from .objective import MOST_COLUMNS, Evaluation, Objective, evidence_alpha

if TYPE_CHECKING:
    from ..arrays import Array
    from ..losses import Loss

# The first guess of alpha="auto" is this times the number of weights per row. For other penalties
# than Frobenius' it is the last one too.
AUTO_ALPHA = 0.002
# A refit is repeated until it supports its own alpha within this factor, at most so many times.
CLOSE_ALPHA = 1.25
MOST_UPDATES = 8
# Features that said nothing got a weight above this. It would hide what they say with another one.
STRONG_ALPHA = 1e-2


def auto_factor(alpha: str) -> float:
    """Return the c of ``alpha="c*auto"``, and 1 for ``"auto"``."""
    match = re.fullmatch(r"(?:([0-9.]+(?:e[+-]?[0-9]+)?)\*)?auto", alpha.replace(" ", ""))
    try:
        factor = float(match[1] or 1.0) if match else 0.0
    except ValueError:  # such as 1.2.3
        factor = 0.0
    if not 0.0 < factor < np.inf:
        raise not_an_alpha(alpha)
    return factor


def not_an_alpha(alpha: Any) -> ValueError:
    """Return the error for what is no weight of a penalty."""
    return ValueError(
        f"alpha={alpha!r} is not valid: it takes a number of at least 0, 'auto', or a multiple of "
        "that such as '0.5*auto'."
    )


Solver = Callable[[Objective, float, int], tuple[Evaluation, int]]

SOLVERS: dict[str, Solver] = {"lbfgs": lbfgs, "nesterov": nesterov, "newton": newton}


@dataclass(frozen=True)
class Status:
    """How a refit ended."""

    loss: float  # L at the end, without the penalty
    objective: float  # F at the end, with it
    iterations: int
    gradient: float  # largest l1 norm, over classes and columns, of a chosen atom's gradient
    tolerance: float
    advice: str  # what to change if that was not reached
    alpha: float  # weight of the penalty

    @property
    def converged(self) -> bool:
        """Whether the gradient came down to the tolerance."""
        return self.gradient <= self.tolerance


@dataclass(frozen=True)
class Refit:
    """What is minimised and how: F(W) = L(W) + alpha * penalty(W).

    ``alpha="auto"`` is found by ``adapted``: see ``evidence``. It depends on the number of rows,
    which is the sum of their weights as they were given: a row of weight 2 counts as two rows.
    """

    loss: Loss
    penalty: Penalty
    alpha: float | str
    solver: str
    max_iter: int
    weight_unit: float = 1.0  # what a weight of 1 in the rows stands for

    def objective(self, rows: Rows, W: Array, goal: float = np.inf) -> Objective:
        """Return F over the columns that are chosen now, in coordinates that suit W."""
        assert not isinstance(self.alpha, str)
        return Objective(rows, self.loss, self.penalty, self.alpha, W, goal)

    def at(self, alpha: float) -> Refit:
        """Return the same with this weight of the penalty."""
        return replace(self, alpha=alpha)

    def guessed_alpha(self, rows: Rows) -> float:
        """Return the weight of the penalty before any weights are known."""
        if not isinstance(self.alpha, str):
            return self.alpha
        n_weights = rows.n_classes * max(1, rows.n_columns - rows.intercept)
        n_rows = self.weight_unit * rows.total_weight
        return AUTO_ALPHA * auto_factor(self.alpha) * n_weights / n_rows

    def adapted(
        self, rows: Rows, W: NDArray[np.float64], tolerance: float, alpha: float
    ) -> tuple[NDArray[np.float64], Status]:
        """Return what a call returns, with the weight of the penalty that the result supports.

        The search begins with ``alpha``.
        """
        if alpha > STRONG_ALPHA and rows.n_columns <= MOST_COLUMNS:
            alpha = self.guessed_alpha(rows)
        iterations = 0
        for _ in range(MOST_UPDATES):
            W, status = self.at(alpha)(rows, W, tolerance)
            iterations += status.iterations
            supported = self._supported(rows, W, alpha)
            if max(supported, alpha) <= CLOSE_ALPHA * min(supported, alpha):
                break
            alpha = supported
        return W, replace(status, iterations=iterations)

    def _supported(self, rows: Rows, W: NDArray[np.float64], alpha: float) -> float:
        """Return the weight of the penalty that W supports; ``alpha`` where it tells nothing."""
        if not isinstance(self.alpha, str):
            return alpha
        if not isinstance(self.penalty, Frobenius):
            return self.guessed_alpha(rows)
        rows.evaluate(W, self.loss)
        n_rows = self.weight_unit * rows.total_weight / auto_factor(self.alpha)
        found = evidence_alpha(rows, W, n_rows)
        return alpha if found is None else found

    @may_overflow
    def __call__(
        self, rows: Rows, W: NDArray[np.float64], tolerance: float, goal: float = np.inf
    ) -> tuple[NDArray[np.float64], Status]:
        """Return the minimiser found from W, (k, n_columns), and how the search ended.

        Stops once no atom's columns of the gradient have an l1 norm above ``tolerance``,
        the norm by which atoms are chosen. Columns appended since W was made start from zero.
        L-BFGS stops also where it has no hope to come below ``goal``.
        """
        missing = rows.n_columns - W.shape[1]
        W = np.pad(W, ((0, 0), (0, missing)))
        objective = self.objective(rows, W, goal)
        if self.solver == "lbfgs" and (near := getattr(rows, "near", None)) is not None:
            end, iterations = surrogate(objective, near, tolerance, self.max_iter)
        else:
            end, iterations = SOLVERS[self.solver](objective, tolerance, self.max_iter)
        if not np.isfinite(end.value):
            of_loss = "".join(f", {name}={value:g}" for name, value in vars(self.loss).items())
            raise FloatingPointError(
                f"The loss is {end.value} in {rows.pool.dtype_}: "
                f"alpha={objective.alpha:g}{of_loss} "
                "or the scale of the columns is too large."
            )
        advice = self._advice(iterations, rows.pool.dtype_)
        weights = rows.backend.numpy(end.W)
        return weights, Status(
            end.loss, end.value, iterations, end.reached, tolerance, advice, objective.alpha
        )

    def _advice(self, iterations: int, dtype: np.dtype[Any]) -> str:
        if iterations >= self.max_iter:
            return (
                f"Raise max_iter={self.max_iter} or tol, scale the columns alike, or set a "
                "larger alpha where the classes are separable."
            )
        wider = ", or give X in float64" if dtype == np.float32 else ""
        return f"Rounding allows no better step in {dtype}: raise tol{wider}."
