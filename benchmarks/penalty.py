"""The weight of the penalty and the margin: the evidence for their defaults.

Every figure is measured on held-out *training* rows, or on data that have no test rows; no test
set is touched. For every problem 30% of the rows are held out (40% of iris, which leaves 90), three
times, or twenty times if there are fewer than 1,000 rows.

    python benchmarks/penalty.py [--repeats 3] [--jobs 2] [--out docs/penalty.csv]
                                 [--only SETTING ...] [--data PROBLEM ...]
    python benchmarks/penalty.py --read docs/penalty.csv   # weights compared with the same rule
    python benchmarks/penalty.py --curves [--repeats 10] [--data PROBLEM ...]  # every number to 100

Writes every held-out error and log loss to a CSV file, and prints as Markdown: the mean of each
problem over its numbers of features, for every setting; by how many standard errors a problem is
worse than with the former defaults; where a curve falls; and a reliability table. With --figure
FILE it also draws the reliability diagrams. With --only or --data these rows of an existing CSV
file are replaced and the others kept; the tables of errors and log losses show all of them.

Needs the data sets of shareboost.datasets.load_dataset, and zeisel.npz and citeseq.npz (single
cells, compressed sparse rows) in $SHAREBOOST_DATA.
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from defaults import data_sets
from joblib import Parallel, delayed
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from paper.provenance import stamp
from shareboost import ShareBoostClassifier
from shareboost import solvers as refit
from shareboost.datasets import load_dataset
from shareboost.pools import Pieces, Templates

BUDGETS = (5, 10, 20, 50)
LONG = 100  # features of the default, for the curve
SMALL, MANY = 1000, 20  # with fewer rows, so many splits
LARGE = 20_000  # with more rows, the default and the former defaults alone
SEARCHED = 4000  # rows that a logistic regression's penalty is chosen on
MOST_WEIGHTS = 600  # that Newton's method is faster for
FORMULA = "0.002 k t / m"  # the automatic weight before this one
# The rule, alpha and margin.
DEFAULT = ("orthogonal", "auto", 0.0)
FORMER = ("gradient", 3e-5, 1.0)
SETTINGS = [
    FORMER,
    ("orthogonal", 3e-5, 1.0),
    ("orthogonal", 3e-5, 0.0),
    ("orthogonal", FORMULA, 1.0),
    ("orthogonal", FORMULA, 0.0),
    ("orthogonal", "auto", 1.0),
    DEFAULT,
    ("orthogonal", "0.5*auto", 0.0),
    ("orthogonal", "2*auto", 0.0),
    ("gradient", "auto", 0.0),
]
TUNED = "logistic regression on the default's columns"
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
SLOW = {"all mnist pixels", "pieces, satimage", "templates, mnist"}
BINS = np.linspace(0.0, 1.0, 11)


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
    """Yield the name, X, y, the pool, the numbers of features and the share held out."""

    def columns(name, X, y, held_out=0.3):
        budgets = [n for n in BUDGETS if n <= X.shape[1]] or [X.shape[1]]
        return name, X, y, "columns", budgets, held_out

    for problem in data_sets():
        yield columns(*problem)
    yield columns("iris", *load_iris(return_X_y=True), 0.4)
    yield columns("7 cell types", *cells("zeisel", "cell_type"))
    yield columns("47 cell subtypes", *cells("zeisel", "cell_subtype"))
    yield columns("13 blood cell types", *cells("citeseq", "cell_type"))
    mnist, satimage = load_dataset("mnist"), load_dataset("satimage")
    yield columns("all mnist pixels", mnist.X_train, mnist.y_train)
    yield "stumps, digits", *load_digits(return_X_y=True), "stumps", BUDGETS, 0.3
    yield "stumps, wine", *load_wine(return_X_y=True), "stumps", BUDGETS, 0.3
    yield "stumps, satimage", satimage.X_train, satimage.y_train, "stumps", BUDGETS, 0.3
    pieces = Pieces(100, 10, random_state=0)
    X = satimage.X_train.astype(np.float32)
    yield "pieces, satimage", X, satimage.y_train, pieces, (2, 5, 10), 0.3
    templates = Templates(300, random_state=0)
    yield "templates, mnist", mnist.X_train[:6000], mnist.y_train[:6000], templates, BUDGETS, 0.3


def formula(rows, W, n_rows):
    return 0.002 * rows.n_classes * (rows.n_columns - rows.intercept) / n_rows


def judged(scores, y, classes):
    """Return the error and the log loss of probabilities."""
    own = scores[np.arange(len(y)), np.searchsorted(classes, y)]
    wrong = classes[scores.argmax(axis=1)] != y
    return float(wrong.mean()), float(-np.log(np.maximum(own, 1e-15)).mean())


@threadpool_limits.wrap(limits=1)  # threads that wait for each other are billed too
def measure(setting, problem, seed):
    """Return rows of (setting, problem, seed, features, error, log loss), seconds and bins."""
    warnings.filterwarnings("ignore")  # of refits that did not converge without a penalty
    name, X, y, pool, budgets, held_out = problem
    rule, alpha, margin = setting
    parts = train_test_split(X, y, test_size=held_out, stratify=y, random_state=seed)
    X_fit, X_held, y_fit, y_held = parts
    n = max(budgets)
    use_formula = alpha == FORMULA
    clf = ShareBoostClassifier(
        n, rule=rule, alpha="auto" if use_formula else alpha, margin=margin, pool=pool
    )
    started = process_time()
    if use_formula:
        with patch.object(refit, "evidence_alpha", formula):
            clf.fit(X_fit, y_fit)
    else:
        clf.fit(X_fit, y_fit)
    seconds = process_time() - started
    asked = sorted(budgets)
    if setting == DEFAULT and pool == "columns" and n < min(LONG, X.shape[1]):
        asked.append(min(LONG, X.shape[1]))
        clf.set_params(n_features=asked[-1]).fit(X_fit, y_fit)
    rows, bins = [], []
    for t in asked:
        model = clf.at(min(t, len(clf.path_)))
        p = model.predict_proba(X_held)
        rows.append((label(setting), name, seed, t, *judged(p, y_held, clf.classes_)))
        if t in budgets:
            bins.append(reliability(p, y_held, clf.classes_))
        if setting == DEFAULT and pool == "columns" and t in budgets:
            p = tuned(model.selected_, X_fit, y_fit, X_held)
            rows.append((TUNED, name, seed, t, *judged(p, y_held, clf.classes_)))
    return rows, (label(setting), name, seconds), (label(setting), np.sum(bins, axis=0))


def tuned(columns, X_fit, y_fit, X_held):
    """Return probabilities of a logistic regression whose penalty cross-validation has chosen."""
    dense = [
        np.asarray(X[:, columns].todense() if sp.issparse(X) else X[:, columns], dtype=float)
        for X in (X_fit, X_held)
    ]
    scaler = StandardScaler().fit(dense[0])
    A, B = map(scaler.transform, dense)
    k = len(np.unique(y_fit))
    # Around the formula's weight, each a quarter of the last.
    first = 1 / (0.004 * k * len(columns))
    grid = {"C": first * 4.0 ** np.arange(-3, 3)}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    solver = "newton-cholesky" if k * len(columns) <= MOST_WEIGHTS else "lbfgs"
    final = LogisticRegression(tol=1e-4, max_iter=1000, solver=solver)
    search = GridSearchCV(final, grid, scoring="neg_log_loss", cv=folds, refit=False)
    search.fit(A[:SEARCHED], y_fit[:SEARCHED])
    return final.set_params(**search.best_params_).fit(A, y_fit).predict_proba(B)


def reliability(p, y, classes):
    """Return, by confidence of the predicted class: rows, their confidence, and how many right."""
    confidence = p.max(axis=1)
    right = classes[p.argmax(axis=1)] == y
    where = np.clip(np.digitize(confidence, BINS) - 1, 0, len(BINS) - 2)
    return np.stack(
        [np.bincount(where, w, len(BINS) - 1) for w in (np.ones(len(y)), confidence, right)]
    )


def label(setting):
    rule, alpha, margin = setting
    return f"{rule}, {alpha}, margin {margin:g}"


def row(*entries):
    print(f"| {' | '.join(map(str, entries))} |")


def mean_of(found, name, problem, budgets, place):
    """Return the mean over splits and budgets, and over budgets of every split."""
    by_split = {}
    for setting, own, seed, t, *values in found:
        if (setting, own) == (name, problem) and t in budgets:
            by_split.setdefault(seed, []).append(values[place])
    return np.array([np.mean(values) for _, values in sorted(by_split.items())])


def table(found, given, place, factor, digits):
    names = [problem[0] for problem in given]
    row("rule, alpha, margin", *names, "mean of nine", "mean of all")
    print("|---" * (len(names) + 3) + "|")
    for setting in [*map(label, SETTINGS), TUNED]:
        every = {n: mean_of(found, setting, n, b, place) for n, *_, b, _ in given}
        means = {n: factor * v.mean() if v.size else np.nan for n, v in every.items()}
        # Over cells of a problem and a number of features, as in earlier tables.
        cells_of = {n: len(b) for n, *_, b, _ in given}
        known = [n for n in names if not np.isnan(means[n])]
        nine = [n for n in known if n in NINE]
        summary = [
            np.average([means[n] for n in some], weights=[cells_of[n] for n in some])
            for some in (nine, known)
        ]
        row(
            setting,
            *(f"{means[n]:.{digits}f}" if n in known else "" for n in names),
            f"{summary[0]:.{digits + 1}f}",
            f"{summary[1]:.{digits + 1}f}" if len(known) == len(names) else "",
        )


def worse_than_former(found, given):
    """Print by how many points and standard errors the default is worse than before."""
    row("problem", "the default less the former defaults, points", "standard error")
    print("|---|---|---|")
    for name, *_, budgets, _ in given:
        pair = [mean_of(found, label(s), name, budgets, 0) for s in (DEFAULT, FORMER)]
        gap = 100 * (pair[0] - pair[1])
        row(name, f"{gap.mean():+.2f}", f"{gap.std(ddof=1) / np.sqrt(len(gap)):.2f}")


def curves(found, given):
    """Print the default's accuracy at every number of features, and where it falls."""
    row("problem", "held-out accuracy in % (and its standard error)", "falls by more than that")
    print("|---|---|---|")
    for name, *_ in given:
        asked = sorted({t for s, n, _, t, *_ in found if (s, n) == (label(DEFAULT), name)})
        runs = np.array(
            [
                [
                    100 - 100 * e
                    for s, n, _, u, e, _ in found
                    if (s, n, u) == (label(DEFAULT), name, t)
                ]
                for t in asked
            ]
        )
        means, errors = runs.mean(axis=1), runs.std(axis=1, ddof=1) / np.sqrt(runs.shape[1])
        falls = []
        for i in range(1, len(asked)):
            best = int(means[:i].argmax())
            gap = runs[best] - runs[i]
            if gap.mean() > max(errors[i], gap.std(ddof=1) / np.sqrt(len(gap))):
                falls.append(f"{asked[i]} features: {gap.mean():.2f}")
        text = ", ".join(
            f"{t}: {m:.1f} ({e:.1f})" for t, m, e in zip(asked, means, errors, strict=True)
        )
        row(name, text, "; ".join(falls) or "nowhere")


