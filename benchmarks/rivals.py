"""The paper's rivals: errors against features, the mixed norm against adelie, JointBoost's rounds.

    make .venv/installed-bench   # adelie, with the older NumPy that it needs, in .venv/older
    python benchmarks/rivals.py [--adelie .venv/older/bin/python] [--only errors norms rounds]

Prints the Markdown tables of docs/rivals.md. Official splits; no test set chooses anything. The
rule, the weight of the penalty and the margin are the paper's and the rivals' own:
``paper.published.TUNED``.
Without --adelie its lines are left out. Needs Isolet, Pendigits and Satimage (see
shareboost.datasets.load_dataset).
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_info

from paper.provenance import stamp
from paper.published import TUNED
from shareboost import ShareBoostClassifier
from shareboost.datasets import load_dataset
from shareboost.inspection.comparison import error_curve
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier
from shareboost.rivals.proximal import NORMS

# --- Errors against features ---------------------------------------------------------------

NUMBERS = (5, 10, 20, 40)  # of features
# Stumps and products are those of docs/paper, of jointboost.md and mixed-norm.md.
DATA = ("Pendigits", "Satimage", "Isolet")


def rivals():
    most = max(NUMBERS)
    refit = {"refit": True, "refit_alpha": TUNED["alpha"]}
    norm = {"path": 100, "n_features": most}
    return {
        "ShareBoost": ShareBoostClassifier(most, **TUNED),
        "ShareBoost, swaps": ShareBoostClassifier(most, swap=True, **TUNED),
        "one-vs-rest": OneVsRestGreedyClassifier(most),
        "l∞/l1": MixedNormClassifier("linf1", **norm),
        "l∞/l1, refit": MixedNormClassifier("linf1", **refit, **norm),
        "l2/l1": MixedNormClassifier("l21", **norm),
        "l2/l1, refit": MixedNormClassifier("l21", **refit, **norm),
    }


def errors():
    """Print the test errors of every rival, the last model of at most so many features."""
    data = load_dataset("isolet")
    print("\nIsolet, columns: test error with at most so many features, and seconds in all.\n")
    print("| | " + " | ".join(map(str, NUMBERS)) + " | seconds |")
    print("|---" * (len(NUMBERS) + 2) + "|")
    for title, clf in rivals().items():
        began = perf_counter()
        clf.fit(data.X_train, data.y_train)
        seconds = perf_counter() - began
        curve = error_curve(clf, data.X_test, data.y_test)
        found = [curve.errors[curve.n_features <= t][-1] for t in NUMBERS]
        cells = " | ".join(f"{100 * error:.2f}%" for error in found)
        print(f"| {title} | {cells} | {seconds:.1f} |", flush=True)


# --- Mixed norms ---------------------------------------------------------------------------


def training_units(X):
    X = X.astype(np.float64)
    return X.mean(axis=0), X.std(axis=0)


def judged(Z, y, paths, alphas):
    """Return the worst violation of any minimum's conditions, and the last objective.

    ``paths`` yields weights, (d, k), and intercepts of l2/l1 minima for standardised columns.
    """
    k, starts = int(y.max()) + 1, np.arange(Z.shape[1])
    worst = 0.0
    for (W, b), alpha in zip(paths, alphas, strict=True):
        scores = Z @ W + b
        scores -= np.logaddexp.reduce(scores, axis=1)[:, None]
        gradient = Z.T @ (np.exp(scores) - np.eye(k)[y]) / len(y)
        missed = NORMS["l21"].violations(W, gradient, starts, np.full(starts.size, alpha))
        worst = max(worst, float(missed.max()))
        value = -scores[np.arange(len(y)), y].mean() + alpha * np.linalg.norm(W, axis=1).sum()
    return worst, value


def own_path(X, y, alphas, center, scale):
    began = perf_counter()
    clf = MixedNormClassifier("l21", path=alphas, margin=0.0).fit(X, y)
    seconds = perf_counter() - began

    def paths():
        for step in clf.path_.steps[1:]:
            model = clf.path_.model(step)
            W = np.zeros((X.shape[1], model.weights.shape[0]))
            W[model.features.ids] = model.weights.T
            yield W * scale[:, None], model.intercept + center @ W

    return seconds, list(paths())


def adelie_path(python, Z, y, alphas, threads):
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(source, X=Z, y=y, alphas=alphas)
        script = Path(__file__).with_name("adelie_path.py")
        subprocess.run([python, script, source, target, str(threads)], check=True)
        found = np.load(target)
        return float(found["seconds"]), list(zip(found["coefs"], found["intercepts"], strict=True))


def norms(python, ratios, repeats):
    """Print the seconds of paths of 50 alphas on Isolet, in turns, and how exact they are."""
    data = load_dataset("isolet")
    order = np.random.default_rng(0).permutation(len(data.y_train))  # rows are sorted by class
    X, y = data.X_train[order], np.unique(data.y_train[order], return_inverse=True)[1]
    center, scale = training_units(X)
    Z = (X - center) / scale
    threads = max(lib["num_threads"] for lib in threadpool_info())
    gradient = Z.T @ (np.eye(int(y.max()) + 1)[y].mean(axis=0) - np.eye(int(y.max()) + 1)[y])
    first = np.linalg.norm(gradient / len(y), axis=1).max()
    print(f"\nIsolet, 617 columns, l2/l1 paths of 50 alphas, {threads} threads.\n")
    print("| last alpha / first | who | seconds | worst violation | last objective | features |")
    print("|---|---|---|---|---|---|")
    for ratio in ratios:
        alphas = first * np.geomspace(1.0, ratio, 50)
        runs = {"shareboost": lambda a=alphas: own_path(X, y, a, center, scale)}
        if python is not None:
            runs["adelie 1.1.52"] = lambda a=alphas: adelie_path(python, Z, y, a, threads)
        seconds = {who: [] for who in runs}
        for _ in range(repeats):
            for who, run in runs.items():
                taken, paths = run()
                seconds[who].append(taken)
                if len(seconds[who]) < repeats:
                    continue
                worst, value = judged(Z, y, paths, alphas)
                used = int((paths[-1][0] != 0).any(axis=1).sum())
                times = f"{median(seconds[who]):.1f}"
                if repeats > 1:
                    times += f" ({min(seconds[who]):.1f} to {max(seconds[who]):.1f})"
                print(f"| {ratio:g} | {who} | {times} | {worst:.1e} | {value:.6f} | {used} |")
        if python is not None:
            pair = zip(seconds["shareboost"], seconds["adelie 1.1.52"], strict=True)
            print(f"| {ratio:g} | ratio | {median(own / peer for own, peer in pair):.2f} | | | |")


# --- JointBoost ----------------------------------------------------------------------------


def rounds():
    """Print what a round takes, beside a selection among the same stumps by ShareBoost."""
    print("\nStumps: seconds a round of JointBoost (best-first, and all sets of up to 12 classes),")
    print("and a round of ShareBoost with 20 stumps, refit included.\n")
    print("| | classes | stumps | forward | exhaustive | ShareBoost |")
    print("|---|---|---|---|---|---|")
    for name in DATA:
        data = load_dataset(name.lower())
        X, y = data.X_train, data.y_train
        n_classes = np.unique(y).size
        cells = []
        for search, most in (("forward", 100), ("exhaustive", 12)):
            if n_classes > most:
                cells.append("")
                continue
            clf = JointBoostClassifier(10**6, search=search, max_iter=2).fit(X, y)  # compiles
            clf.set_params(max_iter=30).fit(X, y)
            cells.append(f"{median(np.diff(clf.path_.seconds)):.4f}")
        share = ShareBoostClassifier(20, pool="stumps", **TUNED).fit(X, y)  # compiles
        share.fit(X, y)
        cells.append(f"{median(np.diff(share.path_.seconds)):.4f}")
        print(f"| {name} | {n_classes} | {clf.path_.n_atoms} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--adelie", help="the Python of an environment with adelie 1.1.52")
    parser.add_argument("--only", nargs="+", choices=("errors", "norms", "rounds"))
    parser.add_argument("--ratios", nargs="+", type=float, default=[0.1, 0.01])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print(f"{stamp()}.")
    wanted = args.only or ("errors", "norms", "rounds")
    if "errors" in wanted:
        errors()
    if "norms" in wanted:
        norms(args.adelie, args.ratios, args.repeats)
    if "rounds" in wanted:
        rounds()


if __name__ == "__main__":
    main()
