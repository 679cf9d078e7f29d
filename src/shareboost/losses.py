r"""The logistic losses with margin: of all classes, eq. (3) of the paper, and of one alone.

Shapes, stated once for the whole package
-----------------------------------------
Arrays over examples are *class-major*: the ``n`` examples of a block run along the
last axis, so that every reduction over classes is a handful of long vector operations.

========== =========== ==========================================================
name       shape       meaning
========== =========== ==========================================================
scores     (k, n)      ``W @ columns``, one row a class
y          (n,)        index of the true class of each example, ``0 <= y < k``
weight     (n,)        non-negative weight of each example
residual   (k, n)      ``weight * (rho - onehot(y))``: dL/dscores
columns    (c, n)      the selected columns, one row a column
W          (k, c)      weights
gradient   (k, c)      ``residual @ columns.T``
========== =========== ==========================================================

Values, residuals and gradients are *totals* over examples. Whoever wants the paper's
average L(W) divides by the total weight, once, at the end.

One class against the rest has one score an example: k is 1, and y is 1 for the class and 0
for the rest. All else reads as above, but for ``residual``, which its loss states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Scalar, namespace
from .inputs import backend_module

if TYPE_CHECKING:
    from .backends import Backend
    from .shard import Block

Floats = Any  # NDArray[np.floating], or a tensor of a torch device
Labels = NDArray[np.intp]


class Loss(ABC):
    """A total over examples of a convex function of their scores.

    Rules and solvers ask it for curvatures at the point evaluated last, from the residuals there.
    """

    # Whether a constant added to the scores of all classes changes nothing.
    shifts: ClassVar[bool] = False

    @abstractmethod
    def value_and_residual(self, scores: Floats, y: Labels, weight: Floats) -> Scalar:
        """Return the total loss; ``scores`` is overwritten with the residual."""

    def evaluate(
        self, backend: Backend, W: Floats, block: Block, n_columns: int
    ) -> tuple[Scalar, Floats]:
        """Return the total loss of a block at W, and its gradient in the first columns.

        Writes the residual to the block.
        """
        backend.product(W, block.columns[: W.shape[1]], block.residual)
        value = self.value_and_residual(block.residual, block.y, block.weight)
        return value, backend.correlated(block.residual, block.columns[:n_columns])

    @abstractmethod
    def curvature_product(
        self, residual: Floats, y: Labels, weight: Floats, direction: Floats
    ) -> Floats:
        """Return the Hessian of the total loss in the scores times ``direction``, (k, n)."""

    @abstractmethod
    def curvatures(self, residual: Floats, y: Labels, weight: Floats) -> Floats:
        """Return the Hessian's diagonal, (k, n)."""

    def total_curvature(self, residual: Floats, y: Labels, weight: Floats) -> Scalar:
        """Return the sum over classes and examples of ``curvatures``."""
        return self.curvatures(residual, y, weight).sum(dtype=namespace(residual).float64)


@dataclass(frozen=True)
class _Logistic(Loss):
    """What the losses of all classes and of one alone have in common.

    Parameters
    ----------
    margin : float
        How far the true class must lead.
    """

    margin: float = 1.0

    def curvatures(self, residual: Floats, y: Labels, weight: Floats) -> Floats:
        """Return the Hessian's diagonal, ``weight * rho * (1 - rho)``, (k, n).

        The residual over the weight is rho or rho - 1, in size a share and its complement.
        """
        size = abs(residual)
        return size * (1.0 - size / weight)

    def total_curvature(self, residual: Floats, y: Labels, weight: Floats) -> Scalar:
        """Return the sum over classes and examples of ``curvatures``."""
        xp = namespace(residual)
        squares = xp.einsum("qn,qn->n", residual, residual) / weight
        return abs(residual).sum(dtype=xp.float64) - squares.sum(dtype=xp.float64)


