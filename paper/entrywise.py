"""Penalties on single weights, l1 and l2, which share nothing between classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from shareboost.losses import LogisticLoss

Matrix = NDArray[np.float64]
Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Minimum:
    """The minimiser for one weight of the penalty.

    Attributes
    ----------
    W : ndarray of shape (n_classes, n_columns)
    loss : float
        Average training loss, without the penalty.
    errors : float
        Share of the training rows that it gets wrong.
    """

    W: Matrix
    loss: float
    errors: float

    def n_features(self, above: float = 1e-6) -> int:
        """Return how many columns have a weight above that share of the largest weight."""
        largest = np.abs(self.W).max(axis=0, initial=0.0)
        return int((largest > above * largest.max(initial=0.0)).sum())


def entrywise_path(
    X: Any,
    y: Labels,
    power: int,
    alphas: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    tol: float = 1e-5,
    max_iter: int = 2000,
) -> Iterator[Minimum]:
    r"""Yield the minimisers of ``L(W) + alpha * sum |W_qj|^power``, section 6 of the paper.

    L is the average of ShareBoost's loss, eq. (3). There is no intercept. The method is that of
    accelerated proximal gradients with restart, each alpha begun at the minimum before.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_columns)
    y : ndarray of shape (n_samples,)
        The classes 0 to k - 1.
    power : {1, 2}
    alphas : ndarray
        Weights of the penalty, best falling.
    weight : ndarray of shape (n_samples,), optional
        Of the rows; only ratios count.
    tol : float, default=1e-5
        A search ends once no weight moves by more than this share of the largest.
    max_iter : int, default=2000
        Most steps of one search. One that would need more raises a ``ConvergenceWarning`` and
        yields what it has.
    """
    share = _shares(y, weight)
    # The curvature of the softmax is at most 1/2, and that of L the largest eigenvalue of the
    # columns' second moments times it.
    step = 2.0 / _largest_eigenvalue(X, share)
    W = np.zeros((int(y.max()) + 1, X.shape[1]))

    for alpha in alphas.tolist():
        ahead, momentum = W, 1.0
        for _ in range(max_iter):
            new = _shrunk(
                ahead - step * _loss_and_gradient(X, y, share, ahead)[1], step * alpha, power
            )
            # Restart where the momentum points uphill (O'Donoghue and Candes 2015).
            uphill = float(np.vdot(ahead - new, new - W)) > 0.0
            faster = 1.0 if uphill else (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead, moved = new + (momentum - 1.0) / faster * (new - W) * (not uphill), new - W
            W, momentum = new, faster
            if np.abs(moved).max() <= tol * np.abs(W).max() and not uphill:
                break
        else:
            warnings.warn(
                f"The search for alpha={alpha:.3g} ended after max_iter={max_iter} steps, before "
                f"one moved no weight by more than tol={tol:.2g} of the largest.",
                ConvergenceWarning,
                stacklevel=2,
            )
        wrong = np.asarray(X @ W.T).argmax(axis=1) != y
        loss = _loss_and_gradient(X, y, share, W)[0]
        yield Minimum(W, loss, float(share @ wrong))


def first_alpha(X: Any, y: Labels, weight: NDArray[np.float64] | None = None) -> float:
    """Return the least weight of the l1 penalty for which no weight is needed."""
    nothing = np.zeros((int(y.max()) + 1, X.shape[1]))
    return float(np.abs(_loss_and_gradient(X, y, _shares(y, weight), nothing)[1]).max())


def _loss_and_gradient(
    X: Any, y: Labels, share: NDArray[np.float64], W: Matrix
) -> tuple[float, Matrix]:
    """Return eq. (3)'s average loss and its gradient, (k, columns)."""
    residual = np.ascontiguousarray((X @ W.T).T)  # the scores, overwritten with the residual
    value = float(LogisticLoss().value_and_residual(residual, y, share))
    return value, np.asarray((X.T @ residual.T).T)


def _shares(y: Labels, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the rows' weights such that they sum to one."""
    weight = np.ones(y.size) if weight is None else weight
    return weight / weight.sum()


def _shrunk(W: Matrix, by: float, power: int) -> Matrix:
    """Return the proximal step of the penalty."""
    if power == 1:
        return np.sign(W) * np.maximum(np.abs(W) - by, 0.0)
    return W / (1.0 + 2.0 * by)


def _largest_eigenvalue(X: Any, share: NDArray[np.float64], steps: int = 200) -> float:
    """Return that of the columns' second moments, and a little more, by power iterations."""
    v = np.random.default_rng(0).normal(size=X.shape[1])
    for _ in range(steps):
        v = X.T @ (share * (X @ v))
        v /= np.linalg.norm(v)
    return 1.01 * float(share @ (X @ v) ** 2)
