"""How many threads a fit may use, and BLAS kept to one in each of them."""

from __future__ import annotations

from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class SingleThreadedBlas:
    """Limits BLAS to one thread while any fit of this process is under way.

    The limit belongs to the whole process, so fits that overlap in several Python
    threads must share it: the first one sets it, the last one to end lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._fits = 0
        self._allowed = 1
        self._limit: Any = None

    def __enter__(self) -> int:
        """Return the number of threads that BLAS was allowed before the limit."""
        with self._lock:
            if self._fits == 0:
                blas = ThreadpoolController().select(user_api="blas")
                self._allowed = max((lib["num_threads"] for lib in blas.info()), default=1)
                self._limit = blas.limit(limits=1)
            self._fits += 1
            return self._allowed

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._fits -= 1
            if self._fits == 0:
                self._limit.restore_original_limits()


single_threaded_blas = SingleThreadedBlas()
