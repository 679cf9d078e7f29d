"""A cluster of any number of workers, played task by task with the costs measured on this one.

    python benchmarks/cluster_simulation.py COSTS.json

COSTS.json is what ``scaling.py --json`` wrote. Prints rounds of 10, 100 and 1000 workers, by the
simulation and by the closed form of ``cost_model.py``, and what a billion rows would take.

A pass is played as an event after the other: the scheduler hands out one task at a time, a worker
computes as many as it has threads, an answer that is elsewhere comes over the links of both
workers, one at a time on each, and a sum goes to the worker that has most of what it adds.
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from cost_model import (
    BRANCHES,
    GIGABIT_10,
    Costs,
    Pass,
    Work,
    bytes_of_round,
    client_refit,
    message,
    moved,
    n_tasks,
    network,
    passes,
    seconds_of_round,
    told,
    workers_of,
)


@dataclass
class Task:
    """A node of a pass."""

    worker: int | None  # None: where most of its inputs are
    seconds: float
    inputs: list[int] = field(default_factory=list)
    waits_for: int = 0
    then: list[int] = field(default_factory=list)


def graph_of(costs: Costs, work: Work, one: Pass) -> list[Task]:
    """Return the tasks of a pass, leaves first."""
    own = workers_of(work.blocks, work.workers, work.scattered)
    tasks = [Task(worker, costs.started + one.leaf) for worker in own]
    if not one.merges:
        return tasks
    level = list(range(work.blocks))
    above: list[int] = []
    while len(level) > 1 or not above:
        above = []
        for start in range(0, len(level), BRANCHES):
            inputs = level[start : start + BRANCHES]
            merged = (len(inputs) - 1) * one.answer * costs.merged
            above.append(len(tasks))
            tasks.append(Task(None, costs.started + merged, inputs))
        level = above
    if one.scores:
        tasks.append(Task(None, costs.started, level))
    for place, task in enumerate(tasks):
        task.waits_for = len(task.inputs)
        for own in task.inputs:
            tasks[own].then.append(place)
    return tasks


class Cluster:
    """The clocks of a pass: the scheduler's, every worker's threads, every link's."""

    def __init__(self, costs: Costs, work: Work):
        self.costs, self.work = costs, work
        self.message = message(costs, work)
        self.now = self.end = 0.0
        self.scheduler = 0.0
        self.threads = [[0.0] * work.threads for _ in range(work.workers)]
        self.outgoing = [0.0] * work.workers
        self.incoming = [0.0] * work.workers
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, moment: float, event: Callable[[], None]) -> None:
        """Have something happen at a moment."""
        heapq.heappush(self._events, (moment, next(self._order), event))

    def play(self, one: Pass) -> float:
        """Return the seconds of a pass."""
        tasks = graph_of(self.costs, self.work, one)
        carried = one.tells * told(self.costs, self.work)

        def ready(place: int) -> None:
            """The scheduler hands a task out, after those before it."""
            handing = self.costs.scheduled + (carried if place < self.work.blocks else 0.0)
            self.scheduler = max(self.scheduler, self.now) + handing
            self.at(self.scheduler + self.message, lambda: fetch(place))

        def fetch(place: int) -> None:
            """Its worker asks for what it has not."""
            task = tasks[place]
            if task.worker is None:
                held = Counter(tasks[own].worker for own in task.inputs)
                task.worker = max(held, key=lambda worker: held[worker])
            arrived = self.now
            for own in task.inputs:
                if tasks[own].worker != task.worker:
                    arrived = max(arrived, self._move(tasks[own].worker, task.worker, one.answer))
            self.at(arrived, lambda: compute(place))

        def compute(place: int) -> None:
            """The first thread that is free takes it."""
            threads = self.threads[tasks[place].worker]  # type: ignore[index]
            start = max(self.now, threads[0])
            heapq.heapreplace(threads, start + tasks[place].seconds)
            end = start + tasks[place].seconds
            self.end = max(self.end, end)
            self.at(end + self.message, lambda: done(place))

        def done(place: int) -> None:
            for other in tasks[place].then:
                tasks[other].waits_for -= 1
                if not tasks[other].waits_for:
                    ready(other)

        for place, task in enumerate(tasks):
            if not task.inputs:
                self.at(0.0, lambda place=place: ready(place))  # type: ignore[misc]
        while self._events:
            self.now, _, event = heapq.heappop(self._events)
            event()
        found = self.end + self.costs.round_trip
        if not one.merges:
            found += self.work.rows * (self.costs.gathered + 4.0 * network(self.work))
        return found

    def _move(self, source: int | None, target: int, size: float) -> float:
        """Send an answer; return when it is there."""
        assert source is not None
        start = max(self.now, self.outgoing[source], self.incoming[target])
        end = start + self.message + size * moved(self.costs, self.work)
        self.outgoing[source] = self.incoming[target] = end
        return end


def simulated_pass(costs: Costs, work: Work, one: Pass) -> float:
    """Return the seconds of a pass, played on a cluster where nothing else runs."""
    return Cluster(costs, work).play(one)


