"""The evidence for the defaults of stumps, pieces and templates, as Markdown tables.

Every figure is an error on a held-out part of *training* rows; no test set is touched.

    python benchmarks/pool_defaults.py [stumps] [pieces] [templates]
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedShuffleSplit

from paper.provenance import stamp
from shareboost import ShareBoostClassifier
from shareboost.datasets import load_dataset
from shareboost.pools import Pieces, Stumps, Templates


def training_rows(name):
    """The training rows of a data set; of MNIST the first 12,000."""
    if name == "digits":
        return load_digits(return_X_y=True)
    data = load_dataset(name)
    return data.X_train[:12000], data.y_train[:12000]


def held_out_errors(clf, X, y, budgets, n_splits):
    """Mean error in % after each budget of features, and the mean seconds of a fit."""
    errors, seconds = [], []
    splits = StratifiedShuffleSplit(n_splits, test_size=1 / 3, random_state=0)
    for fit, judge in splits.split(X, y):
        started = perf_counter()
        clf.fit(X[fit], y[fit])
        seconds.append(perf_counter() - started)
        last = len(clf.path_)
        models = [clf.at(min(t, last)) for t in budgets]
        errors.append([100 * (1 - model.score(X[judge], y[judge])) for model in models])
    return np.mean(errors, axis=0), np.mean(seconds)


def row(*cells):
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def cell(errors):
    return " ".join(f"{error:.1f}" for error in errors)


def stumps():
    names, budgets = ("digits", "pendigits", "satimage", "isolet", "mnist"), (10, 25, 50, 100)
    row("scale", *names, "mean")
    row(*["---"] * (len(names) + 2))
    for scale in ("none", "root", "deviation"):
        found = []
        for name in names:
            clf = ShareBoostClassifier(max(budgets), pool=Stumps(scale=scale))
            found.append(held_out_errors(clf, *training_rows(name), budgets, n_splits=3)[0])
        row(f"`{scale}`", *map(cell, found), f"{np.mean(found):.2f}")


def pieces():
    X, y = training_rows("mnist")
    X = PCA(50, random_state=0).fit_transform(X / np.float32(255))  # without any label
    budgets = (5, 15, 30, 60)
    row("form, alpha, refit_tol", "error", "seconds")
    row(*["---"] * 3)
    for form, alpha, refit_tol in [
        ("paper", 3e-4, 0.05),
        ("paper", 3e-3, 0.05),
        ("smooth", 3e-5, 0.05),
        ("smooth", 2e-4, 0.05),
        ("smooth", 2e-3, 0.05),
        ("smooth", 2e-4, 0.5),
    ]:
        pool = Pieces(n_centres=300, radii=20, form=form)
        clf = ShareBoostClassifier(
            max(budgets), pool=pool, alpha=alpha, refit_tol=refit_tol, tol=1e-3
        )
        errors, seconds = held_out_errors(clf, X, y, budgets, n_splits=2)
        row(f"`{form}` {alpha:g} {refit_tol:g}", cell(errors), f"{seconds:.0f}")


def templates():
    X, y = training_rows("mnist")
    budgets = (20, 40, 75, 150)
    row("scale, alpha, sigma", "error", "seconds")
    row(*["---"] * 3)
    for scale, alpha, sigma in [
        ("none", 3e-5, 6),
        ("none", 1e-4, 6),
        ("root", 3e-5, 6),
        ("root", 1e-4, 6),
        ("root", 3e-4, 6),
        ("deviation", 1e-4, 6),
        ("root", 1e-4, 3),
        ("root", 1e-4, 12),
    ]:
        pool = Templates(n_templates=300, n_patches=60_000, sigma=sigma, scale=scale)
        clf = ShareBoostClassifier(max(budgets), pool=pool, alpha=alpha)
        errors, seconds = held_out_errors(clf, X, y, budgets, n_splits=2)
        row(f"`{scale}` {alpha:g} {sigma:g}", cell(errors), f"{seconds:.0f}")


if __name__ == "__main__":
    tables = {"stumps": stumps, "pieces": pieces, "templates": templates}
    print(f"{stamp()}.")
    for name in sys.argv[1:] or tables:
        print(f"\n{name}\n")
        tables[name]()
