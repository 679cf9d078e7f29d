"""The workers of a connected client: tasks of blocks, and their results merged in a tree."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

from dask import config
from dask.task_spec import Task, TaskRef
from distributed import Client, WorkerPlugin, default_client
from distributed.client import Future
from distributed.scheduler import KilledWorker

Key = Any  # of a task in a graph
Graph = dict[Key, Any]

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

KEPT = "Finished rounds are in the checkpoint, if there is one"


class ClusterError(RuntimeError):
    """The cluster could not compute what was asked of it."""


class Tasks(NamedTuple):
    """Tasks that compute a value per block, and the keys of these values.

    Values that the workers hold need no tasks: the graph is empty.
    """

    graph: Graph
    keys: Sequence[Key]


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
        self,
        what: str,
        functions: Callable[..., Any] | Sequence[Callable[..., Any]],
        given: Sequence[Sequence[Key | None]],
        graph: Graph,
    ) -> Tasks:
        """Return tasks that apply a function, or one per block, to results of tasks of a graph.

        A key None stands for the value None. All else that a function takes must be in it, as in a
        ``partial``: nothing then looks for keys there.
        """
        if callable(functions):
            functions = [functions] * len(given)
        name = self._name(what)
        own = {
            (name, i): Task(
                (name, i), function, *(key if key is None else TaskRef(key) for key in keys)
            )
            for i, (function, keys) in enumerate(zip(functions, given, strict=True))
        }
        return Tasks(graph | own, list(own))

    def _name(self, what: str) -> str:
        """Return a new name for tasks, which begins with what they do."""
        return f"shareboost-{what}-{self._run}-{next(self._passes)}"

    def hold(self, tasks: Tasks) -> Tasks:
        """Have the results of tasks stay on the workers until ``release``."""
        self._held += self._submitted(tasks)
        return Tasks({}, tasks.keys)

    def release(self) -> None:
        """Have the workers forget what they hold."""
        for future in self._held:
            future.release()
        self._held.clear()

    def each(self, tasks: Tasks) -> list[Any]:
        """Return the results of tasks here."""
        futures = self._submitted(tasks)
        try:
            return self._gathered(futures)
        finally:  # also cancels what is not computed yet
            for future in futures:
                future.release()

    def merged(
        self,
        tasks: Tasks,
        merge: Callable[[Any, Any], Any],
        then: Callable[..., Any] | None = None,
        *then_given: Key,
    ) -> Any:
        """Return the results of tasks merged in their order, by a tree of tasks; None is nothing.

        The last task also calls ``then`` with all of it, and with the results of other tasks.
        """
        name, level = self._name("sum"), 0
        graph, keys = dict(tasks.graph), tasks.keys
        while len(keys) > 1 or level == 0:
            some = [keys[i : i + BRANCHES] for i in range(0, len(keys), BRANCHES)]
            keys = [(f"{name}-{level}", i) for i in range(len(some))]
            for key, parts in zip(keys, some, strict=True):
                graph[key] = Task(key, partial(_merged, merge), *map(TaskRef, parts))
            level += 1
        tasks = Tasks(graph, keys)
        if then is not None:
            tasks = self.map("score", then, [(keys[0], *then_given)], graph)
        (total,) = self.each(tasks)
        return total

    def has_room(self, n_bytes: float) -> bool:
        """Return whether workers should hold so many bytes of rows and of their encoding."""
        with self._reaching_scheduler():
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] or math.inf for worker in workers]
        return n_bytes <= HELD_SHARE * (sum(limits) if limits else math.inf)

    def _submitted(self, tasks: Tasks) -> list[Future]:
        """Return the results of tasks as futures."""
        with self._reaching_scheduler():
            futures: list[Future] = self.client.get(
                tasks.graph, list(tasks.keys), sync=False, retries=RETRIES
            )
        return futures

    def _gathered(self, futures: list[Future]) -> list[Any]:
        """Return the results of futures; raise ``ClusterError`` where there will be none."""
        with self._reaching_scheduler():
            results = self.client.gather(futures, asynchronous=True)
        loop: Any = self.client.loop
        awaited = asyncio.run_coroutine_threadsafe(results, loop.asyncio_loop)
        try:
            seen = time.monotonic()
            while not wait([awaited], timeout=LOOK_EVERY).done:
                with self._reaching_scheduler():
                    seen = time.monotonic() if self.client.ncores() else seen
                patience = float(config.get("shareboost.worker-patience", PATIENCE))
                if time.monotonic() - seen > patience:
                    raise ClusterError(
                        f"The cluster has had no worker for {patience:.0f} seconds. {KEPT}: start "
                        "workers and call fit again. Where they take longer to start, set "
                        "shareboost.worker-patience in Dask's configuration."
                    )
            return list(awaited.result())
        except ClusterError:
            raise
        except Exception as error:
            raise self._explained(error) from error
        finally:
            awaited.cancel()

    @contextmanager
    def _reaching_scheduler(self) -> Iterator[None]:
        """Raise ``ClusterError`` where the scheduler cannot be reached."""
        if self.client.status != "running":
            raise self._unreachable(f"the client is {self.client.status}")
        try:
            yield
        except Exception as error:
            if isinstance(error, OSError) or self.client.status != "running":
                raise self._unreachable(repr(error)) from error
            raise

    def _unreachable(self, why: str) -> ClusterError:
        return ClusterError(
            f"The scheduler of {self.client} cannot be reached: {why}. {KEPT}: connect to a "
            "cluster and call fit again."
        )

    def _explained(self, error: Exception) -> ClusterError:
        """Return why there is no result, in plain words."""
        if self.client.status != "running":
            return self._unreachable(repr(error))
        if isinstance(error, KilledWorker):
            return ClusterError(
                "Several workers in turn ended while they computed the same block: most often it "
                f"takes more memory than a worker has. Make blocks of fewer rows. {KEPT}. ({error})"
            )
        if isinstance(error, CancelledError):
            return ClusterError(
                "The cluster lost or cancelled what it was asked for: the client was restarted, or "
                f"rows were scattered and their only worker ended. {KEPT}. ({error})"
            )
        return ClusterError(
            f"A block of the rows could not be computed: {type(error).__name__}: {error}. {KEPT}."
        )


def _merged(merge: Callable[[Any, Any], Any], *parts: Any) -> Any:
    """Return some parts merged in their order."""
    total = None
    for part in parts:
        if total is None or part is None:
            total = part if total is None else total
        else:
            total = merge(total, part)
    return total


class TensorsTravel(WorkerPlugin):
    """Has a worker send tensors of its devices; Dask itself sends those of the host alone.

    A worker may send a block before it has computed anything of a fit: so it is told beforehand.
    """

    name = "shareboost-tensors"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Pickle tensors of a device, which copies them to the host and back."""
        import torch
        from distributed.protocol import dask_serialize

        of_host = dask_serialize.dispatch(torch.Tensor)

        @dask_serialize.register(torch.Tensor)
        def serialised(tensor: Any) -> Any:
            if tensor.device.type != "cpu":
                raise NotImplementedError  # the next way, pickle, is taken
            return of_host(tensor)
