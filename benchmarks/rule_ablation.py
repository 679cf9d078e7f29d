"""What each part of the rule "orthogonal" is for: the rule with one part changed at a time.

Errors on held-out *training* rows, or on data that have no test rows, as in penalty.py; no test set
is touched. The changes that the package does not have are made here, in plain NumPy.

    python benchmarks/rule_ablation.py [--repeats 3] [--only SETTING ...] [--data PROBLEM ...]
                                       [--cache FILE]

- shortlist: how many columns are compared; "all" is as many as there is room for (256 columns, the
  chosen ones included).
- sum of squares: columns are compared by what a full refit would gain in the quadratic model, half
  the sum over classes of g^2 / s, instead of by the sum of |g| / sqrt(s).
- one matrix for all classes: the Gram matrix times each class's mean curvature.
- float32: all products of columns are computed in float32.
- full Hessian: the second derivatives between classes are not left out, which takes some k times
  the work; for problems of at most ten classes. With S the matrix of classes by classes, columns
  are compared by half of g' S^-1 g (gain), or by the sum of the sizes of S^-1/2 g.

Prints as Markdown the mean error of each problem over its numbers of features, and by how much the
change is behind the default, with the standard error over splits. `--cache` keeps what is measured
in a JSON file, from which a later run takes it; its table shows all of the file.
"""

from __future__ import annotations

import argparse
import json
import warnings
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from penalty import MANY, SMALL, judged, problems, row
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from paper.provenance import stamp
from shareboost import ShareBoostClassifier
from shareboost.selection import rules, second_order

QUICK = (
    "isolet",
    "pendigits products",
    "satimage products",
    "digits",
    "wine",
    "breast cancer",
    "7 cell types",
    "47 cell subtypes",
)
MOST_CLASSES = 10  # for the full Hessian
SPANNED = 1e-9  # share of a column that is taken for rounding


# --- The changes --------------------------------------------------------------------------


def squares(model):
    """Return half the sum over classes of g^2 / s of every candidate, each of one column."""
    own = np.arange(len(model.atoms))[:, None]
    free = model._free(own)[0][:, :, 0]
    s, g = model.curvature(own)[:, :, 0, 0], model.g
    return (0.5 * np.where(free, g**2 / np.where(free, s, 1.0), 0.0).sum(axis=0)).tolist()


def columns_of(X, rows, atoms):
    """Return the chosen columns and the candidates in training units, in float64."""
    scales = [rows.pool.scales(atom)[0] for atom in atoms]
    C = np.array([X[:, atom] / scale for atom, scale in zip(atoms, scales, strict=True)]).T
    C = C - C.mean(axis=0)
    A = [(X[:, c.atom] - c.centers[0]) / c.scales[0] for c in rows.chosen]
    return np.column_stack([np.ones(len(X)), *A]), C


def probabilities(A, W):
    scores = A @ W.T
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def begin(X, y, rows, refit, W, atoms):
    W, slope, ridge, own_ridge = second_order._at(rows, refit, W)
    A, C = columns_of(X, rows, atoms)
    p = probabilities(A, W)
    slopes = (p - (y[:, None] == np.unique(y))).T @ C / len(y)
    return W, slope, ridge, own_ridge, A, C, p, slopes


def one_matrix(X, y, rows, refit, W, atoms, _):
    """Return the quadratic model with one matrix for all classes."""
    W, slope, ridge, own_ridge, A, C, p, slopes = begin(X, y, rows, refit, W, atoms)
    mean = (p * (1.0 - p)).mean(axis=0)
    unit = np.sqrt(mean)[:, None]
    return second_order.SecondOrder(
        W * unit,
        unit,
        slope / unit,
        (A.T @ A / len(y))[None],
        ridge / mean.mean(),
        tuple(atoms),
        np.ones(len(atoms), dtype=int),
        (C.T @ A / len(y))[None],
        (C**2).mean(axis=0)[None, :, None],
        own_ridge / mean.mean(),
        slopes / unit,
        float(np.finfo(rows.pool.dtype_).eps),
    )


def in_float32(X, y, rows, refit, W, atoms, centers):
    """Return the quadratic model, its products of columns computed in float32."""
    exact = second_order.by_class(rows, refit, W, atoms, centers)
    *_, A, C, p, _ = begin(X, y, rows, refit, W, atoms)
    A, C, D = (part.astype(np.float32) for part in (A, C, p * (1.0 - p) / len(y)))
    weighted = [D[:, q, None] * A for q in range(D.shape[1])]
    return replace(
        exact,
        chosen=np.array([A.T @ part for part in weighted], dtype=float),
        across=np.array([C.T @ part for part in weighted], dtype=float),
        squares=(D.T @ C**2).astype(float)[:, :, None],
        rounding=float(np.finfo(np.float32).eps),
    )


@dataclass(frozen=True)
class Coupled:
    """The quadratic model with all second derivatives."""

    atoms: tuple[int, ...]
    found: list[float]

    def scores(self):
        return self.found


