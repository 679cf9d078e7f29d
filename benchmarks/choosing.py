"""Which columns to choose: ShareBoost's rules against other selectors at 5, 10, 20, 40 columns.

Every selector sees the standardised training rows; then the same logistic regression, fitted on
the columns it chose, is measured. No test set chooses anything. `--held-out` measures on a third
of the *training* rows instead (mean of 3 splits): it is what defaults may be chosen by.

    pip install abess==0.4.11 fastcan==0.6.0 lightgbm   # no dependencies of this package
    python benchmarks/choosing.py [--held-out] [--only NAME ...] [--data NAME ...]
                                  [--cache FILE] [--again]

Prints Markdown tables of errors and of processor seconds. `--cache` keeps every finished cell
(chosen columns, errors, seconds) in a JSON file, from which a later run takes it unless `--again`;
the tables show all cells of the file. All run on one thread. Needs Isolet, Pendigits and Satimage
(see shareboost.datasets.load_dataset).

The rivals, with their own defaults where nothing is said:

- abess: MultinomialRegression(support_size=s), one run for each number of columns, which starts
  from the s columns that score best alone.
- abess-path: support_size=range(1, s + 1), ic_type="loss", one run for each s. Each size starts
  from the one before and the lowest loss, that of s, is returned: better, and slower.
- fastcan: FastCan(40) on one-hot classes, one run; its order of selection.
- RFE: scikit-learn's, with LogisticRegression(C=1), one column at a time.
- SelectKBest, mutual information: the best columns one by one by scikit-learn's f_classif and
  mutual_info_classif.
- LightGBM: the columns of the largest gain in 100 rounds of boosted trees.

ShareBoost's scale "maxabs" divides the standardised column by its largest distance from the mean.
"""

from __future__ import annotations

import argparse
import json
import os
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.feature_selection import RFE, f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost.datasets import load_dataset
from shareboost.experiments.provenance import stamp
from shareboost.pools import Columns

BUDGETS = (5, 10, 20, 40)
RULES = ("orthogonal", "gradient", "newton", "line_search", "column", "refit")
REPEATS = 3  # of a ShareBoost fit, for the median of its seconds
SEEDS = 3  # of the held-out splits


# --- The data: X_train, X_test, y_train, y_test -------------------------------------------


def products(X):
    i, j = np.triu_indices(X.shape[1], 1)
    return X[:, i].astype(float) * X[:, j]


def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)


def stored(name, change=np.asarray):
    """The data set with its own split, the training rows shuffled: some are sorted by class."""
    data = load_dataset(name)
    order = np.random.default_rng(0).permutation(len(data.y_train))
    X_train = change(data.X_train)[order]
    return X_train, change(data.X_test), data.y_train[order], data.y_test


DATA = {
    "digits": cache(digits),
    "pendigits-products": cache(partial(stored, "pendigits", products)),
    "satimage-products": cache(partial(stored, "satimage", products)),
    "isolet": cache(partial(stored, "isolet")),
}


def splits(name, held_out):
    X_train, X_test, y_train, y_test = DATA[name]()
    if not held_out:
        yield X_train, X_test, y_train, y_test
        return
    for seed in range(SEEDS):
        yield train_test_split(
            X_train, y_train, test_size=1 / 3, stratify=y_train, random_state=seed
        )


def standardised(X_train, X_test):
    """Both by the mean and deviation of the training rows, in float64, less constant columns."""
    varies = np.ptp(X_train, axis=0) > 0
    parts = [np.ascontiguousarray(X[:, varies], dtype=float) for X in (X_train, X_test)]
    scaler = StandardScaler().fit(parts[0])
    return [scaler.transform(X) for X in parts]


# --- The selectors: the columns for each of BUDGETS, and the seconds of each run ----------


def timed(function, *arguments):
    """The result and its processor seconds, which other programs on the machine disturb least."""
    started = process_time()
    result = function(*arguments)
    return result, process_time() - started


def abess(X, y, along_path=False):
    from abess import MultinomialRegression

    def fit(size):
        sizes, by = (range(1, size + 1), "loss") if along_path else (size, "ebic")
        return MultinomialRegression(support_size=sizes, ic_type=by).fit(X, y)

    runs = [timed(fit, size) for size in BUDGETS]
    chosen = [np.flatnonzero(np.any(model.coef_ != 0, axis=1)) for model, _ in runs]
    return chosen, [seconds for _, seconds in runs]


def fastcan(X, y):
    from fastcan import FastCan

    one_hot = (y[:, None] == np.unique(y)).astype(float)
    model, seconds = timed(FastCan(max(BUDGETS), verbose=0).fit, X, one_hot)
    return [model.indices_[:size] for size in BUDGETS], [seconds]


def rfe(X, y):
    one_by_one = RFE(LogisticRegression(C=1.0, max_iter=10_000), n_features_to_select=1, step=1)
    model, seconds = timed(one_by_one.fit, X, y)
    order = np.argsort(model.ranking_)
    return [order[:size] for size in BUDGETS], [seconds]


def by_score(score, X, y):
    scores, seconds = timed(score, X, y)
    order = np.argsort(-scores, kind="stable")
    return [order[:size] for size in BUDGETS], [seconds]


def lightgbm_gain(X, y):
    from lightgbm import LGBMClassifier

    trees = LGBMClassifier(importance_type="gain", n_jobs=1, random_state=0, verbose=-1)
    return trees.fit(X, y).feature_importances_


