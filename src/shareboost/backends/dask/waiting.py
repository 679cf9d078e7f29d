"""Waiting for a cluster: for the results of its tasks, or the reason why there will be none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from typing import Any

from dask import config
from distributed import Client
from distributed.client import Future
from distributed.scheduler import KilledWorker

# Seconds without any worker after which a fit gives up; one that is restarted is back sooner.
PATIENCE = 15.0
# Seconds between two looks at the workers while results are awaited.
LOOK_EVERY = 1.0
# Seconds in which a scheduler answers, unless it is busy.
ANSWER_TIME = 5.0

KEPT = "Finished rounds are in the checkpoint, where one is kept"


def _patience() -> Any:
    return config.get("shareboost.worker-patience", PATIENCE)


class ClusterError(RuntimeError):
    """The cluster could not compute what was asked of it."""


class EndedWorkersError(ClusterError):
    """Several workers ended while they computed the same task, which Dask then gave up."""


def gathered(client: Client, futures: Sequence[Future]) -> list[Any]:
    """Return the results of futures here."""
    found, error = _outcome(client, futures)
    if error is not None:
        raise _explained(client, error) from error
    return list(found)


def forget_blame(client: Client, released: Sequence[Any], read: set[Any]) -> None:
    """Wait until released tasks are forgotten; have what they read computed if it was given up.

    That is what somebody else holds, such as persisted rows. Of several tasks that were given up
    Dask takes up but one where another depends on all of them: so nothing of the fit may be left
    that does, and they are taken up one by one.
    """
    with reaching_scheduler(client):
        scheduler: Any = client.scheduler
        until = time.monotonic() + ANSWER_TIME
        while time.monotonic() < until:
            states = client.sync(scheduler.get_task_status, keys=list(released))
            if not any(states.values()):
                break
            time.sleep(0.02)
        blamed = [key for key in read if isinstance(_error(client, key), KilledWorker)]
        for key in blamed:
            if _error(client, key) is not None:  # not taken up yet, as others of the same task
                # Client.retry fails for futures that depend on tasks that are no futures.
                client.sync(scheduler.retry, keys=[key], client=client.id)
                while _error(client, key) is not None and time.monotonic() < until:
                    time.sleep(0.01)  # the client hears of it by another connection


def _error(client: Client, key: Any) -> BaseException | None:
    """Return the error of a future that the client has, if there is one."""
    state = client.futures.get(key)
    return state.exception if state is not None and state.status == "error" else None


def check_connected(client: Client) -> None:
    """Raise where a client has lost its scheduler: all that it held is lost too."""
    if client.status != "running":
        raise _unreachable(client, f"the client is {client.status}")


@contextmanager
def reaching_scheduler(client: Client) -> Iterator[None]:
    """Have whatever goes wrong with the connection raised as ``ClusterError``."""
    check_connected(client)
    try:
        yield
    except (OSError, RuntimeError, TimeoutError) as error:
        raise _unreachable(client, repr(error)) from error


def _outcome(client: Client, futures: Sequence[Future]) -> tuple[Any, BaseException | None]:
    """Return the results of futures, or the error of one that has none."""
    check_connected(client)

    async def outcome() -> tuple[Any, BaseException | None]:
        try:
            failed = await _first_failed(client, futures)
            # Of several that failed, Client.gather has some go through the log as well.
            wanted = list(futures) if failed is None else [failed]
            return await client.gather(wanted, asynchronous=True), None
        except asyncio.CancelledError:  # by this thread, below
            raise
        except BaseException as error:  # of the task, whatever it is
            return None, error

    loop: Any = client.loop
    awaited = asyncio.run_coroutine_threadsafe(outcome(), loop.asyncio_loop)
    try:
        seen = time.monotonic()
        while not wait([awaited], timeout=LOOK_EVERY).done:
            if _has_workers(client):
                seen = time.monotonic()
            elif time.monotonic() - seen > (patience := float(_patience())):
                raise ClusterError(
                    f"The cluster has had no worker for {patience:.0f} seconds. {KEPT}: start "
                    "workers and call fit again. Where they take longer to start, set "
                    "shareboost.worker-patience in Dask's configuration."
                )
        return awaited.result()
    except CancelledError as error:  # with the loop of a client that is closed
        return None, error
    finally:
        awaited.cancel()


async def _first_failed(client: Client, futures: Sequence[Future]) -> Future | None:
    """Return the first future that turns out to have no result, or None when all have one."""

    async def done(future: Future) -> Future:
        if future.key in client.futures:
            await client.futures[future.key].wait()
        return future

    waits = [asyncio.ensure_future(done(future)) for future in futures]
    try:
        for one in asyncio.as_completed(waits):
            if (future := await one).status in ("error", "cancelled"):
                return future
    finally:
        for task in waits:
            task.cancel()
    return None


def _has_workers(client: Client) -> bool:
    """Return whether there is a worker now, or nobody can tell."""
    with reaching_scheduler(client):
        scheduler: Any = client.scheduler
        try:
            return bool(client.sync(scheduler.ncores, callback_timeout=ANSWER_TIME))
        except TimeoutError:  # a busy scheduler; of one that is gone the connection tells
            return True


def _unreachable(client: Client, why: str) -> ClusterError:
    return ClusterError(
        f"The scheduler of {client} cannot be reached: {why}. {KEPT}: connect to a cluster and "
        "call fit again."
    )


def _explained(client: Client, error: BaseException) -> ClusterError:
    """Return why there is no result, in plain words."""
    if client.status != "running":
        return _unreachable(client, str(error) or repr(error))
    if isinstance(error, KilledWorker):
        return EndedWorkersError(
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
