"""Algorithm 1 as the paper prints it: slow, obvious, float64, one example at a time.

Truth for the tests. Shares no code with the package.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize


def example_loss(scores, y, margin):
    """Eq. (3) for one example."""
    terms = [margin * (q != y) - scores[y] + scores[q] for q in range(len(scores))]
    largest = max(terms)
    return largest + math.log(sum(math.exp(term - largest) for term in terms))


def example_rho(scores, y, margin):
    """Eq. (6) for one example."""
    terms = np.array([margin * (q != y) - scores[y] + scores[q] for q in range(len(scores))])
    powers = np.exp(terms - terms.max())
    return powers / powers.sum()


def residual(S, y, margin):
    """rho - 1[q = y], one row an example."""
    return np.array(
        [
            example_rho(s, label, margin) - np.eye(S.shape[1])[label]
            for s, label in zip(S, y, strict=True)
        ]
    )


def average_loss(S, y, weight, margin):
    losses = np.array([example_loss(s, label, margin) for s, label in zip(S, y, strict=True)])
    return (weight * losses).sum() / weight.sum()


def column_norms(X, R, weight):
    """Eq. (7) for every column of X."""
    norms = []
    for x in X.T:
        norms.append(sum(abs((weight * x * R[:, q]).sum()) for q in range(R.shape[1])))
    return np.array(norms) / weight.sum()


def refit(A, y, weight, k, margin, alpha, intercept):
    """The minimum over all weights of the columns A, and of the intercept if there is one."""
    B = np.hstack([np.ones((len(A), 1)), A]) if intercept else A
    if B.shape[1] == 0:
        return np.zeros((k, 0))
    onehot = np.eye(k)[y]

    def objective(w):
        W = w.reshape(k, -1)
        S = B @ W.T + margin * (1 - onehot)
        S -= S[np.arange(len(y)), y][:, None]
        top = S.max(axis=1, keepdims=True)
        P = np.exp(S - top)
        total = P.sum(axis=1, keepdims=True)
        value = (weight * (top + np.log(total)).ravel()).sum() / weight.sum()
        gradient = (weight[:, None] * (P / total - onehot)).T @ B / weight.sum()
        penalised = W.copy()
        penalised[:, : int(intercept)] = 0
        gradient += 2 * alpha * penalised
        return value + alpha * (penalised**2).sum(), gradient.ravel()

    found = minimize(
        objective,
        np.zeros(k * B.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 0, "gtol": 1e-9, "maxcor": 30},
    )
    return found.x.reshape(k, -1)


def scale_of(X, weight, scale, intercept=True):
    """Deviations are about the mean, or about zero where there is no intercept."""
    if scale == "maxabs":
        return np.abs(X).max(axis=0)
    if scale == "deviation":
        mean = intercept * (weight[:, None] * X).sum(axis=0) / weight.sum()
        return np.sqrt((weight[:, None] * (X - mean) ** 2).sum(axis=0) / weight.sum())
    return np.ones(X.shape[1])


def shareboost(
    X,
    y,
    n_rounds,
    weight=None,
    margin=1.0,
    alpha=0.0,
    intercept=True,
    scale="deviation",
    atoms=None,
):
    """Return the chosen atoms and the average losses after each round.

    An atom is a list of columns of X, chosen by the sum of their norms; by default one column.
    """
    X = np.asarray(X, dtype=float)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    atoms = [[j] for j in range(X.shape[1])] if atoms is None else atoms
    k = y.max() + 1
    # The intercept is the constant column; without one a constant column is like any other.
    useless = X.min(axis=0) == X.max(axis=0) if intercept else (X == 0).all(axis=0)
    Z = X / np.where(useless, 1, scale_of(X, weight, scale, intercept))
    chosen, losses = [], []
    A, W = Z[:, []], refit(Z[:, []], y, weight, k, margin, alpha, intercept)
    for _ in range(n_rounds):
        S = (np.hstack([np.ones((len(y), 1)), A]) if intercept else A) @ W.T
        norms = column_norms(Z, residual(S, y, margin), weight)
        norms[useless] = 0
        sums = np.array([norms[columns].sum() for columns in atoms])
        sums[chosen] = -1
        chosen.append(int(np.argmax(sums)))
        A = Z[:, np.concatenate([atoms[atom] for atom in chosen])]
        W = refit(A, y, weight, k, margin, alpha, intercept)
        S = (np.hstack([np.ones((len(y), 1)), A]) if intercept else A) @ W.T
        losses.append(average_loss(S, y, weight, margin))
    return chosen, np.array(losses)
