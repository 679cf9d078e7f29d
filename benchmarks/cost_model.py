"""What a round on a cluster takes, in closed form: a sum over its passes.

    seconds of a round = statistics' passes + (gathered) a column + the client's refit
                         or (summed) the passes of a refit
    seconds of a pass  = round trip + max(scheduler, workers) + tree

``scaling.py`` measures the costs, ``cluster_simulation.py`` plays the same passes task by task.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

BRANCHES = 8  # of shareboost.backends.dask.executor
ANSWER_BYTES = 1 << 26  # of a pass over some of the columns, where they are sparse
BLOCK_ROWS = 4096  # that a worker computes at once
GIGABIT_10 = 10e9 / 8  # bytes a second
# A refit on the cluster: sums of the new column, its products, and its values on the client's
# sample, beside its evaluations.
PASSES_OF_A_SUMMED_REFIT = 3


@dataclass(frozen=True)
class Costs:
    """Seconds of one thread, each for one of what it says."""

    dense: float = 0.0  # row x column x class, of statistics
    stored: float = 0.0  # stored entry x class
    sparse_sum: float = 0.0  # sparse column x class, of every 4096 rows
    stump: float = 0.0  # row x column x class
    prepared: float = 0.0  # row x class, of statistics
    product: float = 0.0  # row x chosen column x class; an evaluation has two
    softmax: float = 0.0  # row x class, of an evaluation
    appended: float = 0.0  # row of a chosen column: written, centred, multiplied by the others
    merged: float = 0.0  # byte of a statistic added to another
    settled: float = 0.0  # question to a block, whatever its rows
    scheduled: float = 0.0  # task, on the scheduler
    started: float = 0.0  # task, on its worker
    passed: float = 0.0  # pass, on the scheduler and the client
    told: float = 0.0  # byte that a task carries from the client, on the scheduler
    moved: float = 0.0  # byte between workers, here over the loopback
    gathered: float = 0.0  # row of a column that comes to the client
    message: float = 0.0  # from a process to another
    round_trip: float = 0.0  # pass, of the wall clock beside its tasks
    evaluations: float = 8.0  # a number: of a round's refit


@dataclass(frozen=True)
class Work:
    """A fit on a cluster."""

    rows: int
    columns: int
    classes: int
    features: int
    blocks: int
    workers: int
    summed: bool = False  # refits on the cluster
    stored: int | None = None  # entries a row, of sparse rows
    scattered: bool = True  # blocks lie anywhere, as Dask has them; else neighbours together
    threads: int = 1  # of a worker and of the client
    bandwidth: float | None = None  # bytes a second of each link; None: what was measured
    latency: float = 0.0  # seconds that the network adds to a message


class Pass(NamedTuple):
    """One question to all blocks."""

    name: str
    leaf: float  # seconds of a block
    answer: float  # bytes of a block's answer
    tells: float  # bytes that every task carries
    merges: bool = True  # else the answers come to the client as they are
    scores: bool = False  # whether the last task scores them


def passes(costs: Costs, work: Work, m: int) -> list[Pass]:
    """Return the passes of a round with m columns in use, the intercept's included."""
    n, k = work.rows / work.blocks, work.classes
    answer, tells = 8.0 * k * work.columns, 8.0 * k * m
    evaluation = costs.settled + n * k * (2 * m * costs.product + costs.softmax)
    residuals = n * k * (m * costs.product + costs.softmax)
    n_parts = 1 if work.stored is None else math.ceil(answer / ANSWER_BYTES)
    statistics = costs.settled + n * k * costs.prepared + block_statistics(costs, work, n) / n_parts
    found = [Pass("statistics", statistics, answer / n_parts, tells, scores=True)] * n_parts
    if not work.summed:
        found[0] = found[0]._replace(leaf=statistics + residuals + n * costs.appended)
        return [*found, Pass("column", costs.settled, 4.0 * n, 0.0, merges=False)]
    small = [Pass("refit", costs.settled, 8.0 * k, tells)] * PASSES_OF_A_SUMMED_REFIT
    n_evaluations = round(costs.evaluations)
    small[0] = small[0]._replace(leaf=costs.settled + n * costs.appended)
    own = [Pass("evaluation", evaluation, 8.0 * k * m, tells)] * n_evaluations
    return [*found, *small, *own]


def block_statistics(costs: Costs, work: Work, n: float) -> float:
    """Return the seconds of the statistics of a block of n rows."""
    k = work.classes
    if work.stored is None:
        return n * work.columns * k * costs.dense
    sums = math.ceil(n / BLOCK_ROWS) * work.columns * k * costs.sparse_sum
    return n * work.stored * k * costs.stored + sums