@dataclass(frozen=True)
class LogisticLoss(_Logistic):
    r"""Total of ``ln sum_q exp(margin * 1[q != y] - s_y + s_q)`` over examples.

    Parameters
    ----------
    margin : float
        How far the true class must lead. 1 is the paper's eq. (3), an upper bound on
        the 0-1 loss; 0 is the plain softmax cross-entropy.
    """

    shifts = True

    def value_and_residual(self, scores: Floats, y: Labels, weight: Floats) -> Scalar:
        """Return the total loss; ``scores`` is overwritten with the residual.

        The true class is kept apart from the rest, so that neither the loss nor the
        residual of a confident example is rounded away: both are sums of positive
        terms in any precision.
        """
        if not isinstance(scores, np.ndarray):
            kernels = backend_module(scores, "kernels")
            return kernels.value_and_residual(scores, y, weight, self.margin)
        from .kernels.logistic import BITS, evaluate

        nothing, bits = np.empty((len(scores), 0), scores.dtype), BITS[scores.dtype.char]
        return evaluate(nothing, scores[:0], y, weight, self.margin, bits, scores, nothing)

    def evaluate(
        self, backend: Backend, W: Floats, block: Block, n_columns: int
    ) -> tuple[Scalar, Floats]:
        """Return the loss and its gradient; NumPy's are made by one call of a kernel."""
        residual, columns, y, weight = block.residual, block.columns, block.y, block.weight
        if not isinstance(residual, np.ndarray):
            return super().evaluate(backend, W, block, n_columns)
        from .kernels.logistic import BITS, evaluate

        gradient = np.zeros((len(W), n_columns), dtype=residual.dtype)
        bits = BITS[residual.dtype.char]
        value = evaluate(W, columns, y, weight, self.margin, bits, residual, gradient)
        return value, gradient

    @staticmethod
    def rho(residual: Floats, y: Labels, weight: Floats) -> Floats:
        """Return eq. (6)'s rho, shape (k, n), from the residual (weights are positive)."""
        rho = residual / weight
        rho[y, namespace(y).arange(len(y), device=y.device)] += 1.0
        return rho

    def curvature_product(
        self, residual: Floats, y: Labels, weight: Floats, direction: Floats
    ) -> Floats:
        """Return the Hessian of the total loss in the scores times ``direction``, (k, n)."""
        rho = self.rho(residual, y, weight)
        product = rho * direction
        product -= rho * product.sum(axis=0)
        product *= weight
        return product


@dataclass(frozen=True)
class BinaryLogisticLoss(_Logistic):
    r"""Total of ``ln(1 + exp(margin - t s))`` over examples, ``t = 2 y - 1``.

    That is ``LogisticLoss`` of two classes whose scores differ by s: one class against the
    rest, section 7.1 of the paper. The residual is ``-t * weight * rho``, with rho that of
    eq. (6) for the wrong one of the two.

    Parameters
    ----------
    margin : float
        How far the score must be on its own side of zero.
    """

    def value_and_residual(self, scores: Floats, y: Labels, weight: Floats) -> Scalar:
        """Return the total loss; ``scores``, (1, n), is overwritten with the residual.

        No term is rounded away, of an example that is confidently right or wrong.
        """
        sign = (2 * y - 1).astype(scores.dtype)
        short = scores.dtype.type(self.margin) - sign * scores[0]  # (n,), of the margin
        with np.errstate(under="ignore"):
            small = np.exp(-np.abs(short))
            losses = np.maximum(short, 0.0) + np.log1p(small)
            rho = np.where(short > 0.0, 1.0, small) / (1.0 + small)
            np.multiply(-sign, weight * rho, out=scores[0])
        return np.dot(losses.astype(np.float64), weight)

    def curvature_product(
        self, residual: Floats, y: Labels, weight: Floats, direction: Floats
    ) -> Floats:
        """Return the second derivative of the total loss times ``direction``, (1, n).

        It is made of eq. (6)'s rho of the wrong answer: of the two the one that a confident
        example does not round to 1.
        """
        rho = np.abs(residual) / weight
        return weight * rho * (1.0 - rho) * direction
