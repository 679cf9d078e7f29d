"""The workers of a connected client: tasks of blocks, and their results merged as a tree."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

from dask.task_spec import Task, TaskRef
from distributed import Client, default_client
from distributed.client import Future

from .waiting import (
    EndedWorkersError,
    check_connected,
    forget_blame,
    gathered,
    reaching_scheduler,
)

Key = Any  # of a task in a graph
Graph = dict[Key, Any]

# Answers that one task of the tree merges.
BRANCHES = 8
# The share of the workers' memory that rows and their encoding may take to be held there. What is
# left is for chosen columns, residuals, answers, and the programs themselves.
HELD_SHARE = 0.4
# How often results are asked for, where workers end while they compute the same task.
ASKS = 4
# Seconds between two looks at the workers while they take up the rows.
LOOK_OFTEN = 0.05


class Refusal(NamedTuple):
    """An error that a task found in what it was given, returned rather than raised."""

    error: Exception


def task(key: Key, function: Callable[..., Any], *given: Key | None) -> Task:
    """Return a task: a function of the results of other tasks, in or outside of its graph.

    All else that the function takes must be in it, as in a ``partial``: nothing then looks for
    keys there. A key None stands for the value None.
    """
    return Task(key, function, *(None if one is None else TaskRef(one) for one in given))


class _Held(NamedTuple):
    """Results that stay on the workers, and how to compute them."""

    graph: Graph
    keys: list[Key]
    futures: list[Future]


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
        self._held: list[_Held] = []

    def key(self, what: str) -> str:
        """Return a new name for tasks, which begins with what they do."""
        return f"shareboost-{what}-{self._run}-{next(self._passes)}"

    def tasks(
        self, what: str, functions: Sequence[Any], given: Sequence[Sequence[Key | None]]
    ) -> tuple[Graph, list[Key]]:
        """Return tasks of functions of other tasks' results, one a block, and their keys."""
        name = self.key(what)
        keys: list[Key] = [(name, i) for i in range(len(functions))]
        blocks = zip(keys, functions, given, strict=True)
        return {key: task(key, function, *own) for key, function, own in blocks}, keys

    def held(self, graph: Graph, keys: Sequence[Key], worker: str | None = None) -> list[Key]:
        """Have the results of tasks stay on the workers until ``release``; return their keys.

        On the one that is named, if it can be: see ``let_loose``.
        """
        with self._kept():
            self._held.append(_Held(graph, list(keys), self._asked(graph, keys, worker)))
        return list(keys)

    def let_loose(self, graph: Graph) -> None:
        """Wait until all that is held is where it should be; what is lost then may go elsewhere.

        Where all workers end at once, Dask has tasks that should be on one of them wait for it,
        even those that may be elsewhere. So if any ends meanwhile, there is no more waiting.
        """
        with self._kept(), reaching_scheduler(self.client):
            scheduler: Any = self.client.scheduler
            workers = set(self.client.sync(scheduler.ncores))
            futures = [future for one in self._held for future in one.futures]
            while workers and any(future.status == "pending" for future in futures):
                time.sleep(LOOK_OFTEN)
                if not workers <= set(self.client.sync(scheduler.ncores)):
                    break
            states = self.client.sync(scheduler.get_task_status, keys=list(graph))
            anywhere = {key: None for key, state in states.items() if state}
            self.client.sync(scheduler.set_restrictions, worker=anywhere)

    def shared_out(self, keys: Sequence[Key]) -> list[str | None]:
        """Return the worker that should hold each block of rows, by the block's key.

        As many a thread, where they are already if they are anywhere. Other neighbours come
        together: sums of what one worker holds do not travel.
        """
        with self._kept(), reaching_scheduler(self.client):
            scheduler: Any = self.client.scheduler
            threads = self.client.sync(scheduler.ncores)
            known = self.client.sync(scheduler.who_has, keys=list(keys))
        if not threads:
            return [None] * len(keys)
        each = len(keys) / sum(threads.values())
        room = {worker: math.ceil(each * n - 1e-9) for worker, n in sorted(threads.items())}
        found: list[str | None] = [None] * len(keys)
        for i, key in enumerate(keys):
            at = next((one for one in known.get(key, ()) if room.get(one, 0)), None)
            if at is not None:
                found[i] = at
                room[at] -= 1
        free = (worker for worker, n in room.items() for _ in range(n))
        return [next(free) if worker is None else worker for worker in found]

    def each(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        """Return the results of tasks here.

        Dask gives a task up once some workers have ended with the task in their hands, four
        unless it is configured otherwise, and counts them as long as it knows the task: that of
        rows that are held, for a whole fit. So a task may be blamed for what was chance, and
        then all is asked for anew.
        """
        with self._kept():
            for asks_left in reversed(range(ASKS)):
                futures = self._asked(graph, keys)
                try:
                    found = gathered(self.client, futures)
                    break
                except EndedWorkersError:
                    if not asks_left:
                        raise
                finally:  # also cancels what is not computed yet
                    _release(futures)
                self._hold_anew(graph, keys)
            for one in found:
                if isinstance(one, Refusal):
                    raise one.error
        return found

    def release(self) -> None:
        """Have the workers forget what they hold: at the end, whatever it is."""
        for one in self._held:
            _release(one.futures)
        self._held.clear()

    def _hold_anew(self, graph: Graph, keys: Sequence[Key]) -> None:
        """Have the cluster forget all tasks, and whatever it counted of them, and hold them anew.

        The names remain. The tasks of a graph that was asked for are released already.
        """
        released, read = list(keys), _read_by(graph)
        for one in self._held:
            _release(one.futures)
            released += one.keys
            read |= _read_by(one.graph)
        forget_blame(self.client, released, read)
        self._held = [one._replace(futures=self._asked(one.graph, one.keys)) for one in self._held]

    def _asked(self, graph: Graph, keys: Sequence[Key], worker: str | None = None) -> list[Future]:
        """Return the results of tasks as futures."""
        check_connected(self.client)
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        try:
            found: list[Future] = self.client.get(graph, list(keys), sync=False, **where)
        except Exception:
            check_connected(self.client)
            raise
        return found

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Release all that is held where something fails: the error may be kept for long.

        A fit never goes on after that.
        """
        try:
            yield
        except BaseException:
            self.release()
            raise

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

    def has_room(self, n_bytes: float) -> bool:
        """Return whether workers should hold so many bytes of rows and of their encoding."""
        return n_bytes <= HELD_SHARE * self._memory()

    def _memory(self) -> float:
        """Return the bytes that all workers may use; infinite where a limit is not set."""
        with self._kept(), reaching_scheduler(self.client):
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


def _release(futures: Sequence[Future]) -> None:
    for future in futures:
        future.release()


def _read_by(graph: Graph) -> set[Key]:
    """Return the keys of all tasks in a graph, and of those outside that they depend on."""
    return set(graph).union(*(getattr(node, "dependencies", ()) for node in graph.values()))
