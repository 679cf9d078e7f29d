"""The function a refit minimises, in coordinates where its curvature is near one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..losses import LogisticLoss
from ..penalties import Penalty
from ..rows import Block, Rows, may_overflow

Vector = NDArray[np.float64]

# Below this the classes are separated as far as rounding tells.
SMALLEST_CURVATURE = 1e-12


class Evaluation(NamedTuple):
    """The objective at one point."""

    W: NDArray[np.float64]
    z: Vector
    loss: float  # L alone, without the penalty
    value: float
    gradient: Vector  # in z
    reached: float  # largest l1 norm, over classes and columns, of an atom's gradient in W
    noise: float  # differences of values below this are rounding


class Objective:
    r"""F(W) = L(W) + alpha * penalty(W) over the selected columns.

    L is the average loss. The solvers work on ``z = sqrt(a) W C`` flattened, where
    ``a C C^T`` is a quadratic model of F's curvature shared by all classes: a is the mean
    over examples and classes of the loss's curvature at the starting point W, and
    ``C C^T`` the selected columns' Gram matrix plus the penalty's mean curvature over a.
    A step of length one along the negative gradient in z is then about a Newton step,
    and correlated columns or columns of unlike scales cost nothing.
    """

    def __init__(
        self,
        rows: Rows,
        loss: LogisticLoss,
        penalty: Penalty,
        alpha: float,
        W: NDArray[np.float64],
    ):
        self.rows = rows
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        at_start = self._at(W)
        curvature = self._mean_curvature()  # a
        first = int(rows.intercept)
        ridge = np.zeros(W.shape[1])
        ridge[first:] = alpha * penalty.mean_curvature(W[:, first:]) / curvature
        self.factor = rows.gram.factor(ridge)  # C
        self.unit = np.sqrt(curvature)
        self.start = self._evaluation(W, self.unit * self.factor.times(W).ravel(), *at_start)

    def moved_to(self, place: Evaluation) -> Objective:
        """Return the same function in coordinates chosen at another point."""
        return Objective(self.rows, self.loss, self.penalty, self.alpha, place.W)

    def evaluate(self, z: Vector) -> Evaluation:
        """Return F and its gradient at z."""
        W = self.weights(z)
        return self._evaluation(W, z, *self._at(W))

    def weights(self, z: Vector) -> NDArray[np.float64]:
        """Return W, (k, n_columns), from z."""
        Z = z.reshape(self.rows.n_classes, -1) / self.unit
        return self.factor.divide(Z)

    def curvature_product(self, direction: Vector) -> Vector:
        """Return the Hessian in z at the start, evaluated last, times ``direction``."""
        W, V = self.start.W, self.weights(direction)

        @may_overflow
        def part(block: Block) -> tuple[NDArray[np.floating]]:
            columns = block.columns[: V.shape[1]]
            rho = self.loss.rho(block.residual, block.y, block.weight)
            scores = V.astype(columns.dtype) @ columns
            return (self.loss.curvature_product(rho, block.weight, scores) @ columns.T,)

        (product,) = self.rows.total(part)
        product /= self.rows.total_weight
        first = int(self.rows.intercept)
        product[:, first:] += self.alpha * self.penalty.curvature_product(
            W[:, first:], V[:, first:]
        )
        return self._into_z(product)

    def _at(self, W: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
        """Return L, F and F's gradient in W."""
        loss, gradient = self.rows.evaluate(W, self.loss)
        loss /= self.rows.total_weight
        gradient /= self.rows.total_weight
        first = int(self.rows.intercept)
        penalty, slope = self.penalty.value_and_gradient(W[:, first:])
        gradient[:, first:] += self.alpha * slope
        return loss, loss + self.alpha * penalty, gradient

    def _evaluation(
        self,
        W: NDArray[np.float64],
        z: Vector,
        loss: float,
        value: float,
        gradient: NDArray[np.float64],
    ) -> Evaluation:
        norms = np.add.reduceat(np.abs(gradient).sum(axis=0), self.rows.starts)
        reached = float(norms.max(initial=0.0))
        noise = 10.0 * self._rounding * abs(value)
        return Evaluation(W, z, loss, value, self._into_z(gradient), reached, noise)

    def _into_z(self, gradient: NDArray[np.float64]) -> Vector:
        return self.factor.divide_transposed(gradient / self.unit).ravel()

    @property
    def _rounding(self) -> float:
        return float(np.finfo(self.rows.pool.dtype_).eps)

    def _mean_curvature(self) -> float:
        """Return the mean curvature of L in a score, at the point evaluated last."""

        @may_overflow
        def part(block: Block) -> tuple[NDArray[np.floating]]:
            rho = self.loss.rho(block.residual, block.y, block.weight)
            return (self.loss.mean_curvature(rho, block.weight).sum(dtype=np.float64),)

        (total,) = self.rows.total(part)
        return max(float(total) / self.rows.total_weight, SMALLEST_CURVATURE)
