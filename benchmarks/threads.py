"""How fits grow faster with threads: ours, LightGBM's and scikit-learn's, on the same cores.

    python benchmarks/threads.py [--threads 1 2 4 8 16] [--repeats 3] [--only WORK ...]

Every work runs in a process of its own for each number of threads, which NUMBA_NUM_THREADS,
OPENBLAS_NUM_THREADS and OMP_NUM_THREADS set alike; numbers above that of the cores are left out.
Prints a Markdown table: the median seconds of the repeats after a first one that compiles, how many
times faster than one thread that is (speed-up), and that over the number of threads (efficiency).
The rows are drawn at random except for MNIST's (see shareboost.datasets.load_dataset). LightGBM is
left out where it is not installed.

- evaluation: the loss and its gradient, 400,000 rows, 31 columns, 20 classes, float32.
- dense: a fit of 30 of 500 columns, 400,000 rows, 20 classes, float32, `rule="gradient"`.
- wide: the scores of 20,000 columns, 2,000 rows, 20 classes, float32; beside it the sum of X.
- stumps: 60 stumps of MNIST's 60,000 digits, `rule="gradient"`.
- lightgbm: 60 rounds of trees of one split on the same digits.
- logistic regression: scikit-learn's, on 30 columns of the dense rows, 30 iterations.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from statistics import median
from time import perf_counter

import numpy as np

LIMITS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def drawn(n, d, k=20):
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, : min(d, 30)] += 0.5 * rng.normal(size=(k, min(d, 30))).astype(np.float32)[y]
    return X, y


def digits():
    from shareboost.datasets import load_dataset

    data = load_dataset("mnist")
    return data.X_train, data.y_train


def rows_of(X, y):
    from shareboost.pools import Columns
    from shareboost.rows import Rows

    weight = np.ones(len(y))
    return Rows(X, y, weight, Columns().fit(X, weight), int(y.max()) + 1, intercept=True)


def evaluation():
    from shareboost.losses import LogisticLoss

    rows = rows_of(*drawn(400_000, 30)).__enter__()
    for column in range(30):
        rows.append(column)
    rng = np.random.default_rng(1)

    def evaluate():
        rows.evaluate(0.1 * rng.normal(size=(20, 31)), LogisticLoss(0.0))

    return evaluate


def dense():
    from shareboost import ShareBoostClassifier

    X, y = drawn(400_000, 500)
    return lambda: ShareBoostClassifier(30, rule="gradient").fit(X, y)


def wide():
    from shareboost.losses import LogisticLoss
    from shareboost.selection.rules import part_norms
    from shareboost.shard import RESIDUAL

    rows = rows_of(*drawn(2000, 20_000)).__enter__()
    rows.evaluate(np.zeros((20, 1)), LogisticLoss(0.0))
    return lambda: rows.scored([(RESIDUAL, False)], part_norms)


def wide_sum():
    X, _ = drawn(2000, 20_000)
    return lambda: X.sum()


def stumps():
    from shareboost import ShareBoostClassifier

    X, y = digits()
    return lambda: ShareBoostClassifier(60, pool="stumps", rule="gradient").fit(X, y)


def lightgbm():
    from lightgbm import LGBMClassifier

    X, y = digits()
    n_jobs = int(os.environ["OMP_NUM_THREADS"])
    trees = LGBMClassifier(n_estimators=60, num_leaves=2, n_jobs=n_jobs, verbose=-1)
    return lambda: trees.fit(X.astype(np.float32), y)


def logistic_regression():
    import warnings

    from sklearn.linear_model import LogisticRegression

    warnings.filterwarnings("ignore")  # it does not converge
    X, y = drawn(400_000, 30)
    return lambda: LogisticRegression(max_iter=30).fit(X, y)


WORKS = {
    "evaluation": (evaluation, 10),  # and how often it is done, for one repeat
    "dense": (dense, 1),
    "wide": (wide, 10),
    "wide, sum of X": (wide_sum, 10),
    "stumps": (stumps, 1),
    "lightgbm": (lightgbm, 1),
    "logistic regression": (logistic_regression, 1),
}


def measured(work, repeats):
    """The seconds of a work once, in every repeat."""
    prepare, times = WORKS[work]
    run = prepare()
    run()
    seconds = []
    for _ in range(repeats):
        started = perf_counter()
        for _ in range(times):
            run()
        seconds.append((perf_counter() - started) / times)
    return seconds


def seconds_of(work, n_threads, repeats):
    command = [sys.executable, __file__, "--measure", work, "--repeats", str(repeats)]
    limits = dict.fromkeys(LIMITS, str(n_threads))
    run = subprocess.run(command, env=os.environ | limits, stdout=-1, check=True, text=True)
    return median(json.loads(run.stdout))


def main(options):
    from paper.provenance import stamp

    print(f"{stamp()}.\n")
    threads = [n for n in options.threads if n <= os.cpu_count()]
    print("| work | " + " | ".join(f"{n} thread{'s' * (n > 1)}" for n in threads) + " |")
    print("|---" * (len(threads) + 1) + "|")
    for work in options.only or WORKS:
        if work == "lightgbm" and find_spec("lightgbm") is None:
            continue
        found = [seconds_of(work, n, options.repeats) for n in threads]
        cells = [
            f"{1e3 * seconds:.1f} ms, {found[0] / seconds:.2f} times, "
            f"{found[0] / seconds / n * threads[0]:.0%}"
            for n, seconds in zip(threads, found, strict=True)
        ]
        print(f"| {work} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=WORKS)
    parser.add_argument("--measure", choices=WORKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.measure, options.repeats)))
    else:
        main(options)
