"""The workers of a connected client: tasks of blocks, merged as a tree, and what may go wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

from dask.task_spec import Task, TaskRef
from distributed import Client, default_client
from distributed.client import Future, FutureCancelledError
from distributed.scheduler import KilledWorker

Key = Any  # of a task in a graph
Graph = dict[Key, Any]

# Answers that one task of the tree merges.
BRANCHES = 8
# Seconds without any worker after which a fit gives up; one that is restarted is back sooner.
PATIENCE = 15.0
# Seconds between two looks at the workers while an answer is awaited.
LOOK_EVERY = 1.0


class ClusterError(RuntimeError):
    """The cluster could not compute what was asked of it."""


class Refusal(NamedTuple):
    """An error that a task found in what it was given, returned rather than raised."""

    error: Exception


def task(key: Key, function: Callable[..., Any], *given: Key | None) -> Task:
    """Return a task: a function of the results of other tasks, in or outside of its graph.

    All else that the function takes must be in it, as in a ``partial``: nothing then looks for
    keys there. A key None stands for the value None.
    """
    return Task(key, function, *(None if one is None else TaskRef(one) for one in given))


class Fleet:
    """The workers of the connected client.

    Every task is a pure function of its arguments, and what it needs is in the graph or is
    itself the result of such tasks. So what is lost with a worker is computed again by
    another, with the same result to the last bit.
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

    def key(self, what: str) -> str:
        """Return a new name for tasks, which begins with what they do."""
        return f"shareboost-{what}-{self._run}-{next(self._passes)}"

    def held(self, graph: Graph, keys: Sequence[Key]) -> list[Future]:
        """Return the results of tasks as futures, which stay on the workers."""
        found: list[Future] = self.client.get(graph, list(keys), sync=False)
        return found

    def each(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        """Return the results of tasks here."""
        futures = self.held(graph, keys)
        self.wait(futures)
        found = self.client.gather(futures)
        for one in found:
            if isinstance(one, Refusal):
                raise one.error
        return list(found)

    def merged(
        self,
        graph: Graph,
        keys: Sequence[Key],
        merge: Callable[[Any, Any], Any],
        then: Callable[[Any], Any] | None = None,
        then_given: Sequence[Key] = (),
    ) -> Any:
        """Return the results of tasks merged in their order, by a tree of tasks; None is nothing.

        The last task also calls ``then`` with all of it, and with the results of other tasks.
        """
        graph = dict(graph)
        name, level = self.key("sum"), 0
        keys = list(keys)
        while len(keys) > 1 or level == 0:
            above = []
            for start in range(0, len(keys), BRANCHES):
                key = (f"{name}-{level}", start)
                graph[key] = task(key, partial(_merged, merge), *keys[start : start + BRANCHES])
                above.append(key)
            keys, level = above, level + 1
        if then is not None:
            key = (self.key("score"), 0)
            graph[key] = task(key, then, keys[0], *then_given)
            keys = [key]
        (found,) = self.each(graph, keys)
        return found

    def wait(self, futures: Sequence[Future]) -> None:
        """Wait until all futures are there; raise where they will not be."""
        seen = time.monotonic()
        for future in futures:
            while not future.done():
                try:
                    future.result(timeout=LOOK_EVERY)
                except TimeoutError:
                    if future.done():
                        break
                    if self.n_workers():
                        seen = time.monotonic()
                    elif time.monotonic() - seen > PATIENCE:
                        self.client.cancel(list(futures), force=True)
                        raise ClusterError(
                            f"The cluster has had no worker for {PATIENCE:.0f} seconds. Finished "
                            "rounds are in the checkpoint, where one is kept: start workers and "
                            "call fit again."
                        ) from None
                except Exception:
                    break  # looked at below
            if future.status != "finished":
                raise _explained(future)

    def n_workers(self) -> int:
        """Return how many workers are there now."""
        try:
            return len(self.client.nthreads())
        except Exception as error:  # whatever a connection that is gone raises
            raise ClusterError(
                f"The scheduler of {self.client} cannot be reached ({error!r}). Finished rounds "
                "are in the checkpoint, where one is kept: connect to a cluster and fit again."
            ) from error

    def memory(self) -> float:
        """Return the bytes that all workers may use; infinite where a limit is not set."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] or math.inf for worker in workers]
        return float(sum(limits)) if limits else math.inf


def _merged(merge: Callable[[Any, Any], Any], *parts: Any) -> Any:
    """Return some parts merged in their order."""
    found = None
    for part in parts:
        if isinstance(part, Refusal):
            return part
        if found is None or part is None:
            found = part if found is None else found
        else:
            found = merge(found, part)
    return found


def _explained(future: Future) -> Exception:
    """Return why a task has no result, in plain words."""
    try:
        error = future.exception(timeout=LOOK_EVERY)
    except (FutureCancelledError, TimeoutError) as cancelled:
        error = cancelled
    kept = "Finished rounds are in the checkpoint, where one is kept."
    if isinstance(error, KilledWorker):
        found = ClusterError(
            "Several workers in turn ended while they computed the same block: most often it "
            f"takes more memory than a worker has. Make blocks of fewer rows. {kept} ({error})"
        )
    elif isinstance(error, FutureCancelledError):
        found = ClusterError(
            "The cluster lost or cancelled what it was asked for: the client was restarted or "
            f"closed, or rows were scattered and their only worker ended. {kept} ({error})"
        )
    else:
        found = ClusterError(
            f"A block of the rows could not be computed: {type(error).__name__}: {error}. {kept}"
        )
    found.__cause__ = error
    return found
