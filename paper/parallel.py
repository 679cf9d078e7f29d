"""Work shared by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import cpu_count
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(
    work: Callable[[Item], Result], items: Iterable[Item], most: int | None = None
) -> list[Result]:
    """Return the work of every item; a thread takes one at a time, BLAS has one thread in each.

    Parameters
    ----------
    work : callable
        Most of which must run without Python's lock.
    items : iterable
    most : int, optional
        At most so many threads; else as many as there are processors.
    """
    n_threads = min(cpu_count(), most or cpu_count())
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(work, items))