def simulated_round(costs: Costs, work: Work, m: int) -> float:
    """Return the seconds of a round with m columns in use; alike passes are played once."""
    alike = Counter(passes(costs, work, m))
    found = sum(times * simulated_pass(costs, work, one) for one, times in alike.items())
    return found + client_refit(costs, work, m)


# Of 10, 100 and 1000 workers of one thread, in a network of 10 Gbit/s.
DENSE = Work(100_000_000, 500, 20, 30, 0, 0, bandwidth=GIGABIT_10, latency=2e-4)
BILLION = Work(
    10**9, 10**5, 100, 100, 0, 0, summed=True, stored=100, bandwidth=GIGABIT_10, latency=2e-4
)
SIZES = (10, 100, 1000)


def compared(costs: Costs, base: Work, blocks_each: int, m: int) -> list[str]:
    """Return lines of a table: rounds by the simulation and in closed form."""
    lines = []
    for n in SIZES:
        for summed in (False, True):
            work = replace(base, workers=n, blocks=n * blocks_each, summed=summed)
            played, closed = simulated_round(costs, work, m), seconds_of_round(costs, work, m)
            refit = client_refit(costs, work, m)
            cells = [
                f"{n:,}",
                "cluster" if summed else "client",
                f"{work.blocks:,}",
                f"{played:.2f}",
                f"{closed:.2f}",
                f"{100 * (closed / played - 1):+.0f}%",
                f"{refit:.1f}" if refit else "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def memory(work: Work) -> dict[str, float]:
    """Return the bytes that rows take on the workers: as given, encoded, and what is computed."""
    n, k = work.rows, work.classes
    each = work.columns * 4 if work.stored is None else work.stored * 8 + 4
    coded = 0 if work.stored is None else work.stored * 6
    return {
        "rows": float(n * each),
        "encoded": float(n * coded),
        "columns": 4.0 * n * (work.features + 1),
        "residuals": 4.0 * n * k,
    }


def shares(costs: Costs, work: Work, m: int) -> dict[str, float]:
    """Return what a round in closed form would save without each of its costs, in seconds."""
    whole = seconds_of_round(costs, work, m)
    without = {
        "the workers' sums": replace(
            costs, dense=0.0, stored=0.0, sparse_sum=0.0, prepared=0.0, product=0.0, softmax=0.0
        ),
        "the scheduler": replace(costs, scheduled=0.0, told=0.0),
        "the tree": replace(costs, merged=0.0),
    }
    found = {name: whole - seconds_of_round(other, work, m) for name, other in without.items()}
    fast = replace(work, bandwidth=None, latency=0.0)
    found["the network"] = whole - seconds_of_round(replace(costs, moved=0.0), fast, m)
    return found


def billion(costs: Costs, threads: int, blocks_each: int) -> list[str]:
    """Return lines of a table: a billion sparse rows on some numbers of workers."""
    lines = []
    m = BILLION.features // 2 + 1  # a round in the middle stands for all
    for n in SIZES:
        work = replace(BILLION, workers=n, blocks=n * blocks_each, threads=threads)
        seconds = simulated_round(costs, work, m)
        sent = bytes_of_round(work, m, costs.evaluations)
        most = max(found := shares(costs, work, m), key=lambda name: found[name])
        cells = [
            f"{n:,} x {threads}",
            f"{work.blocks:,}",
            f"{sum(memory(work).values()) / n / 1e9:,.1f} GB",
            f"{sum(n_tasks(work.blocks, one) for one in passes(costs, work, m)):,}",
            f"{sent['between workers'] / 1e9:,.1f} GB",
            f"{sent['tasks'] / 1e9:,.2f} GB",
            f"{seconds:,.1f} s",
            f"{seconds_of_round(costs, work, m):,.1f} s",
            f"{seconds * work.features / 3600:,.1f} h",
            most,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main(costs: Costs) -> None:
    m = DENSE.features // 2 + 1
    print(
        f"Rounds of {DENSE.rows:,} x {DENSE.columns} dense rows, {DENSE.classes} classes, "
        f"{m} columns in use:\n\n"
        "| workers | refit on the | blocks | simulated, s | closed form, s | differs by "
        "| of it the client's refit, s |\n|---|---|---|---|---|---|---|"
    )
    print("\n".join(compared(costs, DENSE, 4, m)))
    rows, k = BILLION.rows, BILLION.classes
    print(
        f"\n{rows:,} rows x {BILLION.columns:,} sparse columns, {BILLION.stored} stored entries a "
        f"row, {k} classes, {BILLION.features} features:\n"
    )
    print("\n".join(f"- {name}: {n / 1e9:,.0f} GB" for name, n in memory(BILLION).items()))
    print(
        "\n| workers x threads | blocks | memory each | tasks a round | between workers | in tasks "
        "| a round | closed form | in all | most of it |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for threads, blocks_each in ((1, 1), (1, 16), (16, 16)):
        print("\n".join(billion(costs, threads, blocks_each)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("costs", type=Path, help="what scaling.py --json wrote")
    main(Costs(**json.loads(parser.parse_args().costs.read_text())["costs"]))
