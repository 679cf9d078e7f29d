"""Whole fits on a cluster of this machine, with counts of all that the cost model asks for."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from cost_model import Work, levels
from distributed import Client

from shareboost import ShareBoostClassifier
from shareboost.backends.dask.executor import DaskExecutor
from shareboost.backends.dask.rows import DaskRows
from shareboost.rows import Rows

# Every size varied by itself, and two with large answers.
GRID = [
    Work(100_000, 100, 10, 10, 8, 2),
    Work(100_000, 100, 10, 10, 8, 2, summed=True),
    Work(100_000, 100, 10, 10, 8, 1),
    Work(100_000, 100, 10, 10, 8, 1, summed=True),
    Work(300_000, 100, 10, 10, 8, 2),
    Work(300_000, 100, 10, 10, 8, 2, summed=True),
    Work(100_000, 800, 10, 10, 8, 2),
    Work(100_000, 100, 30, 10, 8, 2),
    Work(100_000, 100, 30, 10, 8, 2, summed=True),
    Work(100_000, 100, 10, 30, 8, 2),
    Work(100_000, 100, 10, 10, 64, 2),
    Work(100_000, 100, 10, 4, 64, 2, summed=True),
    Work(20_000, 4000, 30, 6, 32, 2),
    Work(20_000, 4000, 30, 6, 32, 1),
]


@dataclass
class Fit:
    """A fit's rounds: their seconds and what they consist of."""

    work: Work
    seconds: float  # of processors: of this process, and of the workers by their number
    wall: float
    others: float  # share of the machine that other work had meanwhile
    scored: int  # passes of statistics
    scored_columns: int  # chosen columns in use, summed over them
    evaluations: int
    products: int  # chosen columns, summed over the two products of evaluations
    tasks: int
    passes: int


