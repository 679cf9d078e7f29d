"""The guarantees of sections 5 and 6 as functions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .validation import positive


def sparsity_rounds(W_star: ArrayLike, epsilon: float) -> int:
    r"""Return Theorem 2's number of rounds.

    After :math:`T = \lceil 4\,\|W^\star\|_{\infty,1}^2 / \epsilon \rceil` rounds,
    ShareBoost has found W of at most T columns with
    :math:`L(W) \le L(W^\star) + \epsilon`, whatever W* is. It holds for features in
    [-1, 1], exact refits and no penalty. An intercept of W* counts for nothing where
    ShareBoost fits one too.

    Parameters
    ----------
    W_star : array-like of shape (n_classes, n_columns)
        Any weights, without their intercept, for columns in [-1, 1].
    epsilon : float
        Positive.
    """
    W = np.asarray(W_star, dtype=float)
    if W.ndim != 2:
        raise ValueError(
            f"W_star has shape {W.shape}: it takes a matrix of n_classes rows and n_columns "
            "columns."
        )
    if not np.isfinite(W).all():
        raise ValueError("W_star has entries that are NaN or infinite: it takes finite ones.")
    positive("epsilon", epsilon)
    norm = float(np.abs(W).max(axis=0, initial=0.0).sum())  # of l-infinity columns, summed
    return math.ceil(4.0 * norm**2 / epsilon)


def generalization_gap(
    n_rounds: int, n_classes: int, n_columns: int, n_samples: int, delta: float = 0.05
) -> float:
    r"""Return Theorem 1's bound on (test error - training error), up to its constant.

    :math:`\sqrt{(Tk\log(Tk)\log k + T\log d + \log(1/\delta)) / m}`. The theorem holds
    up to a constant factor that the paper does not state; it is taken as 1 here. So
    the value tells how the gap grows with T, k, d and m, not how large it is.

    Parameters
    ----------
    n_rounds, n_classes, n_columns, n_samples : int
        T, k, d and m.
    delta : float, default=0.05
        The bound holds with probability 1 - delta over the training set.
    """
    positive("n_rounds", n_rounds)
    positive("n_columns", n_columns)
    positive("n_samples", n_samples)
    if positive("n_classes", n_classes) < 2:
        raise ValueError(f"n_classes={n_classes!r} is not valid: it takes at least 2.")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} is not valid: it takes a number between 0 and 1.")
    weights = n_rounds * n_classes
    complexity = weights * math.log(weights) * math.log(n_classes)
    complexity += n_rounds * math.log(n_columns) + math.log(1.0 / delta)
    return math.sqrt(complexity / n_samples)


def corollary(n_columns: int, largest_weight: float, epsilon: float) -> int:
    r"""Return the corollary's number of features (section 6).

    If some W* of r columns with entries in [-c, c] has :math:`L(W^\star)\le\epsilon`,
    ShareBoost finds W with :math:`L(W) \le 2\epsilon` on at most
    :math:`4 r^2 c^2/\epsilon` features, rounded up to whole rounds.

    Parameters
    ----------
    n_columns : int
        r.
    largest_weight : float
        c.
    epsilon : float
        Positive.
    """
    positive("n_columns", n_columns)
    positive("largest_weight", largest_weight)
    positive("epsilon", epsilon)
    return math.ceil(4.0 * (n_columns * largest_weight) ** 2 / epsilon)