def compared(found, given, first, second, place, factor, digits):
    """Print the first setting less the second, on each problem, and where it is worse."""
    gaps = {}
    for name, *_, budgets, _ in given:
        pair = [mean_of(found, s, name, budgets, place) for s in (first, second)]
        if all(values.size for values in pair):
            gap = factor * (pair[0] - pair[1])
            gaps[name] = gap.mean(), gap.std(ddof=1) / np.sqrt(len(gap))
    worse = [
        f"{name} {gap:+.{digits}f} ± {error:.{digits}f}"
        for name, (gap, error) in gaps.items()
        if gap > error
    ]
    mean = np.mean([gap for gap, _ in gaps.values()])
    better = sum(gap < -error for gap, error in gaps.values())
    row(
        first, second, f"{mean:+.{digits}f}", f"{better} of {len(gaps)}", "; ".join(worse) or "none"
    )


def same_rule(found, given):
    """Print how the automatic weight compares with the constant one, all else alike."""
    auto, constant = (f"orthogonal, {alpha}, margin" for alpha in ("auto", 3e-5))
    pairs = [
        (f"{auto} 0", f"{constant} 0"),
        (f"{auto} 1", f"{constant} 1"),
        (f"{auto} 0", "gradient, auto, margin 0"),
        (f"{auto} 0", TUNED),
    ]
    for place, what, factor, digits in ((0, "points of error", 100, 2), (1, "log loss", 1, 3)):
        print(f"\nThe first less the second, {what}.\n")
        row("first", "second", "mean", "better by a standard error", "worse by a standard error")
        print("|---" * 5 + "|")
        for first, second in pairs:
            compared(found, given, first, second, place, factor, digits)


