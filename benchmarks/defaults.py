"""Which scale, penalty weight and greedy rule, and how exact a refit: the defaults' evidence.

Every figure is an error on a held-out part of *training* rows; no test set is touched.
Prints a table for the scale and alpha, one for refit_tol, and one for the rule, with swaps and
without, as Markdown.

    python benchmarks/defaults.py [--repeats 3] [--tables alpha refit_tol rule] [--jobs 1]
"""

from __future__ import annotations

import argparse
from itertools import product
from time import process_time

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

from paper.provenance import stamp
from shareboost import ShareBoostClassifier
from shareboost.datasets import load_dataset
from shareboost.pools import Columns

BUDGETS = (5, 10, 20, 40)
SCALES = ("deviation", "maxabs")
ALPHAS = (0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2)
REFIT_TOLS = (0.01, 0.05, 0.1, 0.2, 0.5)


def products(X):
    i, j = np.triu_indices(X.shape[1], 1)
    return X[:, i].astype(float) * X[:, j]


def word_counts(n_classes=20, n_words=2000, n_rows=4000, seed=0):
    """Documents: Zipf's word frequencies, 30 words a class made commoner, uneven lengths."""
    random = np.random.default_rng(seed)
    base = 1.0 / np.arange(1, n_words + 1)
    y = np.arange(n_rows) % n_classes
    rate = np.tile(base / base.sum(), (n_classes, 1))
    for q in range(n_classes):
        rate[q, random.choice(n_words, 30, replace=False)] *= 6.0
    length = random.lognormal(5.0, 1.0, size=n_rows)
    # Words come in bursts, so that counts have heavy tails.
    burst = random.gamma(0.3, 1 / 0.3, size=(n_rows, n_words))
    return sp.csr_array(random.poisson(length[:, None] * rate[y] * burst)), y


def data_sets():
    rng = np.random.default_rng(0)
    isolet, pendigits, satimage = map(load_dataset, ("isolet", "pendigits", "satimage"))
    yield "isolet", isolet.X_train, isolet.y_train
    yield "pendigits products", products(pendigits.X_train), pendigits.y_train
    yield "satimage products", products(satimage.X_train), satimage.y_train
    for name in ("mnist", "chars"):
        data = load_dataset(name)
        rows = rng.choice(len(data.y_train), 6000, replace=False)
        yield f"{name} pixels", data.X_train[rows], data.y_train[rows]
    yield "digits", *load_digits(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "word counts", *word_counts()


def errors(clf, X, y, repeats):
    """Return mean held-out errors at BUDGETS and the mean processor seconds of a fit."""
    found, seconds = [], []
    for seed in range(repeats):
        parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
        started = process_time()
        clf.fit(parts[0], parts[2])
        seconds.append(process_time() - started)
        staged = [(guess != parts[3]).mean() for guess in clf.staged_predict(parts[1])]
        found.append([staged[min(t, len(staged)) - 1] for t in BUDGETS])
    return np.mean(found, axis=0), np.mean(seconds)


def alpha_setting(scale, alpha):
    return {"rule": "gradient", "pool": Columns(scale), "alpha": alpha}


def rule_setting(rule, swap):
    return {"rule": rule, "swap": swap == "swap"}


# The settings that each table compares, what they are called, and the parameters of one.
TABLES = {
    "alpha": (list(product(SCALES, ALPHAS)), "scale, alpha", alpha_setting),
    "refit_tol": (
        [(tol,) for tol in REFIT_TOLS],
        "refit_tol",
        lambda tol: {"rule": "gradient", "alpha": 3e-5, "refit_tol": tol},
    ),
    "rule": (
        list(product(("orthogonal", "gradient", "newton"), ("no swap", "swap"))),
        "rule, swap",
        rule_setting,
    ),
}


def table(settings, label, make, repeats, jobs):
    problems = list(data_sets())
    names = [name for name, _, _ in problems]
    found = Parallel(n_jobs=jobs)(
        delayed(errors)(ShareBoostClassifier(max(BUDGETS), **make(*setting)), X, y, repeats)
        for setting in settings
        for _, X, y in problems
    )
    per_setting = [found[i : i + len(names)] for i in range(0, len(found), len(names))]
    rows = dict(zip(settings, per_setting, strict=True))
    print(f"| {label} | " + " | ".join(names) + " | mean | mean rank | seconds |")
    print("|---" * (len(names) + 4) + "|")
    cube = np.array([[error for error, _ in rows[setting]] for setting in settings])
    ranks = rankdata(cube.reshape(len(settings), -1), axis=0).mean(axis=1)
    for setting, grid, rank in zip(settings, cube, ranks, strict=True):
        cells = [" ".join(f"{100 * e:.1f}" for e in line) for line in grid]
        seconds = sum(s for _, s in rows[setting])
        head = " ".join(map(str, setting))
        summary = [f"{100 * grid.mean():.2f}", f"{rank:.1f}", f"{seconds:.1f}"]
        print(f"| {' | '.join([head, *cells, *summary])} |")
    print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print(f"{stamp()}.\n")
    print(f"Held-out error in % at {BUDGETS} features, mean of {options.repeats} splits.\n")
    for name in options.tables:
        table(*TABLES[name], options.repeats, options.jobs)
