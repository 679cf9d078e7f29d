"""The function a refit minimises, in coordinates where its curvature is near one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..arrays import Array, Scalar, numbers
from ..shard import Shard

if TYPE_CHECKING:
    from ..losses import Loss
    from ..penalties import Penalty
    from ..rows import Rows

Vector = Array  # in float64, where the rows live; so are all arrays here
# Of the gradient at a new point: scalars that a solver needs of it.
Products = Callable[[Vector], tuple[Scalar, ...]]

# Below this the classes are separated as far as rounding tells.
SMALLEST_CURVATURE = 1e-12


class Evaluation(NamedTuple):
    """The objective at one point."""

    W: Array
    z: Vector
    loss: float  # L alone, without the penalty
    value: float
    gradient: Vector  # in z
    reached: float  # largest l1 norm, over classes and columns, of an atom's gradient in W
    noise: float  # differences of values below this are rounding
    squared: float  # the gradient's square
    products: tuple[float, ...]  # that were asked for


def noise(rows: Rows, value: float) -> float:
    """Return below what a difference from that value of F is rounding."""
    return 10.0 * float(np.finfo(rows.pool.dtype_).eps) * abs(value)


def nothing(gradient: Vector) -> tuple[Scalar, ...]:
    """Return no products."""
    return ()


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
        self, rows: Rows, loss: Loss, penalty: Penalty, alpha: float, W: Array, goal: float = np.inf
    ):
        self.goal = goal
        self.rows = rows
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        at_start = self.at(W)
        W = rows.backend.asarray(W)
        curvature = self._mean_curvature()  # a
        first = int(rows.intercept)
        ridge = np.zeros(W.shape[1])
        ridge[first:] = self.ridge(W[:, first:]) / curvature
        self.factor = rows.gram.factor(ridge)  # C
        self.unit = float(np.sqrt(curvature))
        z = self.unit * self.factor.times(W).ravel()
        self.start = self._evaluation(W, z, *at_start)

    def ridge(self, W: Array) -> NDArray[np.float64]:
        """Return the penalty's mean curvature in each column of W, without the intercept's."""
        backend = self.rows.backend
        return self.alpha * backend.numpy(self.penalty.mean_curvature(backend.asarray(W)))

    def moved_to(self, place: Evaluation) -> Objective:
        """Return the same function in coordinates chosen at another point."""
        return Objective(self.rows, self.loss, self.penalty, self.alpha, place.W, self.goal)

    def cannot_reach(self, place: Evaluation) -> bool:
        """Return whether F seems to stay above the goal from here.

        In these coordinates the curvature is near one, so that about half the gradient's
        square is left to gain; up to three times that is hoped for.
        """
        if self.goal == np.inf:
            return False
        return place.value - 1.5 * place.squared > self.goal

    def evaluate(self, z: Vector, products: Products = nothing) -> Evaluation:
        """Return F and its gradient at z."""
        W = self.weights(z)
        return self._evaluation(W, z, *self.at(W), products)

    def arrived(self, W: Array) -> Evaluation:
        """Return F and its gradient at weights."""
        return self._evaluation(W, self.unit * self.factor.times(W).ravel(), *self.at(W))

    def weights(self, z: Vector) -> Array:
        """Return W, (k, n_columns), from z."""
        Z = z.reshape(self.rows.n_classes, -1) / self.unit
        return self.factor.divide(Z)

    def curvature_product(self, direction: Vector) -> Vector:
        """Return the Hessian in z at the start, evaluated last, times ``direction``."""
        W, V = self.start.W, self.weights(direction)
        (product,) = self.rows.total(Shard.curvature_product, V)
        product /= self.rows.total_weight
        first = int(self.rows.intercept)
        product[:, first:] += self.alpha * self.penalty.curvature_product(
            W[:, first:], V[:, first:]
        )
        return self._into_z(product)

    def at(self, W: Array) -> tuple[Scalar, Scalar, Array]:
        """Return L, F and F's gradient in W, NumPy's or an array where the rows live."""
        loss, gradient = self.rows.evaluate(W, self.loss)
        loss = loss / self.rows.total_weight
        gradient /= self.rows.total_weight
        first = int(self.rows.intercept)
        penalty, slope = self.penalty.value_and_gradient(self.rows.backend.asarray(W)[:, first:])
        gradient[:, first:] += self.alpha * slope
        return loss, loss + self.alpha * penalty, gradient

    def _evaluation(
        self,
        W: Array,
        z: Vector,
        loss: Scalar,
        value: Scalar,
        gradient: Array,
        products: Products = nothing,
    ) -> Evaluation:
        norms = self.rows.layout.segments.sums(abs(gradient).sum(axis=0))
        reached = norms.max() if len(norms) else 0.0
        return evaluation(self.rows, W, z, (loss, value, reached), self._into_z(gradient), products)

    def _into_z(self, gradient: Array) -> Vector:
        return self.factor.divide_transposed(gradient / self.unit).ravel()

    def _mean_curvature(self) -> float:
        """Return the mean curvature of L in a score, at the point evaluated last."""
        (total,) = self.rows.total(Shard.total_curvature)
        mean = float(total) / (self.rows.n_classes * self.rows.total_weight)
        return max(mean, SMALLEST_CURVATURE)


def evaluation(
    rows: Rows,
    W: Array,
    z: Vector,
    scalars: tuple[Scalar, Scalar, Scalar],
    gradient: Vector,
    products: Products,
) -> Evaluation:
    """Return an evaluation of these numbers, loss, value and reached, and of the products.

    All of them are fetched at once: from a device, a solver waits once an evaluation.
    """
    wanted = [*scalars, gradient @ gradient, *products(gradient)]
    loss, value, reached, squared, *others = numbers(wanted)
    return Evaluation(
        W, z, loss, value, gradient, reached, noise(rows, value), squared, tuple(others)
    )


class Subspace:
    """The objective at ``W + expand(z)``, where ``expand`` is linear and ``reduce`` its adjoint."""

    def __init__(
        self,
        whole: Objective,
        W: Array,
        expand: Callable[[Vector], Array],
        reduce: Callable[[Array], Vector],
    ):
        self.whole = whole
        self.W = W
        self.expand = expand
        self.reduce = reduce
        self.start = self.evaluate(0.0 * reduce(W))

    def evaluate(self, z: Vector, products: Products = nothing) -> Evaluation:
        """Return F and its gradient at z."""
        W = self.W + self.expand(z)
        loss, value, slope = self.whole.at(W)
        gradient = self.reduce(slope)
        scalars = loss, value, abs(gradient).sum()
        return evaluation(self.whole.rows, W, z, scalars, gradient, products)

    def cannot_reach(self, place: Evaluation) -> bool:
        """Return False: there is no goal."""
        return False


# What a solver that needs no curvature minimises, from ``start``.
Function = Objective | Subspace


# With more columns than this the eigenvalues would take longer than the refit.
MOST_COLUMNS = 512
# With less, refits of columns that are nearly collinear end above their tolerance in float32.
LEAST = 1e-5


def evidence_alpha(rows: Rows, W: NDArray[np.float64], n_rows: float) -> float | None:
    r"""Return the weight at which W, (k, n_columns), has the size that the penalty expects.

    Read :math:`e^{-m \alpha \|W\|^2}` as the density of the weights before any of the m rows was
    seen. The weight of the largest evidence (MacKay, 1992) then obeys

    .. math:: 2 m \alpha \|W\|^2 = \gamma(\alpha) = \sum_i \frac{h_i}{h_i + 2 \alpha},

    where :math:`h_i` are the curvatures of the average loss. The right side counts the weights
    that the rows determine. It is computed from one curvature for all classes times the
    eigenvalues of the Gram matrix; a softmax of k classes leaves k - 1 of them free.

    It is at least ``LEAST``. None where W says nothing: it is zero, or has too many columns.
    """
    first = int(rows.intercept)
    size = float(np.sum(W[:, first:] ** 2))
    n = W.shape[1] - first
    if not 0.0 < size < np.inf or n > MOST_COLUMNS:
        return None
    (total,) = rows.total(Shard.total_curvature)
    k = rows.n_classes
    free = max(1, k - 1)
    mean = float(total) / (free * rows.total_weight)
    matrix = rows.backend.numpy(rows.gram.matrix)[first:, first:]
    values = mean * np.maximum(np.linalg.eigvalsh(matrix), 0.0)
    most = 0.5 * float(values.mean())  # as curved as the loss itself
    if not most > 0.0:
        return None

    def excess(alpha: float) -> float:
        return 2.0 * n_rows * alpha * size - free * float(np.sum(values / (values + 2.0 * alpha)))

    if most <= LEAST or excess(LEAST) >= 0.0:
        return LEAST
    if excess(most) <= 0.0:
        return most
    return float(brentq(excess, LEAST, most, xtol=1e-3 * LEAST))
