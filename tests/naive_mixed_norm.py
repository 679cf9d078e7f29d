"""Eq. (5) of the paper by a general convex solver, and the conditions of its minimum.

Truth for the tests of ``MixedNormClassifier``: on all columns at once, written out.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from naive import residual


def minimum(Z, y, weight, norm, alpha, margin=1.0, intercept=True):
    """Return W, (k, d), the intercepts, (k,), and the objective."""
    n, d = Z.shape
    k = y.max() + 1
    W, b = cp.Variable((k, d)), cp.Variable(k)
    wrong = 1.0 - np.eye(k)[y]
    scores = Z @ W.T + np.ones((n, 1)) @ cp.reshape(b, (1, k), order="C")
    own = cp.sum(cp.multiply(1.0 - wrong, scores), axis=1)
    losses = cp.log_sum_exp(scores + margin * wrong, axis=1) - own
    size = {
        "linf1": lambda: cp.sum(cp.max(cp.abs(W), axis=0)),
        "l21": lambda: cp.sum(cp.norm(W, 2, axis=0)),
    }[norm]()
    objective = weight @ losses / weight.sum() + alpha * size
    problem = cp.Problem(cp.Minimize(objective), [] if intercept else [b == 0])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return W.value, b.value, problem.value


def objective(Z, y, weight, W, b, norm, alpha, margin=1.0):
    """Return the value of eq. (5), from its definition."""
    S = Z @ W.T + b + margin * (1.0 - np.eye(W.shape[0])[y])
    losses = np.logaddexp.reduce(S, axis=1) - S[np.arange(len(y)), y]
    sizes = np.abs(W).max(axis=0) if norm == "linf1" else np.linalg.norm(W, axis=0)
    return np.average(losses, weights=weight) + alpha * sizes.sum()


def violation(Z, y, weight, W, b, norm, alpha, margin=1.0, groups=None, intercept=True):
    """Return by how much W misses the conditions of a minimum, column by column.

    ``-g = alpha * s`` for a subgradient s of the norm at the column's weights w: for w = 0
    any s of a dual norm of at most 1; else ``w / |w|``, or for the largest magnitude any
    s that is 0 off the largest entries, has their signs, and magnitudes that sum to 1.
    """
    S = Z @ W.T + b
    R = residual(S, y, margin) * weight[:, None] / weight.sum()
    groups = np.arange(Z.shape[1]) if groups is None else np.asarray(groups)
    alphas = np.broadcast_to(alpha, groups.max() + 1)
    worst = np.abs(R.sum(axis=0)).max() if intercept else 0.0
    for j in range(groups.max() + 1):
        w, g = W[:, groups == j].ravel(), (R.T @ Z[:, groups == j]).ravel()
        if (w == 0).all():
            dual = np.abs(g).sum() if norm == "linf1" else np.linalg.norm(g)
            missed = max(0.0, dual - alphas[j])
        elif norm == "l21":
            missed = np.abs(g + alphas[j] * w / np.linalg.norm(w)).max()
        else:
            # Weights in the user's units are equal only to rounding.
            top = np.abs(w) >= np.abs(w).max() * (1 - 1e-9)
            pull = -g * np.sign(w)
            missed = max(
                np.abs(g[~top]).max(initial=0.0),
                max(0.0, -pull[top].min()),
                abs(pull[top].sum() - alphas[j]),
            )
        worst = max(worst, missed)
    return worst


def scaled(X, weight, centred=True):
    """The columns in training units, their centres and scales."""
    center = np.average(X, axis=0, weights=weight) if centred else np.zeros(X.shape[1])
    scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weight))
    return (X - center) / scale, center, scale


def in_training_units(model, center, scale):
    """W, (k, d), and the intercepts of a model of columns, for scaled and centred columns."""
    W = np.zeros((model.weights.shape[0], center.size))
    W[:, model.features.ids] = model.weights
    return W * scale, model.intercept + W @ center


def worst_on_path(clf, X, y, weight=None, centred=True):
    """The largest violation of any step, by the definition."""
    weight = np.ones(len(y)) if weight is None else weight
    Z, *units = scaled(X, weight, centred)
    found = []
    for step in clf.path_:
        W, b = in_training_units(clf.path_.model(step), *units)
        alpha = step.details["alpha"]
        found.append(violation(Z, y, weight, W, b, clf.norm, alpha, clf.margin, intercept=centred))
    return max(found)
