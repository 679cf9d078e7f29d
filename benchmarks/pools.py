"""The figures of docs/figures.md for the non-linear pools, each measured in its own process.

    python benchmarks/pools.py [NAME ...]

Prints one Markdown table. Needs MNIST and Isolet (see shareboost.datasets.load_dataset).
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from shareboost import ShareBoostClassifier
from shareboost.choice.select import Selector
from shareboost.datasets import deform, load_dataset
from shareboost.pools import Pieces, Pool, Products, Stumps, Templates

Figures = dict[str, Any]


def timed_selection() -> list[float]:
    """Return a list to which every selection of this process adds its seconds."""
    seconds, original = [], Selector.best

    def best(*arguments: Any) -> Any:
        started = time.perf_counter()
        found = original(*arguments)
        seconds.append(time.perf_counter() - started)
        return found

    Selector.best = best
    return seconds


def fit(clf: ShareBoostClassifier, data: Any, stages: list[int]) -> Figures:
    """Fit on the training rows and return the figures, test errors at the given stages."""
    selections = timed_selection()
    started = time.perf_counter()
    clf.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    errors = [100 * np.mean(clf.at(t).predict(data.X_test) != data.y_test) for t in stages]
    return {
        "selection": statistics.median(selections),
        "seconds": seconds,
        "megabytes": megabytes,
        "loss": clf.path_.losses[-1],
        "errors": dict(zip(stages, errors, strict=True)),
    }


def pool_on(name: str, pool: Pool, stages: list[int], **parameters: Any) -> Callable[[], Figures]:
    def run() -> Figures:
        clf = ShareBoostClassifier(max(stages), pool=pool, **parameters)
        return fit(clf, load_dataset(name), stages)

    return run


def mnist_in_50_columns() -> Any:
    from sklearn.decomposition import PCA

    data = load_dataset("mnist")
    pca = PCA(50, random_state=0).fit(data.X_train / np.float32(255))
    return data._replace(
        X_train=pca.transform(data.X_train / np.float32(255)).astype(np.float32),
        X_test=pca.transform(data.X_test / np.float32(255)).astype(np.float32),
    )


def pieces() -> Figures:
    pool = Pieces(n_centres=1500, radii=35)
    clf = ShareBoostClassifier(230, pool=pool, alpha=2e-4, refit_tol=0.5, tol=1e-3)
    return fit(clf, mnist_in_50_columns(), [50, 100, 230])


def svm() -> Figures:
    from sklearn.svm import SVC

    data = mnist_in_50_columns()
    started = time.perf_counter()
    clf = SVC(C=10, gamma=0.03, cache_size=2000).fit(data.X_train, data.y_train)
    return {
        "seconds": time.perf_counter() - started,
        "errors": {len(clf.support_): 100 * (1 - clf.score(data.X_test, data.y_test))},
    }


def deformed() -> Figures:
    images = load_dataset("mnist").X_train
    deform(images[:10], random_state=0)  # compiles
    started = time.perf_counter()
    deform(images, n_copies=5, random_state=0)
    return {
        "seconds": time.perf_counter() - started,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


FIGURES: dict[str, tuple[str, Callable[[], Figures]]] = {
    "stumps": ("MNIST, `Stumps()`", pool_on("mnist", Stumps(), [50, 100, 200])),
    "products": ("Isolet, `Products()`", pool_on("isolet", Products(), [10, 20])),
    "templates": (
        "MNIST, `Templates(n_templates=1000)`, `alpha=1e-4`",
        pool_on("mnist", Templates(n_templates=1000), [75, 150, 266], alpha=1e-4),
    ),
    "pieces": (
        "MNIST by PCA to 50, `Pieces(1500, 35)`, `alpha=2e-4, refit_tol=0.5, tol=1e-3`",
        pieces,
    ),
    "svm": ("the same columns, RBF SVM (C=10, gamma=0.03), support vectors", svm),
    "deform": ("`deform`, 300,000 copies of MNIST's images", deformed),
}


def row(title: str, found: Figures) -> str:
    errors = ", ".join(f"{t}: {error:.2f}%" for t, error in found.get("errors", {}).items())
    cells = [
        title,
        f"{found['selection']:.2f}" if "selection" in found else "",
        f"{found['seconds']:.0f}" if found["seconds"] >= 10 else f"{found['seconds']:.1f}",
        f"{found['megabytes'] / 1024:.2f} GiB" if "megabytes" in found else "",
        f"{found['loss']:.4f}" if "loss" in found else "",
        errors,
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(FIGURES[sys.argv[2]][1]()))
        sys.exit()
    print(
        f"One fresh process each on {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}.\n"
    )
    print("| what | seconds a selection | seconds in all | peak memory | loss | test error |")
    print("|---|---|---|---|---|---|")
    for name in sys.argv[1:] or FIGURES:
        command = [sys.executable, __file__, "--run", name]
        found = json.loads(subprocess.run(command, stdout=-1, check=True).stdout)
        print(row(FIGURES[name][0], found), flush=True)