def read(file):
    """Return the figures of an earlier run."""
    with file.open(newline="") as stream:
        return [
            (setting, problem, int(split), int(t), float(error), float(loss))
            for setting, problem, split, t, error, loss in list(csv.reader(stream))[1:]
        ]


@threadpool_limits.wrap(limits=1)
def curve(problem, seed):
    """Return the default's held-out accuracy in % with each number of features to 100."""
    warnings.filterwarnings("ignore")
    _, X, y, pool, _, held_out = problem
    parts = train_test_split(X, y, test_size=held_out, stratify=y, random_state=seed)
    clf = ShareBoostClassifier(LONG, pool=pool).fit(parts[0], parts[2])
    found = [100 * (guess == parts[3]).mean() for guess in clf.staged_predict(parts[1])]
    return found + found[-1:] * (LONG - len(found))


def every_number(given, repeats, jobs):
    """Print by how much curves fall below their best at a smaller number of features."""
    row(
        "problem",
        "splits",
        f"accuracy in % with {LONG} or all",
        "highest",
        "numbers below an earlier one by more than its standard error",
        "and by more than that of the difference",
        "largest fall, its two standard errors",
    )
    print("|---" * 7 + "|")
    for problem in given:
        n = MANY if problem[1].shape[0] < SMALL else repeats
        runs = np.array(Parallel(jobs)(delayed(curve)(problem, seed) for seed in range(n)))
        means, errors = runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(n)
        falls = []
        for t in range(1, LONG):
            best = int(means[:t].argmax())
            gap = runs[:, best] - runs[:, t]
            paired = gap.std(ddof=1) / np.sqrt(n)
            falls.append((gap.mean(), errors[best], paired, best + 1, t + 1))
        beyond = [fall for fall in falls if fall[0] > fall[1]]
        sure = [fall for fall in beyond if fall[0] > fall[2]]
        gap, error, paired, best, t = max(falls)
        row(
            problem[0],
            n,
            f"{means[-1]:.2f}",
            f"{means.max():.2f} with {means.argmax() + 1}",
            len(beyond),
            len(sure),
            f"{gap:.2f} from {best} to {t} ({error:.2f}, {paired:.2f})" if gap > 0 else "none",
        )


