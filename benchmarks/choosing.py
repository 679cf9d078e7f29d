"""Which columns to choose: ShareBoost's rules against other selectors.

Every selector sees the standardised training rows; then the same logistic regression, whose C
cross-validation on the training rows has chosen, is fitted on the columns it chose and measured.
No test set chooses anything. `--held-out` measures on a third of the *training* rows instead (mean
of 3 splits): it is what defaults may be chosen by.

    pip install abess==0.4.11 fastcan==0.6.0 lightgbm mrmr_selection  # not required otherwise
    python benchmarks/choosing.py [--held-out] [--only NAME ...] [--data NAME ...]
                                  [--cache FILE] [--again] [--limit MINUTES]
    python benchmarks/choosing.py --ratios [--turns 5]

Prints Markdown tables of errors, log losses and processor seconds. `--cache` keeps every finished
cell (chosen columns, errors, seconds) in a JSON file, from which a later run takes it unless
`--again`; the tables show all cells of the file. A cell that takes more processor minutes than
`--limit` is given up, and the tables say so. All run on one thread. `--ratios` only times
ShareBoost's rules: one fit of each in turn, as often as `--turns` says.

Digits, Pendigits, Satimage and Isolet (see shareboost.datasets.load_dataset) have one test set
each; of iris, wine and breast cancer 30% of the rows are the test rows, twenty times.

The rivals, with their own defaults where nothing is said:

- abess: MultinomialRegression(support_size=s), one run for each number of columns, which starts
  from the s columns that score best alone.
- abess-path: support_size=range(1, s + 1), ic_type="loss", one run for each s. Each size starts
  from the one before and the lowest loss, that of s, is returned: better, and slower.
- fastcan: FastCan(40) on one-hot classes, one run; its order of selection.
- RFE: scikit-learn's, with LogisticRegression(C=1), one column at a time.
- RFECV: the same with a tenth of the columns at a time and three folds, which choose how many
  columns to keep; compared with ShareBoost at that number.
- SFS: scikit-learn's SequentialFeatureSelector, forward, by the accuracy of RidgeClassifier in
  three folds, one run for each number of columns.
- SelectKBest, mutual information: the best columns one by one by scikit-learn's f_classif and
  mutual_info_classif.
- mRMR: mrmr_classif of mrmr_selection, F-test over mean correlation.
- LightGBM: the columns of the largest gain in 100 rounds of boosted trees.
- group lasso: MixedNormClassifier("l21", margin=0) of this package, one path for each number.

ShareBoost's scale "maxabs" divides the standardised column by its largest distance from the mean.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import warnings
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SequentialFeatureSelector,
    f_classif,
    mutual_info_classif,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from paper.provenance import stamp
from shareboost import ShareBoostClassifier
from shareboost.datasets import load_dataset
from shareboost.pools import Columns
from shareboost.rivals import MixedNormClassifier

BUDGETS = {"iris": (1, 2, 3), "wine": (2, 5, 10), "breast-cancer": (2, 5, 10, 20)}
LARGE = (5, 10, 20, 40)  # of all others
RULES = ("orthogonal", "gradient", "newton", "line_search", "column", "refit")
REPEATS = 3  # of a quick ShareBoost fit, for the median of its seconds
SEEDS = 3  # of the held-out splits
TEST_SEEDS = 20  # of data without a test set


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
SMALL = {"iris": load_iris, "wine": load_wine, "breast-cancer": load_breast_cancer}
NAMES = [*DATA, *SMALL]


def budgets_of(name):
    return BUDGETS.get(name, LARGE)


def splits(name, held_out):
    if name in SMALL:
        X, y = SMALL[name](return_X_y=True)
        for seed in range(TEST_SEEDS):
            yield train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
        return
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


# --- The selectors: the columns for each number of them, and the seconds of each run ------


def timed(function, *arguments):
    """The result and its processor seconds, which other programs on the machine disturb least."""
    started = process_time()
    result = function(*arguments)
    return result, process_time() - started


def one_by_one(select, X, y, budgets):
    """Of a selector that runs for each number of columns."""
    runs = [timed(select, X, y, size) for size in budgets]
    return [chosen for chosen, _ in runs], [seconds for _, seconds in runs]


def in_order(order, X, y, budgets):
    """Of a selector whose one run gives an order of the columns."""
    found, seconds = timed(order, X, y, max(budgets))
    return [found[:size] for size in budgets], [seconds]


def abess(X, y, size, along_path=False):
    from abess import MultinomialRegression

    sizes, by = (range(1, size + 1), "loss") if along_path else (size, "ebic")
    model = MultinomialRegression(support_size=sizes, ic_type=by).fit(X, y)
    return np.flatnonzero(np.any(model.coef_ != 0, axis=1))


def sequential(X, y, size):
    if size == X.shape[1]:
        return np.arange(size)
    search = SequentialFeatureSelector(RidgeClassifier(), n_features_to_select=size, cv=3)
    return search.fit(X, y).get_support(indices=True)


def group_lasso(X, y, size):
    clf = MixedNormClassifier("l21", margin=0.0, n_features=size, path_ratio=1e-3, tol=1e-5)
    return clf.fit(X, y).selected_


def fastcan(X, y, most):
    from fastcan import FastCan

    one_hot = (y[:, None] == np.unique(y)).astype(float)
    return FastCan(most, verbose=0).fit(X, one_hot).indices_


def rfe(X, y, most):
    removing = RFE(LogisticRegression(C=1.0, max_iter=10_000), n_features_to_select=1, step=1)
    return np.argsort(removing.fit(X, y).ranking_)


def mrmr(X, y, most):
    import pandas as pd
    from mrmr import mrmr_classif

    frame = pd.DataFrame(X)
    return mrmr_classif(frame, pd.Series(y), K=most, n_jobs=1, show_progress=False)


def by_score(score, X, y, most):
    return np.argsort(-score(X, y), kind="stable")


def lightgbm_gain(X, y):
    from lightgbm import LGBMClassifier

    trees = LGBMClassifier(importance_type="gain", n_jobs=1, random_state=0, verbose=-1)
    return trees.fit(X, y).feature_importances_


def shareboost(X, y, budgets, **parameters):
    fit = ShareBoostClassifier(max(budgets), **parameters).fit
    runs = [timed(fit, X, y)]
    while len(runs) < REPEATS and runs[0][1] < 5.0:
        runs.append(timed(fit, X, y))
    clf = runs[0][0]
    chosen = [clf.at(min(size, len(clf.path_))).selected_ for size in budgets]
    return chosen, [median(seconds for _, seconds in runs)]


def ours():
    for rule, swap in product(RULES, (False, True)):
        for scale in ("deviation", "maxabs") if rule == "gradient" else ("deviation",):
            name = rule + "-maxabs" * (scale == "maxabs") + "-swap" * swap
            yield name, partial(shareboost, rule=rule, swap=swap, pool=Columns(scale))


SELECTORS = {
    "abess": partial(one_by_one, abess),
    "abess-path": partial(one_by_one, partial(abess, along_path=True)),
    "fastcan": partial(in_order, fastcan),
    "RFE": partial(in_order, rfe),
    "SFS": partial(one_by_one, sequential),
    "SelectKBest": partial(in_order, partial(by_score, lambda X, y: f_classif(X, y)[0])),
    "mutual-information": partial(
        in_order, partial(by_score, partial(mutual_info_classif, random_state=0))
    ),
    "mRMR": partial(in_order, mrmr),
    "LightGBM": partial(in_order, partial(by_score, lightgbm_gain)),
    "group-lasso": partial(one_by_one, group_lasso),
    **dict(ours()),
}
OWN_NUMBER = "RFECV"  # a selector that chooses how many columns there are


def rfecv(X, y):
    search = RFECV(LogisticRegression(C=1.0, max_iter=1000), step=0.1, cv=3)
    return search.fit(X, y).get_support(indices=True)


# --- The cells ----------------------------------------------------------------------------


def judged(chosen, X_train, X_test, y_train, y_test):
    """Error and log loss of the final classifier on the chosen columns; its error with C=1."""
    A, B = X_train[:, chosen], X_test[:, chosen]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    final = LogisticRegression(tol=1e-4, max_iter=10_000)
    grid = {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}
    tuned = GridSearchCV(final, grid, scoring="neg_log_loss", cv=folds).fit(A, y_train)
    fixed = LogisticRegression(C=1.0, tol=1e-6, max_iter=100_000).fit(A, y_train)
    p = tuned.predict_proba(B)
    wrong = tuned.classes_[p.argmax(axis=1)] != y_test
    return {
        "errors": float(wrong.mean()),
        "log_losses": float(log_loss(y_test, p, labels=tuned.classes_)),
        "fixed_errors": float(1 - fixed.score(B, y_test)),
        "wrong": np.flatnonzero(wrong).tolist(),
    }


def measure(selector, budgets, X_train, X_test, y_train, y_test):
    X_train, X_test = standardised(X_train, X_test)
    if selector == OWN_NUMBER:
        columns, seconds = timed(rfecv, X_train, y_train)
        budgets = [len(columns)]
        rival = shareboost(X_train, y_train, budgets)
        chosen, seconds = [columns, *rival[0]], [seconds, *rival[1]]
    else:
        chosen, seconds = SELECTORS[selector](X_train, y_train, budgets)
    found = [judged(list(columns), X_train, X_test, y_train, y_test) for columns in chosen]
    return {
        "chosen": [[int(j) for j in columns] for columns in chosen],
        **{key: [one[key] for one in found] for key in found[0]},
        "tested": len(y_test),
        "seconds": seconds,
    }


class TooLongError(BaseException):  # which a search for parameters does not take for a bad fit
    """The processor minutes of a cell are over."""


def limited(minutes, function, *arguments):
    """Return the result, or that it took more than so many processor minutes."""

    def stop(*_):
        raise TooLongError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, 60.0 * minutes)
    try:
        return function(*arguments)
    except TooLongError:
        return {"more than minutes": minutes}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def cell_of(selector, data, held_out):
    return [measure(selector, budgets_of(data), *split) for split in splits(data, held_out)]


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
    warnings.filterwarnings("ignore")
    cells = load(options.cache)
    for data, selector in product(options.data, options.only):
        key = f"{mode} {selector} {data}"
        if key in cells and not options.again:
            continue
        with threadpool_limits(1):
            cell = limited(options.limit, cell_of, selector, data, options.held_out)
        cells[key] = cell
        if options.cache:
            keep(options.cache, key, cell)
    return {tuple(key.split()[1:]): cell for key, cell in cells.items() if key.split()[0] == mode}


# --- The tables ---------------------------------------------------------------------------


def present(cells):
    return [name for name in SELECTORS if any((name, data) in cells for data in NAMES)]


def row(*entries):
    print(f"| {' | '.join(map(str, entries))} |")


def finished(cells):
    """The cells that were not given up, of selectors for a given number of columns."""
    return {
        pair: cell
        for pair, cell in cells.items()
        if isinstance(cell, list) and pair[0] != OWN_NUMBER
    }


def means_of(cells, key):
    return {
        pair: np.mean([part[key] for part in cell], axis=0).round(9)
        for pair, cell in finished(cells).items()
    }


def given_up(cells, name, data):
    """What a table says of a cell that is not there."""
    if (name, data) not in cells:
        return "not run"
    minutes = cells[name, data]["more than minutes"]
    return f"not run: more than {minutes:g} minute{'s' * (minutes != 1)}"


def table(cells, key, factor, digits, datas, fixed=False):
    """The means are over all cells, of rows that have them all."""
    last = ["mean with C=1"] if fixed else []
    row("columns chosen by", *datas, "mean", *last)
    print("|---" * (len(datas) + 2 + len(last)) + "|")
    found, with_one = means_of(cells, key), means_of(cells, "fixed_errors")
    for name in present(cells):
        lines = [
            " ".join(f"{factor * e:.{digits}f}" for e in found[name, data])
            if (name, data) in found
            else given_up(cells, name, data)
            for data in datas
        ]
        summary = [""] * (1 + fixed)
        if all((name, data) in found for data in datas):
            mean = np.concatenate([found[name, data] for data in datas]).mean()
            summary = [f"{factor * mean:.{digits + 1}f}"]
            if fixed:
                mean = np.concatenate([with_one[name, data] for data in datas]).mean()
                summary.append(f"{100 * mean:.2f}")
        row(name, *lines, *summary)


def differences(ours, theirs, places):
    """By how much theirs have more errors than ours, one number for each test row or split."""
    if len(ours) > 1:
        pairs = zip(ours, theirs, strict=True)
        return np.array(
            [np.mean([b["errors"][i] - a["errors"][i] for i in places]) for a, b in pairs]
        )
    rows = np.zeros(ours[0]["tested"])
    for sign, part in ((-1.0, ours[0]), (1.0, theirs[0])):
        for i in places:
            rows[part["wrong"][i]] += sign / len(places)
    return rows


def behind(cells, default, rivals):
    """Print the cells in which the default has more errors than a rival.

    And by how many of its standard errors: that of the difference, over test rows or splits.
    """
    cells = finished(cells)
    row("columns chosen by", "fewer errors than the default, by more than a standard error")
    print("|---|---|")
    for rival in rivals:
        found = []
        for data in NAMES:
            if (default, data) not in cells or (rival, data) not in cells:
                continue
            for place, size in enumerate(budgets_of(data)):
                gaps = differences(cells[default, data], cells[rival, data], [place])
                error = gaps.std(ddof=1) / np.sqrt(len(gaps))
                if -gaps.mean() > error:
                    found.append(f"{data} {size}: {-100 * gaps.mean():.2f} ± {100 * error:.2f}")
        row(rival, "; ".join(found) or "nowhere")


def ahead(cells, default, groups):
    """The mean errors and log losses of others less the default's, and standard errors.

    Of data with one test set the error is that of its rows, of others that of the splits, which
    share rows and make it too small.
    """
    done = finished(cells)
    row("columns chosen by", *(f"{what}, {name}" for name in groups for what in ("error", "log")))
    print("|---" * (1 + 2 * len(groups)) + "|")
    for name in present(cells):
        if name != default:
            entries = [lead(done, default, name, datas) for datas in groups.values()]
            row(name, *(entry for pair in entries for entry in pair))


def lead(done, default, name, datas):
    """By how much the default is ahead on some data sets, as two entries of the table."""
    if not all((n, data) in done for n in (default, name) for data in datas):
        return "", ""
    gaps = [
        differences(done[default, data], done[name, data], range(len(budgets_of(data))))
        for data in datas
    ]
    shares = np.array([len(budgets_of(data)) for data in datas], dtype=float)
    shares /= shares.sum()
    gap = shares @ [own.mean() for own in gaps]
    error = np.sqrt(shares**2 @ [own.var(ddof=1) / len(own) for own in gaps])
    losses = [
        np.concatenate(
            [np.mean([part["log_losses"] for part in done[n, data]], axis=0) for data in datas]
        ).mean()
        for n in (name, default)
    ]
    return f"{100 * gap:+.2f} ± {100 * error:.2f}", f"{losses[0] - losses[1]:+.3f}"


def own_numbers(cells):
    if not any(name == OWN_NUMBER for name, _ in cells):
        return
    row("data", "columns that RFECV keeps", "its error", "the default's with as many", "seconds")
    print("|---|---|---|---|---|")
    for data in NAMES:
        if (OWN_NUMBER, data) not in cells:
            continue
        parts = cells[OWN_NUMBER, data]
        if not isinstance(parts, list):
            row(data, given_up(cells, OWN_NUMBER, data), "", "", "")
            continue
        errors = 100 * np.mean([part["errors"] for part in parts], axis=0)
        sizes = [len(part["chosen"][0]) for part in parts]
        seconds = np.mean([part["seconds"] for part in parts], axis=0)
        times = f"{seconds[0]:.1f} and {seconds[1]:.2f}"
        row(data, ", ".join(map(str, sizes)), f"{errors[0]:.1f}", f"{errors[1]:.1f}", times)


def seconds_of(cell):
    return np.mean([sum(part["seconds"]) for part in cell])


def time_entry(cells, name, data):
    done = finished(cells)
    if (name, data) not in done:
        return given_up(cells, name, data)
    cell = done[name, data]
    text = f"{seconds_of(cell):.2f}"
    rule = done.get(("gradient", data))
    if name in dict(ours()) and rule:
        text += f" ({seconds_of(cell) / seconds_of(rule):.1f}x)"
    return text


def table_of_seconds(cells):
    """Seconds to select for all numbers; of ShareBoost also the ratio to the gradient rule."""
    row("columns chosen by", *NAMES)
    print("|---" * (len(NAMES) + 1) + "|")
    for name in present(cells):
        row(name, *(time_entry(cells, name, data) for data in NAMES))


RATIOS = {
    "gradient": {"rule": "gradient"},
    "orthogonal": {},
    "orthogonal-swap": {"swap": True},
    "gradient-swap": {"rule": "gradient", "swap": True},
}


def ratios(turns):
    """Print processor seconds of fits, and how many times as long as the gradient rule they take.

    Each turn is one fit of each; both numbers are medians over the turns.
    """
    row("data", *RATIOS)
    print("|---" * (len(RATIOS) + 1) + "|")
    for data in DATA:
        X_train, X_test, y_train, _ = DATA[data]()
        X, _ = standardised(X_train, X_test)
        found = {name: [] for name in RATIOS}
        for _ in range(turns):
            for name, parameters in RATIOS.items():
                with threadpool_limits(1):
                    _, seconds = timed(
                        ShareBoostClassifier(max(LARGE), **parameters).fit, X, y_train
                    )
                found[name].append(seconds)
        times = {name: np.divide(found[name], found["gradient"]) for name in RATIOS}
        row(data, *(f"{median(found[n]):.2f} ({np.median(times[n]):.1f}x)" for n in RATIOS))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = [*SELECTORS, OWN_NUMBER]
    parser.add_argument("--only", nargs="+", choices=every, default=every)
    parser.add_argument("--data", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--limit", type=float, default=60.0, help="processor minutes of a cell")
    parser.add_argument("--ratios", action="store_true")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    if options.ratios:
        print(f"{stamp()}.\n\nThe median of {options.turns} turns.\n")
        ratios(options.turns)
        raise SystemExit
    cells = compute(options)
    where = f"Held-out error (mean of {SEEDS} splits)" if options.held_out else "Test error"
    print(f"{stamp()}.\n")
    print(f"{where} in % with {', '.join(map(str, LARGE))} columns.\n")
    table(cells, "errors", 100, 1, list(DATA), fixed=True)
    missing = {*SELECTORS, OWN_NUMBER} - {name for name, _ in cells}
    missing = [n for n in [*SELECTORS, OWN_NUMBER] if n in missing and n not in dict(ours())]
    if missing:
        print(f"\nNot run: {', '.join(missing)}.")
    print("\nLog loss.\n")
    table(cells, "log_losses", 1, 2, list(DATA))
    sizes = "; ".join(f"{', '.join(map(str, BUDGETS[name]))} columns of {name}" for name in SMALL)
    print(f"\nSmall data: error in % with {sizes}, mean of {TEST_SEEDS} splits.\n")
    table(cells, "errors", 100, 1, list(SMALL))
    print("\nLog loss.\n")
    table(cells, "log_losses", 1, 2, list(SMALL))
    print("\nBy how much the default is ahead: points of error, and log loss.\n")
    ahead(cells, "orthogonal", {"larger": list(DATA), "small": list(SMALL), "all": NAMES})
    print("\nWhere others are ahead, points of error.\n")
    behind(cells, "orthogonal", [name for name in present(cells) if name not in dict(ours())])
    print()
    own_numbers(cells)
    print("\nProcessor seconds to select for all numbers of columns, on one thread.\n")
    table_of_seconds(cells)
