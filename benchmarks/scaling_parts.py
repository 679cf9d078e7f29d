"""The cost of every part of a round by itself: sums of a block, tasks, bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from cost_model import BLOCK_ROWS, levels
from distributed import Client

from shareboost.backends.dask import worker
from shareboost.backends.dask.executor import BlockTasks, DaskExecutor
from shareboost.backends.dask.worker import WorkerShard
from shareboost.dataset import Sample
from shareboost.losses import LogisticLoss
from shareboost.pools import Columns, Stumps
from shareboost.shard import RESIDUAL, Chosen

TITLES = {
    "dense": "statistics, row x dense column x class",
    "stored": "statistics, stored entry x class",
    "sparse_sum": "statistics, sparse column x class, every 4096 rows",
    "stump": "statistics, row x column of stumps x class",
    "prepared": "statistics, row x class",
    "product": "evaluation, row x chosen column x class, twice",
    "softmax": "evaluation, row x class",
    "appended": "row of a chosen column, written, centred and multiplied by 20 others",
    "merged": "byte of a statistic added to another",
    "settled": "question to a block, whatever its rows",
    "scheduled": "task, on the scheduler",
    "started": "task, on its worker",
    "passed": "pass, on the scheduler and the client",
    "told": "byte that a task carries from the client",
    "moved": "byte between workers, over the loopback",
    "gathered": "row of a column that comes to the client",
    "message": "message between two processes",
    "round_trip": "pass, of the wall clock beside its tasks",
    "evaluations": "evaluations of a round, a number",
}


def median_seconds(question: Callable[[], Any], repeats: int = 7) -> float:
    """Return the median of some turns, after one that compiles."""
    question()
    found = []
    for _ in range(repeats):
        started = time.perf_counter()
        question()
        found.append(time.perf_counter() - started)
    return float(np.median(found))


def processor_time(question: Callable[[], Any], repeats: int = 9) -> float:
    """Return the median of what some turns take of the processor: other work does not count."""
    question()
    found = []
    for _ in range(repeats):
        started = time.process_time()
        question()
        found.append(time.process_time() - started)
    return float(np.median(found))


def slope(sizes: Any, seconds: Any) -> tuple[float, float]:
    """Return the seconds of one more, and of none; neither below zero."""
    each, none = np.polyfit(sizes, seconds, 1)
    return max(float(each), 0.0), max(float(none), 0.0)


def shard_of(pool: Any, X: Any, k: int) -> WorkerShard:
    """Return encoded rows with random labels, their residuals at zero."""
    n = X.shape[0]
    y = np.random.default_rng(0).integers(k, size=n)
    found = worker.encoded(k, True, None, pool.fit(X), Sample(X, y, np.ones(n)))
    with found.at_work():
        found.evaluate(np.zeros((k, 1)), LogisticLoss(1.0), 1)
    return found


def statistics_seconds(pool: Any, X: Any, k: int) -> float:
    """Return the seconds of a block's statistics."""
    shard = shard_of(pool, X, k)
    asked = np.zeros(k), [(RESIDUAL, False)], shard.pool.parts(k)
    with shard.at_work():
        return processor_time(partial(shard.statistics, *asked))