def reliability_table(bins):
    row("confidence of the predicted class", *(label(s) for s in SHOWN))
    print("|---" * (len(SHOWN) + 1) + "|")
    for i in range(len(BINS) - 1):
        entries = []
        for setting in SHOWN:
            n, confidence, right = bins[label(setting)][:, i]
            entries.append(f"{confidence / n:.3f}: {right / n:.3f}" if n else "")
        row(f"{BINS[i]:.1f} to {BINS[i + 1]:.1f}", *entries)


SHOWN = (FORMER, ("orthogonal", "auto", 1.0), DEFAULT)


def draw(bins, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(SHOWN), figsize=(9, 3.2), sharey=True, layout="constrained")
    for ax, setting in zip(axes, SHOWN, strict=True):
        n, confidence, right = bins[label(setting)]
        some = n > 0
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        ax.plot(confidence[some] / n[some], right[some] / n[some], "o-", markersize=4)
        ax.set(title=label(setting), xlabel="confidence", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes[0].set_ylabel("share that is right")
    figure.savefig(file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(map(label, SETTINGS)), help="settings")
    parser.add_argument("--data", nargs="+", help="problems; of --curves all but the slow ones")
    options = parser.parse_args()
    options.repeats = options.repeats or (10 if options.curves else 3)
    given = list(problems())
    if options.read:
        same_rule(read(options.read), given)
        raise SystemExit
    if options.curves:
        print(f"{stamp()}.\n")
        some = options.data or [p[0] for p in given if p[0] not in SLOW]
        every_number([p for p in given if p[0] in some], options.repeats, options.jobs)
        raise SystemExit
    done = Parallel(options.jobs)(
        delayed(measure)(setting, problem, seed)
        for problem in given
        if problem[0] in (options.data or [p[0] for p in given])
        for setting in (SETTINGS if len(problem[2]) < LARGE else (FORMER, DEFAULT))
        if label(setting) in (options.only or map(label, SETTINGS))
        for seed in range(MANY if problem[1].shape[0] < SMALL else options.repeats)
    )
    found = [line for rows, *_ in done for line in rows]
    if (options.only or options.data) and options.out and options.out.exists():
        new = {line[:2] for line in found}
        found = [line for line in read(options.out) if line[:2] not in new] + found
    if options.out:
        with options.out.open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(("setting", "problem", "split", "features", "error", "log loss"))
            writer.writerows(line[:4] + tuple(f"{v:.5f}" for v in line[4:]) for line in found)
    print(f"{stamp()}.\n\nHeld-out error in %, mean over numbers of features.\n")
    table(found, given, 0, 100, 1)
    print("\nHeld-out log loss.\n")
    table(found, given, 1, 1, 3)
    print("\nProcessor seconds of one fit to each problem.\n")
    row("rule, alpha, margin", "seconds")
    print("|---|---|")
    for setting in map(label, SETTINGS):
        times = {}
        for _, (own, name, seconds), _ in done:
            if own == setting:
                times.setdefault(name, []).append(seconds)
        if times:
            row(setting, f"{sum(map(np.mean, times.values())):.1f}")
    print()
    worse_than_former(found, given)
    print()
    curves(found, given)
    same_rule(found, given)
    print()
    bins = {}
    for _, _, (setting, counts) in done:
        bins[setting] = bins.get(setting, 0) + counts
    if options.only or options.data:
        raise SystemExit
    reliability_table(bins)
    if options.figure:
        draw(bins, options.figure)
