"""The workers of a connected client: tasks of blocks, and their results merged in a tree."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import count
from typing import Any
from uuid import uuid4

from dask import config
from dask.task_spec import Task, TaskRef
from distributed import Client, WorkerPlugin, default_client
from distributed.client import Future
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

Key = Any  # of a task in a graph
Graph = dict[Key, Any]
Merge = Callable[[Any, Any], Any]

# Results that one task of the tree merges.
BRANCHES = 8
# The share of the workers' memory that rows and their encoding may take to be held there. What is
# left is for chosen columns, residuals, statistics, and the programs themselves.
HELD_SHARE = 0.4
# How often Dask computes a task again that raised, such as one that reads a block from storage.
RETRIES = 2
# Seconds without any worker after which a fit gives up; one that is restarted is back sooner.
PATIENCE = 15.0
# Seconds between two looks at the workers while results are awaited.
LOOK_EVERY = 1.0

# What goes wrong with a cluster, and what to do about it, by the kind of the error.
CAUSES: dict[type[BaseException], str] = {
    CommClosedError: "The scheduler of {client} cannot be reached (connect to a cluster and call "
    "fit again)",
    KilledWorker: "Several workers in turn ended while they computed the same block, most often "
    "because it takes more memory than a worker has: make blocks of fewer rows",
    CancelledError: "The cluster lost or cancelled what it was asked for, because the client was "
    "restarted, or rows were scattered and their only worker ended",
    Exception: "A block of the rows could not be computed",
}
KEPT = "Finished rounds are in the checkpoint, if there is one"


class ClusterError(RuntimeError):
    """The cluster could not compute what was asked of it."""


class DaskExecutor:
    """The workers of the connected client.

    Every task is a pure function of its arguments, and all that it needs is in the graph or held as
    the result of such tasks. So Dask computes anew what is lost with a worker, to the same bits.
    """

    def __init__(self) -> None:
        try:
            self.client: Client = default_client()
        except ValueError:
            raise ValueError(
                "X is Dask's, and no client is connected: connect one first, such as "
                "dask.distributed.Client() for the cores of this machine, or give X.compute()."
            ) from None
        if self.client.asynchronous:
            raise ValueError(
                "The connected client is asynchronous, and fit is not: connect one with "
                "asynchronous=False."
            )
        self._run = uuid4().hex[:8]
        self._passes = count()
        self._held: list[Future] = []

    def map(
        self, what: str, functions: Any, arguments: Sequence[Sequence[Key]], graph: Graph
    ) -> BlockTasks:
        """Return tasks that apply a function, or one per block, to results of tasks of a graph.

        All else that a function takes is in a ``partial``: Dask looks for no keys there.
        """
        if callable(functions):
            functions = [functions] * len(arguments)
        name = f"shareboost-{what}-{self._run}-{next(self._passes)}"
        tasks = {}
        for i, (function, keys) in enumerate(zip(functions, arguments, strict=True)):
            tasks[name, i] = Task((name, i), function, *map(TaskRef, keys))
        return BlockTasks(self, graph | tasks, list(tasks))

    def hold(self, tasks: BlockTasks, n_bytes: float | None = None) -> BlockTasks:
        """Return tasks whose results stay on the workers, if these have room for so many bytes."""
        if n_bytes is not None:
            with self._in_plain_words():
                workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            limit = sum(worker["memory_limit"] or math.inf for worker in workers) or math.inf
            if not n_bytes <= HELD_SHARE * limit:
                return tasks
        self._held += self.submitted(tasks)
        return replace(tasks, graph={})

    def release(self) -> None:
        """Have the workers forget what they hold."""
        for future in self._held:
            future.release()
        self._held.clear()

    def submitted(self, tasks: BlockTasks) -> Any:
        """Return the results of tasks as futures."""
        with self._in_plain_words():
            return self.client.get(tasks.graph, list(tasks.keys), sync=False, retries=RETRIES)

    def gathered(self, futures: list[Future]) -> list[Any]:
        """Return the results of futures; give up where there is no worker for too long."""
        patience = float(config.get("shareboost.worker-patience", PATIENCE))
        loop: Any = self.client.loop
        with self._in_plain_words():
            results = self.client.gather(futures, asynchronous=True)
            gathering = asyncio.run_coroutine_threadsafe(results, loop.asyncio_loop)
            seen = time.monotonic()
            try:
                while not wait([gathering], timeout=LOOK_EVERY).done:
                    seen = time.monotonic() if self.client.ncores() else seen
                    if time.monotonic() - seen > patience:
                        raise ClusterError(
                            f"The cluster has had no worker for {patience:.0f} seconds. {KEPT}: "
                            "start workers and call fit again. Where they take longer to start, "
                            "set shareboost.worker-patience in Dask's configuration."
                        )
                return list(gathering.result())
            finally:
                gathering.cancel()

    @contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        """Raise ``ClusterError``, which says what to do, for what goes wrong with a cluster."""
        try:
            if self.client.status != "running":
                raise CommClosedError(f"the client is {self.client.status}")
            yield
        except ClusterError:
            raise
        except Exception as error:
            kind = type(error) if self.client.status == "running" else CommClosedError
            cause = next(CAUSES[base] for base in kind.__mro__ if base in CAUSES)
            raise ClusterError(
                f"{cause.format(client=self.client)}: {type(error).__name__}: {error}. {KEPT}."
            ) from error


@dataclass(frozen=True)
class BlockTasks:
    """Tasks that compute a value per block, such as its rows."""

    executor: DaskExecutor
    graph: Graph  # empty where the workers hold the values
    keys: Sequence[Key]  # of the values

    def map(self, what: str, functions: Any, *first: Key) -> BlockTasks:
        """Return tasks of a function, or one per block, of ``first`` and of the value."""
        return self.executor.map(what, functions, [(*first, key) for key in self.keys], self.graph)

    def computed(self) -> list[Any]:
        """Return the values, here."""
        futures = self.executor.submitted(self)
        try:
            return self.executor.gathered(futures)
        finally:  # also cancels what is not computed yet
            for future in futures:
                future.release()

    def merged(self, merge: Merge, then: Callable[..., Any] | None = None, *given: Key) -> Any:
        """Return the values merged in their order, by a tree of tasks.

        ``then`` is called with results of other tasks and with all of it, where that is.
        """
        tasks = self
        while tasks is self or len(tasks.keys) > 1:
            some = [tasks.keys[i : i + BRANCHES] for i in range(0, len(tasks.keys), BRANCHES)]
            tasks = self.executor.map("sum", partial(_merged, merge), some, tasks.graph)
        if then is not None:
            tasks = tasks.map("score", then, *given)
        (total,) = tasks.computed()
        return total


def _merged(merge: Merge, *parts: Any) -> Any:
    return reduce(merge, parts)


class TensorsTravel(WorkerPlugin):
    """Has a worker send tensors of its devices; Dask itself sends those of the host alone."""

    name = "shareboost-tensors"
    idempotent = True

    def setup(self, worker: Any) -> None:
        import torch
        from distributed.protocol import dask_serialize

        of_host = dask_serialize.dispatch(torch.Tensor)

        @dask_serialize.register(torch.Tensor)
        def serialised(tensor: Any) -> Any:
            if tensor.device.type != "cpu":
                raise NotImplementedError  # Dask pickles it then: to the host and back
            return of_host(tensor)
