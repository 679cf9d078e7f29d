"""The figures of docs/figures.md: accuracy, time and memory, each measured in its own process.

    python benchmarks/figures.py [--repeats 5]

Prints one Markdown table. Needs Isolet and Pendigits (see shareboost.datasets.load_dataset).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

FIT = """
import json, resource, time
import numpy as np
from shareboost import ShareBoostClassifier
from shareboost.datasets import load_dataset

def products(X):
    i, j = np.triu_indices(X.shape[1], 1)
    return X[:, i].astype(float) * X[:, j]

data = load_dataset("{name}")
change = {change}
order, seed = np.arange(len(data.y_train)), {seed}
if seed is not None:
    order = np.random.default_rng(seed).permutation(order)
X_train, X_test, y_train = change(data.X_train)[order], change(data.X_test), data.y_train[order]
clf = ShareBoostClassifier(50)
started = time.perf_counter()
clf.fit(X_train, y_train)
seconds = time.perf_counter() - started
print(json.dumps(dict(
    seconds=seconds,
    error=100 * (1 - clf.score(X_test, data.y_test)),
    loss=clf.path_.losses[-1],
    megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
)))
"""

# Under what a user has imported anyway: scikit-learn itself.
IMPORT = """
import json, time
import sklearn
started = time.perf_counter()
import shareboost
print(json.dumps(dict(seconds=time.perf_counter() - started)))
"""

FIRST_FIT = """
import json, time
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
started = time.perf_counter()
from shareboost import ShareBoostClassifier
ShareBoostClassifier(20).fit(X, y)
print(json.dumps(dict(seconds=time.perf_counter() - started)))
"""


def fit(name: str, change: str, seed: int | None = None) -> str:
    return FIT.format(name=name, change=change, seed=seed)


# A title and the programs to run; one program is run several times.
FIGURES = [
    ("Isolet, 50 of 617 columns", [fit("isolet", "lambda X: X")]),
    ("the same, rows in 10 other orders", [fit("isolet", "lambda X: X", s) for s in range(10)]),
    ("Pendigits, 50 of 120 products", [fit("pendigits", "products")]),
    ("the same, rows in 10 other orders", [fit("pendigits", "products", s) for s in range(10)]),
    ("import, after scikit-learn's", [IMPORT]),
    ("import and first fit on digits, 20 columns", [FIRST_FIT]),
]


def measure(codes: list[str], repeats: int) -> dict[str, list[float]]:
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", code], stdout=-1, check=True).stdout)
        for code in (codes if len(codes) > 1 else codes * repeats)
    ]
    return {key: [run[key] for run in runs] for key in runs[0]}


def cell(values: list[float] | None, form: str) -> str:
    if values is None:
        return ""
    text = form.format(statistics.median(values))
    if max(values) > min(values):
        text += f" ({form.format(min(values))} to {form.format(max(values))})"
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print(
        f"Medians of {repeats} fresh processes (and range) on {platform.machine()}, "
        f"{os.cpu_count()} cores, Python {platform.python_version()}.\n"
    )
    print("| what | seconds | test error | training loss | peak memory |")
    print("|---|---|---|---|---|")
    for title, codes in FIGURES:
        found = measure(codes, repeats)
        cells = [
            cell(found["seconds"], "{:.2f}"),
            cell(found.get("error"), "{:.2f}%"),
            cell(found.get("loss"), "{:.4f}"),
            cell(found.get("megabytes"), "{:.0f} MB"),
        ]
        print(f"| {title} | {' | '.join(cells)} |")