def shareboost(X, y, **parameters):
    runs = [
        timed(ShareBoostClassifier(max(BUDGETS), **parameters).fit, X, y) for _ in range(REPEATS)
    ]
    clf = runs[0][0]
    chosen = [clf.at(min(size, len(clf.path_))).selected_ for size in BUDGETS]
    return chosen, [median(seconds for _, seconds in runs)]


def ours():
    for rule, swap in product(RULES, (False, True)):
        for scale in ("deviation", "maxabs") if rule == "gradient" else ("deviation",):
            name = rule + "-maxabs" * (scale == "maxabs") + "-swap" * swap
            yield name, partial(shareboost, rule=rule, swap=swap, pool=Columns(scale))


SELECTORS = {
    "abess": abess,
    "abess-path": partial(abess, along_path=True),
    "fastcan": fastcan,
    "RFE": rfe,
    "SelectKBest": partial(by_score, lambda X, y: f_classif(X, y)[0]),
    "mutual-information": partial(by_score, partial(mutual_info_classif, random_state=0)),
    "LightGBM": partial(by_score, lightgbm_gain),
    **dict(ours()),
}


# --- The cells ----------------------------------------------------------------------------


def error(chosen, X_train, X_test, y_train, y_test):
    """Error of the one final classifier on the chosen columns, exact to well below the figures."""
    final = LogisticRegression(C=1.0, tol=1e-6, max_iter=100_000)
    return 1 - final.fit(X_train[:, chosen], y_train).score(X_test[:, chosen], y_test)


def measure(selector, X_train, X_test, y_train, y_test):
    X_train, X_test = standardised(X_train, X_test)
    chosen, seconds = SELECTORS[selector](X_train, y_train)
    return {
        "chosen": [[int(j) for j in columns] for columns in chosen],
        "errors": [error(columns, X_train, X_test, y_train, y_test) for columns in chosen],
        "seconds": seconds,
    }


def load(path):
    return json.loads(path.read_text()) if path and path.exists() else {}


def keep(path, key, cell):
    """Add the cell to what the file holds by now, and replace the file in one step."""
    cells = load(path) | {key: cell}
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(cells))
    beside.replace(path)


def compute(options):
    """Return all cells of the mode, by selector and data set; those asked for are computed."""
    mode = "held-out" if options.held_out else "test"
    cells = load(options.cache)
    for data, selector in product(options.data, options.only):
        key = f"{mode} {selector} {data}"
        if key in cells and not options.again:
            continue
        with threadpool_limits(1):
            cell = [measure(selector, *split) for split in splits(data, options.held_out)]
        cells[key] = cell
        if options.cache:
            keep(options.cache, key, cell)
    return {tuple(key.split()[1:]): cell for key, cell in cells.items() if key.split()[0] == mode}


# --- The tables ---------------------------------------------------------------------------


def present(cells):
    return [name for name in SELECTORS if any((name, data) in cells for data in DATA)]


def row(*entries):
    print(f"| {' | '.join(map(str, entries))} |")


def table_of_errors(cells):
    """Errors in %; the mean and the mean rank are over all cells, of rows that have them all."""
    row("columns chosen by", *DATA, "mean", "mean rank")
    print("|---" * (len(DATA) + 3) + "|")
    found = {
        key: np.mean([part["errors"] for part in cell], axis=0).round(9)
        for key, cell in cells.items()
    }
    whole = [name for name in SELECTORS if all((name, data) in found for data in DATA)]
    grids = [np.ravel([found[name, data] for data in DATA]) for name in whole]
    ranks = dict(zip(whole, rankdata(grids, axis=0), strict=True))
    for name in present(cells):
        lines = [" ".join(f"{100 * e:.1f}" for e in found.get((name, data), ())) for data in DATA]
        summary = ["", ""]
        if name in ranks:
            mean = np.mean([found[name, data] for data in DATA])
            summary = [f"{100 * mean:.2f}", f"{ranks[name].mean():.1f}"]
        row(name, *lines, *summary)


def seconds_of(cell):
    return np.mean([sum(part["seconds"]) for part in cell])


def time_entry(cells, name, data):
    if (name, data) not in cells:
        return ""
    cell = cells[name, data]
    text = f"{seconds_of(cell):.2f}"
    if len(cell[0]["seconds"]) > 1:
        text += f" ({np.mean([part['seconds'][-1] for part in cell]):.2f} for {max(BUDGETS)})"
    without = cells.get((name.removesuffix("-swap"), data))
    if name.endswith("-swap") and without:
        text += f" ({seconds_of(cell) / seconds_of(without):.2f}x)"
    return text


def table_of_seconds(cells):
    """Seconds to select for all budgets; of swaps also the ratio to the same rule without."""
    row("columns chosen by", *DATA)
    print("|---" * (len(DATA) + 1) + "|")
    for name in present(cells):
        row(name, *(time_entry(cells, name, data) for data in DATA))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SELECTORS, default=list(SELECTORS))
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    cells = compute(options)
    where = f"Held-out error (mean of {SEEDS} splits)" if options.held_out else "Test error"
    print(f"{stamp()}.\n")
    print(f"{where} in % with {BUDGETS} columns.\n")
    table_of_errors(cells)
    print(f"\nProcessor seconds to select for all {BUDGETS}, on one thread.\n")
    table_of_seconds(cells)
