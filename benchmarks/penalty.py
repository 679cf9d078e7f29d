"""The weight of the penalty: constants, and weights that grow with the model.

Every figure is measured on a held-out part of *training* rows, or of data that has no test rows;
no test set is touched. Prints two tables as Markdown: held-out errors and log losses with 5, 10, 20
and 50 features on thirteen problems, mean of two splits.

    python benchmarks/penalty.py [--repeats 2] [--jobs 1]

Needs the data sets of shareboost.datasets.load_dataset, and zeisel.npz and citeseq.npz (single
cells, compressed sparse rows) in $SHAREBOOST_DATA.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from defaults import data_sets
from joblib import Parallel, delayed
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from shareboost import ShareBoostClassifier, refit
from shareboost.experiments.provenance import stamp

BUDGETS = (5, 10, 20, 50)
# The rule, and alpha: a number, or the constant of alpha="auto".
SETTINGS = [
    ("gradient", 3e-5, None),
    ("gradient", "auto", 0.005),
    ("orthogonal", 3e-5, None),
    ("orthogonal", 1e-3, None),
    ("orthogonal", "auto", 0.002),
    ("orthogonal", "auto", 0.005),
    ("orthogonal", "auto", 0.01),
    ("orthogonal", "auto", 0.02),
]
# The problems that the means of "nine" are over.
NINE = {
    "digits",
    "wine",
    "breast cancer",
    "pendigits products",
    "satimage products",
    "isolet",
    "7 cell types",
    "47 cell subtypes",
    "13 blood cell types",
}


def cells(name, labels):
    """Log counts of genes, and the types of cells that at least ten cells have."""
    data = np.load(Path(os.environ["SHAREBOOST_DATA"]) / f"{name}.npz")
    parts = data["data"].astype(np.float32), data["indices"].astype(np.int32), data["indptr"]
    X, y = sp.csr_array(parts, shape=tuple(data["shape"])), data[labels]
    if name == "citeseq":  # raw counts
        X = sp.csr_array(X.multiply(1e4 / X.sum(axis=1)[:, None]).astype(np.float32))
        X.data = np.log1p(X.data)
    types, counts = np.unique(y, return_counts=True)
    common = np.isin(y, types[counts >= 10])
    return X[common], y[common]


def problems():
    yield from data_sets()
    yield "iris", *load_iris(return_X_y=True)
    yield "7 cell types", *cells("zeisel", "cell_type")
    yield "47 cell subtypes", *cells("zeisel", "cell_subtype")
    yield "13 blood cell types", *cells("citeseq", "cell_type")


def measure(setting, X, y, repeats):
    """Return held-out errors and log losses, (repeats, budgets, 2)."""
    rule, alpha, constant = setting
    budgets = [n for n in BUDGETS if n <= X.shape[1]] or [X.shape[1]]
    clf = ShareBoostClassifier(max(budgets), rule=rule, alpha=alpha)
    found = []
    for seed in range(repeats):
        X_fit, X_held, y_fit, y_held = train_test_split(
            X, y, test_size=0.3, stratify=y, random_state=seed
        )
        with patch.object(refit, "AUTO_ALPHA", constant):
            clf.fit(X_fit, y_fit)
        models = [clf.at(min(n, len(clf.path_))) for n in budgets]
        found.append(
            [
                (1 - m.score(X_held, y_held), log_loss(y_held, m.predict_proba(X_held)))
                for m in models
            ]
        )
    return np.array(found)


def row(*entries):
    print(f"| {' | '.join(map(str, entries))} |")


def table(names, cells, place, digits):
    """Print one measure, 0 for errors in % and 1 for log losses."""
    row("rule, alpha", *names, "mean of nine", "mean of all")
    print("|---" * (len(names) + 3) + "|")
    for setting in SETTINGS:
        rule, alpha, constant = setting
        found = [cells[setting, name][:, :, place].mean(axis=0) for name in names]
        found = [values * (100 if place == 0 else 1) for values in found]
        nine = np.concatenate([v for n, v in zip(names, found, strict=True) if n in NINE])
        row(
            f"{rule}, {alpha if constant is None else f'{constant:g} k t / m'}",
            *(" ".join(f"{value:.{digits}f}" for value in values) for values in found),
            f"{nine.mean():.{digits + 1}f}",
            f"{np.concatenate(found).mean():.{digits + 1}f}",
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    given = list(problems())
    asked = [(setting, *problem) for problem in given for setting in SETTINGS]
    found = Parallel(options.jobs)(
        delayed(measure)(setting, X, y, options.repeats) for setting, _, X, y in asked
    )
    cells_of = {(s, name): values for (s, name, *_), values in zip(asked, found, strict=True)}
    names = [name for name, *_ in given]
    print(f"{stamp()}.\n\nHeld-out error in %.\n")
    table(names, cells_of, 0, 1)
    print("\nHeld-out log loss.\n")
    table(names, cells_of, 1, 2)