def full_hessian(by_gain, X, y, rows, refit, W, atoms, _):
    _, slope, ridge, own_ridge, A, C, p, slopes = begin(X, y, rows, refit, W, atoms)
    (m, n), k, c = A.shape, p.shape[1], C.shape[1]
    H, U, S = np.empty((k, n, k, n)), np.empty((c, k, k, n)), np.empty((c, k, k))
    both = np.hstack([A, C])
    for q in range(k):
        for r in range(q, k):
            d = p[:, q] * ((q == r) - p[:, r]) / m
            products = (d[:, None] * A).T @ both
            H[q, :, r] = H[r, :, q] = products[:, :n]
            U[:, q, r] = U[:, r, q] = products[:, n:].T
            S[:, q, r] = S[:, r, q] = d @ C**2
    H = H.reshape(k * n, k * n)
    # The same weight for all classes changes nothing: there H is 0 but for the penalty.
    H += np.diag(np.tile(ridge, k) + 1e-10 * np.trace(H) / (k * n))
    U = U.reshape(c, k, k * n)
    explained = np.linalg.solve(H, U.reshape(c * k, k * n).T).T.reshape(c, k, k * n)
    g = slopes.T - explained @ slope.ravel()  # (c, k)
    left = S - explained @ U.swapaxes(1, 2)
    spanned = np.einsum("cqq->c", left) <= SPANNED * np.einsum("cqq->c", S)
    values, vectors = np.linalg.eigh(left + own_ridge * np.eye(k))
    free = values > 1e-6 * values[:, -1:]
    along = np.einsum("cqi,cq->ci", vectors, g)
    along = np.where(free, along / np.sqrt(np.where(free, values, 1.0)), 0.0)
    if by_gain:
        found = 0.5 * (along**2).sum(axis=1)
    else:
        found = abs(np.einsum("cqi,ci->cq", vectors, along)).sum(axis=1)
    return Coupled(tuple(atoms), np.where(spanned, 0.0, found).tolist())


def change_of(name, X, y):
    """Return the context in which fits have the change, or None if there is none to these rows."""
    if name == "sum of squares":
        return patch.object(second_order.SecondOrder, "scores", squares)
    models = {
        "one matrix for all classes": one_matrix,
        "float32": in_float32,
        "full Hessian, gain": partial(full_hessian, True),
        "full Hessian, sizes": partial(full_hessian, False),
    }
    if name not in models:
        return nullcontext()
    if name.startswith("full") and len(np.unique(y)) > MOST_CLASSES:
        return None
    dense = np.asarray(X.todense() if sp.issparse(X) else X, dtype=float)
    return patch.object(rules, "by_class", partial(models[name], dense, y))


SETTINGS = {
    "the default": {},
    "gradient": {"rule": "gradient"},
    **{f"shortlist {n}": {"shortlist": n} for n in (10, 25, 50)},
    "shortlist all": {"shortlist": None},
    "sum of squares": {},
    "one matrix for all classes": {},
    "float32": {},
    "full Hessian, gain": {},
    "full Hessian, sizes": {},
}


# --- The runs and the table ---------------------------------------------------------------


@threadpool_limits.wrap(limits=1)
def measure(setting, problem, seed):
    """Return the mean error and log loss over numbers of features and the seconds, or None."""
    _, X, y, pool, budgets, held_out = problem
    X_fit, X_held, y_fit, y_held = train_test_split(
        X, y, test_size=held_out, stratify=y, random_state=seed
    )
    change = change_of(setting, X_fit, y_fit)
    if change is None:
        return None
    started = process_time()
    with ExitStack() as stack:
        stack.enter_context(change)
        clf = ShareBoostClassifier(max(budgets), pool=pool, **SETTINGS[setting])
        clf.fit(X_fit, y_fit)
    seconds = process_time() - started
    found = [
        judged(clf.at(min(t, len(clf.path_))).predict_proba(X_held), y_held, clf.classes_)
        for t in budgets
    ]
    return [*np.mean(found, axis=0).tolist(), seconds]


def table(found, names):
    row("rule", *names, "points behind the default", "log loss behind it", "seconds")
    print("|---" * (len(names) + 4) + "|")
    for setting in SETTINGS:
        known = [name for name in names if (setting, name) in found]
        if not known:
            continue
        gaps, errors = [], []
        for name in known:
            gap = found[setting, name] - found["the default", name]
            gaps.append(gap.mean(axis=0))
            errors.append(gap.std(axis=0, ddof=1) / np.sqrt(len(gap)))
        mean, error = np.mean(gaps, axis=0), np.sqrt((np.array(errors) ** 2).sum(0)) / len(known)
        row(
            setting,
            *(
                f"{100 * found[setting, name][:, 0].mean():.1f}" if name in known else ""
                for name in names
            ),
            "" if setting == "the default" else f"{100 * mean[0]:+.2f} ± {100 * error[0]:.2f}",
            "" if setting == "the default" else f"{mean[1]:+.4f} ± {error[1]:.4f}",
            f"{sum(found[setting, name][:, 2].mean() for name in known):.1f}",
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--data", nargs="+", choices=QUICK, default=QUICK)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    known = (
        json.loads(options.cache.read_text()) if options.cache and options.cache.exists() else {}
    )
    found = {}
    for problem in problems():
        for setting in SETTINGS:
            repeats = MANY if problem[1].shape[0] < SMALL else options.repeats
            key = f"{setting}, {problem[0]}, {repeats}"
            asked = problem[0] in options.data and setting in ["the default", *options.only]
            if key not in known and asked:
                known[key] = [measure(setting, problem, seed) for seed in range(repeats)]
                if options.cache:
                    options.cache.write_text(json.dumps(known))
            if None not in known.get(key, [None]):
                found[setting, problem[0]] = np.array(known[key])
    print(f"{stamp()}.\n")
    table(found, [name for name in QUICK if ("the default", name) in found])
