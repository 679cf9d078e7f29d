"""The weight of the penalty that the data support best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..rows import Rows

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
    (total,) = rows.total("total_curvature")
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
