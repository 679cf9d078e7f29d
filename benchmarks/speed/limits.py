"""Single steps of a fit beside what the machine can do at all, in turns in one process.

    python limits.py NAME REPEATS

Prints JSON: the seconds of both, of every repeat.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from contestants import Meter
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController

from shareboost import ShareBoostClassifier
from shareboost.losses import LogisticLoss
from shareboost.penalties import PENALTIES
from shareboost.pools import Columns
from shareboost.rows import Rows
from shareboost.selection.pricing import Pricing
from shareboost.selection.rules import Selector
from shareboost.solvers import Refit

Task = Callable[[], Any]


def in_turns(repeats: int, **tasks: Task) -> dict[str, list[float]]:
    """Return the seconds of each task, run one after the other, again and again."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        task()  # compiles, and fills the caches
    for _ in range(repeats):
        for name, task in tasks.items():
            began = perf_counter()
            task()
            seconds[name].append(perf_counter() - began)
    return seconds


def selection(rows: Rows) -> Task:
    """Return step 4 of a round at W = 0: all scores and the best atom, from the residual."""
    refit = Refit(LogisticLoss(), PENALTIES["frobenius"](), 0.0, "lbfgs", 1)
    terms = Pricing(np.ones(rows.pool.n_atoms_))
    W = np.zeros((rows.n_classes, rows.n_columns))

    def choose() -> None:
        Selector(rows, terms, "gradient", None).best(refit, W)

    return choose


def dense(repeats: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 2000), dtype=np.float32)
    y = rng.integers(10, size=60_000)
    halves = np.split(X, 2)
    with ThreadPoolExecutor(2) as threads:
        weight = np.ones(y.size)
        with Rows(X, y, weight, Columns().fit(X), 10, True) as rows:
            return in_turns(
                repeats,
                ours=selection(rows),
                peer=lambda: sum(threads.map(np.sum, halves)),
            )


def sparse_rows(n: int, d: int, k: int) -> tuple[Any, Any]:
    """Return rows with a twentieth of their entries filled, and classes that some columns tell."""
    rng = np.random.default_rng(0)
    each = d // 20
    columns = np.empty((n, each), dtype=np.int32)
    for own in columns:
        own[:] = np.sort(rng.choice(d, size=each, replace=False))
    indices = columns.ravel()
    values = rng.random(indices.size, dtype=np.float32)
    pointers = np.arange(0, indices.size + 1, each, dtype=np.int32)
    X = sp.csr_array((values, indices, pointers), shape=(n, d))
    telling = rng.choice(d, size=2 * k, replace=False)
    scores = X[:, telling] @ rng.standard_normal((2 * k, k))
    return X, np.argmax(4.0 * scores + rng.gumbel(size=(n, k)), axis=1)


def sparse(repeats: int) -> dict[str, Any]:
    X, y = sparse_rows(100_000, 20_000, 50)
    residual = np.random.default_rng(1).standard_normal((100_000, 50), dtype=np.float32)
    with Rows(X, y, np.ones(y.size), Columns().fit(X), 50, True) as rows:
        return in_turns(repeats, ours=selection(rows), peer=lambda: X.T @ residual)


def sparse_fit(repeats: int, n_features: int = 100) -> dict[str, Any]:
    X, y = sparse_rows(100_000, 20_000, 50)
    meter = Meter()
    clf = ShareBoostClassifier(n_features).fit(X, y)
    return meter.read() | {
        "loss": float(clf.path_.losses[-1]),
        "features": len(clf.selected_),
    }


def refit(repeats: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 200), dtype=np.float32)
    y = rng.integers(10, size=60_000)
    W = 0.1 * rng.standard_normal((10, 200))
    weights = np.ascontiguousarray(W.T, dtype=np.float32)
    shares = rng.random((60_000, 10), dtype=np.float32)
    columns = np.asfortranarray(X)  # the order that a fit has; here also the faster one for BLAS
    with Rows(X, y, np.ones(y.size), Columns().fit(X), 10, False) as rows:
        for atom in range(200):
            rows.append(atom)

        def evaluate() -> None:
            W[0, 0] *= -1.0  # the point evaluated last is not evaluated again
            rows.evaluate(W, LogisticLoss())

        blas = ThreadpoolController().select(user_api="blas")

        def multiply() -> None:
            with blas.limit(limits=2):  # the rows keep it to one
                columns @ weights
                columns.T @ shares

        return in_turns(repeats, ours=evaluate, peer=multiply)


def predict(repeats: int, dtype: Any = np.float32) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 20)).astype(dtype)
    y = np.argmax(X @ rng.standard_normal((20, 10)), axis=1)
    clf = ShareBoostClassifier(20).fit(X[:5000], y[:5000])
    peer = LogisticRegression().fit(X[:5000], y[:5000])
    return in_turns(10 * repeats, ours=lambda: clf.predict(X), peer=lambda: peer.predict(X))


def predict_float64(repeats: int) -> dict[str, Any]:
    return predict(repeats, np.float64)


def memory(repeats: int) -> dict[str, Any]:
    """What a fit adds to the peak, beside the bytes of a float32 X."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 4000), dtype=np.float32)
    y = rng.integers(10, size=60_000)
    ShareBoostClassifier(2).fit(X[:500], y[:500])
    meter = Meter()
    ShareBoostClassifier(10).fit(X, y)
    return meter.read() | {"matrix": X.nbytes / 2**20}


LIMITS = {
    each.__name__: each
    for each in (dense, sparse, sparse_fit, refit, predict, predict_float64, memory)
}

if __name__ == "__main__":
    print(json.dumps(LIMITS[sys.argv[1]](int(sys.argv[2]))))