def n_tasks(n_blocks: int, one: Pass) -> int:
    """Return the tasks of a pass: a leaf a block, the sums of a tree, the scores."""
    return n_blocks + (sum(levels(n_blocks)) if one.merges else 0) + one.scores


def levels(n: int) -> list[int]:
    """Return how many sums each level of the tree has: always one level at least."""
    found = []
    while n > 1 or not found:
        n = math.ceil(n / BRANCHES)
        found.append(n)
    return found


def seconds_of_pass(costs: Costs, work: Work, one: Pass) -> float:
    """Return the seconds of a pass in closed form."""
    b = math.ceil(work.blocks / work.workers)
    tells = work.blocks * one.tells * told(costs, work)
    scheduler = n_tasks(work.blocks, one) * costs.scheduled + tells
    workers = b * costs.started + math.ceil(b / work.threads) * one.leaf
    each = message(costs, work)
    found = costs.round_trip + each + max(scheduler, workers)
    if not one.merges:
        return found + work.rows * (costs.gathered + 4.0 * network(work))
    per_byte = moved(costs, work)
    size = 1  # blocks of an input
    n = work.blocks
    for above in levels(n):
        inputs = min(BRANCHES, n)
        away = inputs - inputs_here(work, inputs, size)
        sums = math.ceil(above / work.workers)  # of the level, one after the other on a worker
        found += sums * (
            away * one.answer * per_byte + (inputs - 1) * one.answer * costs.merged + costs.started
        )
        found += 2 * each + (each if away else 0.0)
        n, size = above, size * BRANCHES
    return found


def seconds_of_round(costs: Costs, work: Work, m: int) -> float:
    """Return the seconds of a round with m columns in use."""
    found = sum(seconds_of_pass(costs, work, one) for one in passes(costs, work, m))
    return found + client_refit(costs, work, m)


def client_refit(costs: Costs, work: Work, m: int) -> float:
    """Return the seconds of a refit on the client: none where it is on the cluster."""
    if work.summed:
        return 0.0
    each = work.rows * work.classes * (2 * m * costs.product + costs.softmax)
    return (costs.evaluations * each + work.rows * costs.appended) / work.threads


def seconds_of_rounds(costs: Costs, work: Work) -> float:
    """Return the seconds of all rounds of a fit."""
    return sum(seconds_of_round(costs, work, m + 1) for m in range(work.features))


def bytes_of_round(work: Work, m: int, evaluations: float) -> dict[str, float]:
    """Return the bytes of a round: of statistics in the tree, of columns, of what tasks carry."""
    k = work.classes
    edges = work.blocks + sum(levels(work.blocks)[:-1])
    some = replace(Costs(), evaluations=evaluations)
    every = passes(some, work, m)
    return {
        "tree": sum(edges * one.answer for one in every if one.merges),
        "between workers": sum(away(work) * one.answer for one in every if one.merges),
        "column": 0.0 if work.summed else 4.0 * work.rows,
        "tasks": sum(work.blocks * one.tells for one in every),
        "scores": 8.0 * work.columns + 8.0 * k * m,
    }


def inputs_here(work: Work, inputs: int, size: int) -> float:
    """Return how many inputs of a sum, each of so many blocks, its own worker has already."""
    if work.scattered:
        return max(1.0, inputs / work.workers)
    return min(inputs, max(1, math.ceil(work.blocks / work.workers) // size))


@lru_cache
def workers_of(n_blocks: int, n_workers: int, scattered: bool) -> list[int]:
    """Return the worker of every block: as many to each."""
    found = [block * n_workers // n_blocks for block in range(n_blocks)]
    if scattered:
        random.Random(0).shuffle(found)
    return found


def away(work: Work) -> int:
    """Return the edges of the tree between two workers; a sum is where most of its inputs are."""
    own, found = workers_of(work.blocks, work.workers, work.scattered), 0
    for _ in levels(work.blocks):
        groups = [own[start : start + BRANCHES] for start in range(0, len(own), BRANCHES)]
        own = [max(group, key=group.count) for group in groups]
        found += sum(len(group) - group.count(at) for group, at in zip(groups, own, strict=True))
    return found


def message(costs: Costs, work: Work) -> float:
    """Return the seconds of a message."""
    return costs.message + work.latency


def network(work: Work) -> float:
    """Return the seconds of a byte on a link."""
    return 0.0 if work.bandwidth is None else 1.0 / work.bandwidth


def moved(costs: Costs, work: Work) -> float:
    """Return the seconds of a byte from a worker to another: of its processor or of its link."""
    return max(costs.moved, network(work))


def told(costs: Costs, work: Work) -> float:
    """Return the seconds of a byte that a task carries."""
    return max(costs.told, network(work))