class Ledger:
    """Counts from the first selection on."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.started = math.nan
        self.before = np.zeros(2)
        self.counts = dict.fromkeys(
            ("scored", "scored_columns", "evaluations", "products", "tasks", "passes"), 0
        )

    def add(self, **counts: int) -> None:
        if not math.isnan(self.started):
            for name, n in counts.items():
                self.counts[name] += n

    @contextmanager
    def open(self) -> Iterator[Ledger]:
        """Count what methods of a fit are called with."""

        def scored(rows: Any, *_: Any) -> None:
            if math.isnan(self.started):
                self.before = own_seconds(self.client)
                self.started = time.perf_counter()
            self.add(scored=1, scored_columns=rows.n_columns)

        def evaluated(rows: Any, W: Any, _: Any, n_columns: int) -> None:
            some = getattr(rows.shard, "_some", ())
            if all(isinstance(of_block, slice) for of_block in some):  # else a sample
                self.add(evaluations=1, products=W.shape[1] + n_columns)

        def submitted(_: Any, tasks: Any) -> None:
            self.add(tasks=len(tasks.graph), passes=1)

        with (
            watched(DaskRows, "scored", scored),
            watched(Rows, "_evaluated", evaluated),
            watched(DaskExecutor, "submitted", submitted),
        ):
            yield self


@contextmanager
def watched(owner: type, method: str, see: Callable[..., None]) -> Iterator[None]:
    """Have every call of a method seen before it is made."""
    original = getattr(owner, method)

    def seen(*arguments: Any) -> Any:
        see(*arguments)
        return original(*arguments)

    setattr(owner, method, seen)
    try:
        yield
    finally:
        setattr(owner, method, original)


def rows_block(seed: int, n: int, d: int, k: int) -> np.ndarray:
    """Return rows of k classes, the label of each in the first column.

    The classes differ in a fifth of the columns.
    """
    rng, one = np.random.default_rng(seed), np.random.default_rng(12345)
    centres = one.normal(size=(k, d)).astype(np.float32) * (one.random(d) < 0.2)
    y = rng.integers(k, size=n)
    X = rng.standard_normal((n, d), dtype=np.float32) + np.float32(0.5) * centres[y].astype("f")
    return np.column_stack([y.astype(np.float32), X])


def spread(client: Client, work: Work) -> tuple[da.Array, da.Array]:
    """Return rows and labels, made on the workers and held there."""
    n, d = work.rows // work.blocks, work.columns
    blocks = [
        da.from_delayed(dask.delayed(rows_block)(seed, n, d, work.classes), (n, d + 1), np.float32)
        for seed in range(work.blocks)
    ]
    both = da.concatenate(blocks)
    X, y = client.persist([both[:, 1:], both[:, 0].astype(np.int64)])
    return X, y


def measured_fits(client: Client, grid: Sequence[Work], repeats: int) -> list[Fit]:
    """Return every fit of a grid, the middle one of some turns."""
    return [measured_fit(client, work, repeats) for work in grid]


def measured_fit(client: Client, work: Work, repeats: int) -> Fit:
    X, y = spread(client, work)
    clf = ShareBoostClassifier(work.features)
    found = []
    memory = "1 B" if work.summed else "100 GB"
    with dask.config.set({"shareboost.client-memory": memory}):
        ShareBoostClassifier(2).fit(X, y)  # compiles, on every worker
        for _ in range(repeats):
            with Ledger(client).open() as ledger:
                machine, began = machine_seconds(), own_seconds(client)
                started = time.perf_counter()
                clf.fit(X, y)
                ended, own = time.perf_counter(), own_seconds(client)
            others = machine_seconds() - machine - (own - began).sum()
            share = max(others, 0.0) / ((ended - started) * (os.cpu_count() or 1))
            here, there = own - ledger.before
            found.append((here + there / work.workers, ended - ledger.started, share))
    seconds, wall, share = sorted(found)[len(found) // 2]
    print(f"{work}: {seconds:.2f} s, other work {share:.0%}", file=sys.stderr, flush=True)
    return Fit(work, seconds, wall, share, **ledger.counts)


def machine_seconds() -> float:
    """Return the seconds that all processors worked, or were lent to others, since they began."""
    kinds = Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
    user, nice, system, _, _, *rest = map(int, kinds)
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def own_seconds(client: Client) -> np.ndarray:
    """Return the seconds that this process worked, and all workers."""
    return np.array([time.process_time(), sum(client.run(time.process_time).values())])


# What the processors' seconds of a fit are a sum of, by fields of Costs.
COSTS = (
    "dense",
    "prepared",
    "product",
    "softmax",
    "scheduled",
    "started",
    "passed",
    "gathered",
    "appended",
    "merged",
)
# The same as least squares tell them apart: in words, and the places of what is one to them.
TERMS = {
    "row x column x class of statistics": [0],
    "row x class": [1, 3],
    "row x chosen column x class": [2],
    "task": [4],
    "pass": [6],
    "row of a column that is gathered and appended": [7],
    "byte of a statistic in the tree": [9],
}


def coefficients(fit: Fit) -> np.ndarray:
    """Return how many of each cost a fit has; those of the workers are divided by their number."""
    work, n = fit.work, fit.work.rows
    nk, share = n * work.classes, 1 / work.workers
    if work.summed:
        products, softmaxes = fit.products * share, fit.evaluations * share
    else:
        products = fit.products + fit.scored_columns * share
        softmaxes = fit.evaluations + fit.scored * share
    edges = work.blocks + sum(levels(work.blocks)[:-1])
    answers = fit.scored * edges * 8 * work.classes * work.columns
    found = {
        "dense": nk * work.columns * fit.scored * share,
        "prepared": nk * fit.scored * share,
        "product": nk * products,
        "softmax": nk * softmaxes,
        "scheduled": fit.tasks,
        "started": fit.tasks * share,
        "passed": fit.passes,
        "gathered": 0 if work.summed else n * work.features,
        "appended": n * work.features * (share if work.summed else 1 + share),
        "merged": answers * share,
    }
    return np.array([found[name] for name in COSTS], dtype=float)


def terms(fit: Fit) -> np.ndarray:
    """Return how many of each term of the least squares a fit has."""
    own = coefficients(fit)
    return np.array([own[places].sum() for places in TERMS.values()])