def sparse_rows(n: int, d: int, stored: int) -> sp.csr_array:
    """Return rows of so many entries each at random places, none twice in a row."""
    rng = np.random.default_rng(0)
    first = rng.integers(d // stored, size=(n, stored))
    places = first + np.arange(stored) * (d // stored)
    values = rng.standard_normal(n * stored).astype(np.float32)
    pointers = np.arange(0, n * stored + 1, stored)
    return sp.csr_array((values, places.ravel().astype(np.int32), pointers), shape=(n, d))


def block_costs(quick: bool) -> dict[str, float]:
    """Return the costs of what a worker computes of a block's rows, in this process."""
    rng = np.random.default_rng(0)
    n, k = (BLOCK_ROWS if quick else 8 * BLOCK_ROWS), 20
    wide = rng.standard_normal((n, 400), dtype=np.float32)
    some = (50, 400)
    seconds = [statistics_seconds(Columns(), wide[:, :d].copy(), k) for d in some]
    dense, none = slope(some, seconds)
    few = 1 if quick else 4  # blocks of 4096 rows
    many = 100  # classes
    sizes = (1000, 10_000) if quick else (1000, 100_000)
    sparse = [
        statistics_seconds(Columns(), sparse_rows(few * BLOCK_ROWS, d, 100), many) for d in sizes
    ]
    column, entries = slope(sizes, sparse)
    d = 20
    stumps = statistics_seconds(Stumps(), wide[:, :d].copy(), k)
    found = {
        "dense": dense / (n * k),
        "prepared": none / (n * k),
        "sparse_sum": column / (few * many),
        "stump": (stumps - none) / (n * d * k),
    }
    prepared = found["prepared"] * few * BLOCK_ROWS * many
    found["stored"] = max(entries - prepared, 0.0) / (few * BLOCK_ROWS * 100 * many)
    return found | evaluation_costs(wide, k) | {"merged": merged_cost(quick)}


def evaluation_costs(X: Any, k: int) -> dict[str, float]:
    """Return what an evaluation costs for each chosen column, and without any."""
    shard = shard_of(Columns(), X, k)
    sizes, seconds = (5, 40), []
    with shard.at_work():
        for j in range(max(sizes)):
            chosen = Chosen(j, np.zeros(1), np.ones(1))
            shard.settle(worker.State((*shard._state.chosen, chosen)))
        rng = np.random.default_rng(1)
        for m in sizes:
            W = rng.standard_normal((k, m)) / 10
            seconds.append(processor_time(partial(shard.evaluate, W, LogisticLoss(1.0), m)))
    each, none = slope(sizes, seconds)
    ask = partial(
        worker.asked, worker.State(), [("total_curvature",)], shard_of(Columns(), X[:10], k)
    )
    return {
        "product": each / (2 * len(X) * k),
        "softmax": none / (len(X) * k),
        "settled": processor_time(ask),
        "appended": appended_seconds(shard, 20) / len(X),
    }


def appended_seconds(shard: WorkerShard, place: int) -> float:
    """Return the seconds of a column appended at a place."""

    def append() -> None:
        shard.write(0, place, place + 1)
        shard.scale(place, place + 1, np.zeros(1), np.ones(1))

    with shard.at_work():
        return processor_time(append)


def merged_cost(quick: bool) -> float:
    """Return the seconds of a byte that is added to another."""
    size = 1 << 20 if quick else 1 << 22
    left, right = (np.random.default_rng(i).random(size) for i in (0, 1))
    return processor_time(lambda: worker.added((left,), (right,))) / (8 * size)


def nothing(*given: Any) -> None:
    """Return None, whatever is given: a task that takes no time."""


def chain(executor: DaskExecutor, n: int) -> Any:
    """Compute n tasks, each of which waits for the one before."""
    tasks = BlockTasks(executor, {}, [None])
    for _ in range(n):
        tasks = tasks.map("chain", nothing)
    return tasks.computed()


def tree(executor: DaskExecutor, n: int, carried: Any = None) -> Any:
    """Compute a pass of n leaves, none of which has anything to do."""
    return executor.map("null", partial(nothing, carried), [()] * n, {}).merged(nothing)


def processor_seconds(client: Client, question: Callable[[], Any], repeats: int) -> Any:
    """Return what a question takes of this process, which schedules, and of all workers."""
    question()
    here, there = time.process_time(), sum(client.run(time.process_time).values())
    for _ in range(repeats):
        question()
    here, there = time.process_time() - here, sum(client.run(time.process_time).values()) - there
    return np.array([here, there]) / repeats


def cluster_costs(client: Client, quick: bool) -> dict[str, float]:
    """Return the costs of tasks and of bytes that move."""
    executor = DaskExecutor()
    sizes = (10, 50) if quick else (10, 100, 1000)
    tasks = [n + sum(levels(n)) for n in sizes]
    used = np.array(
        [processor_seconds(client, partial(tree, executor, n), max(3, 200 // n)) for n in sizes]
    )
    (scheduled, _), (started, _) = (slope(tasks, own) for own in used.T)
    least = partial(tree, executor, 1)  # two tasks
    passed = processor_seconds(client, least, 30)[0] - 2 * scheduled
    found = {"scheduled": scheduled, "started": started, "passed": max(passed, 0.0)}
    lengths = (1, 20)
    each, _ = slope(lengths, [median_seconds(partial(chain, executor, n), 9) for n in lengths])
    found["round_trip"] = max(median_seconds(least, 30) - 2 * each, 0.0)
    # From one task of a chain to the next: a message to the scheduler, and one back.
    found["message"] = max(each - found["scheduled"] - found["started"], 0.0) / 2
    n, carried = 20, np.zeros(125_000)
    plain, laden = (
        processor_seconds(client, partial(tree, executor, n, what), 5)[0]
        for what in (None, carried)
    )
    found["told"] = max(laden - plain, 0.0) / (n * carried.nbytes)
    return found | {"moved": moved_cost(client, quick), "gathered": gathered_cost(client, quick)}


def moved_cost(client: Client, quick: bool) -> float:
    """Return the seconds of a byte that a worker asks of another."""
    one, two = list(client.scheduler_info(n_workers=-1)["workers"])[:2]
    sizes, seconds = (1 << 20, 1 << 23 if quick else 1 << 26), []
    for size in sizes:
        found = []
        for _ in range(5):
            made = client.submit(np.ones, size // 8, workers=[one], pure=False)
            made.result()
            started = time.perf_counter()
            client.submit(len, made, workers=[two], pure=False).result()
            found.append(time.perf_counter() - started)
        seconds.append(np.median(found))
    return slope(sizes, seconds)[0]


def gathered_cost(client: Client, quick: bool) -> float:
    """Return the seconds of a row whose entry of four bytes comes to the client."""
    n, blocks = (1 << 20 if quick else 1 << 22), 16
    parts = [
        client.submit(np.zeros, (1, n // blocks), np.float32, pure=False) for _ in range(blocks)
    ]
    return median_seconds(lambda: np.concatenate(client.gather(parts), axis=1), 5) / n
