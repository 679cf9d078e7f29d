"""How many threads a fit may use, BLAS kept to one in each of them, and work shared among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock, RLock
from typing import Any, Self, cast

from threadpoolctl import ThreadpoolController


class SingleThreadedBlas:
    """Limits BLAS to one thread while any fit of this process is under way.

    A fit then has the threads that BLAS was allowed, and no more than Numba is: the limits of
    ``threadpoolctl``, of ``numba.set_num_threads`` and of the environment all count.

    The limit belongs to the whole process, so fits that overlap in several Python
    threads must share it: the first one sets it, the last one to end lifts it.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # a collection of garbage may end a fit while another begins
        self._fits = 0
        self._allowed = 1
        self._limit: Any = None

    def __enter__(self) -> int:
        """Return the number of threads that a fit may use."""
        by_numba = _allowed_by_numba()
        with self._lock:
            if self._fits == 0:
                blas = ThreadpoolController().select(user_api="blas")
                self._allowed = max((lib["num_threads"] for lib in blas.info()), default=1)
                self._limit = blas.limit(limits=1)
            self._fits += 1
            return min(self._allowed, by_numba)

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._fits -= 1
            if self._fits == 0:
                self._limit.restore_original_limits()


def _allowed_by_numba() -> int:
    """Return how many threads Numba may use from here, without starting any."""
    import numba
    from numba.np.ufunc import parallel

    pool, settings = cast(Any, parallel), cast(Any, numba.config)
    # Before its first use, which also comes with set_num_threads, only the setting counts.
    return int(pool.get_num_threads() if pool._is_initialized else settings.NUMBA_NUM_THREADS)


single_threaded_blas = SingleThreadedBlas()


class Workers:
    """Threads that share the items of a list among them, the caller's own thread included.

    A helper is woken once a list, not once an item, and the caller computes items too while it
    waits for results: for lists of some short tasks half the time of an executor's ``map``.

    Parameters
    ----------
    n_threads : int
        How many, the caller's included.

    Notes
    -----
    Use as a context manager: it holds the helpers.
    """

    def __init__(self, n_threads: int):
        self._n_helpers = n_threads - 1
        self._helpers = ThreadPoolExecutor(max(1, self._n_helpers))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Wait for the helpers and end them."""
        self._helpers.shutdown()

    def map(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``task(item)`` for each item in order."""
        items = list(items)
        n_helpers = min(self._n_helpers, len(items) - 1)
        return self._shared(task, items, n_helpers) if n_helpers > 0 else map(task, items)

    def _shared(
        self, task: Callable[[Any], Any], items: list[Any], n_helpers: int
    ) -> Iterator[Any]:
        claims = _Claims(len(items))
        done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

        def help_out() -> None:
            while (place := claims.next()) is not None:
                try:
                    done.put((place, task(items[place]), None))
                except BaseException as error:
                    done.put((place, None, error))

        found: dict[int, tuple[Any, BaseException | None]] = {}
        try:
            for _ in range(n_helpers):
                self._helpers.submit(help_out)
            for wanted in range(len(items)):
                while wanted not in found:
                    if done.empty() and (own := claims.next()) is not None:
                        found[own] = task(items[own]), None
                    else:
                        place, result, error = done.get()
                        found[place] = result, error
                result, error = found.pop(wanted)
                if error is not None:
                    raise error
                yield result
        finally:
            claims.end()
            result = error = None  # an error's traceback holds this frame


class _Claims:
    """The places 0 to n - 1, each handed out once."""

    def __init__(self, n: int):
        self._n = n
        self._next = 0
        self._lock = Lock()

    def next(self) -> int | None:
        """Return a place that nobody has, or None where there is none."""
        with self._lock:
            if self._next >= self._n:
                return None
            self._next += 1
            return self._next - 1

    def end(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._n = 0
