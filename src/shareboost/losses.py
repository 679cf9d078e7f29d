r"""The multiclass logistic loss with margin, eq. (3) of the paper.

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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Labels = NDArray[np.intp]


@dataclass(frozen=True)
class LogisticLoss:
    r"""Total of ``ln sum_q exp(margin * 1[q != y] - s_y + s_q)`` over examples.

    Parameters
    ----------
    margin : float
        How far the true class must lead. 1 is the paper's eq. (3), an upper bound on
        the 0-1 loss; 0 is the plain softmax cross-entropy.
    """

    margin: float = 1.0

    def value_and_residual(self, scores: Floats, y: Labels, weight: Floats) -> float:
        """Return the total loss; ``scores`` is overwritten with the residual.

        The true class is kept apart from the rest, so that neither the loss nor the
        residual of a confident example is rounded away: both are sums of positive
        terms in any precision.
        """
        examples = np.arange(y.size)
        with np.errstate(under="ignore"):
            # Taking the margin off the true class equals adding it to all the others.
            scores[y, examples] -= scores.dtype.type(self.margin)
            scores -= scores.max(axis=0)
            own = scores[y, examples]  # (n,), <= 0
            np.exp(scores, out=scores)
            own_exp = scores[y, examples]
            scores[y, examples] = 0.0
            rest = scores.sum(axis=0)  # (n,), all classes but the true one
            total = rest + own_exp
            losses = np.where(own == 0.0, np.log1p(rest), np.log(total) - own)
            scores[y, examples] = -rest
            scores *= weight / total
        return float(np.dot(losses.astype(np.float64), weight))

    @staticmethod
    def rho(residual: Floats, y: Labels, weight: Floats) -> Floats:
        """Return eq. (6)'s rho, shape (k, n), from the residual (weights are positive)."""
        rho = residual / weight
        rho[y, np.arange(y.size)] += 1.0
        return rho

    @staticmethod
    def curvature_product(rho: Floats, weight: Floats, direction: Floats) -> Floats:
        """Return the Hessian of the total loss in the scores times ``direction``, (k, n)."""
        product = rho * direction
        product -= rho * product.sum(axis=0)
        product *= weight
        return product

    @staticmethod
    def curvatures(residual: Floats, weight: Floats) -> Floats:
        """Return the Hessian's diagonal, ``weight * rho * (1 - rho)``, (k, n), from the residual.

        The residual over the weight is rho, and rho - 1 for the true class.
        """
        size = np.abs(residual)
        return size * (1.0 - size / weight)

    @staticmethod
    def mean_curvature(rho: Floats, weight: Floats) -> Floats:
        """Return the mean over classes of the Hessian's diagonal for each example, (n,)."""
        return weight * (1.0 - np.einsum("qn,qn->n", rho, rho)) / rho.shape[0]
