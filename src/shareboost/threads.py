"""How many threads a fit may use, BLAS kept to one in each of them, and work shared among them."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from queue import SimpleQueue
from threading import RLock, current_thread, local, main_thread
from typing import Any, Self, cast

from threadpoolctl import ThreadpoolController


class Blas:
    """The BLAS libraries of this process.

    OpenBLAS has one number of threads for the whole process, so fits that overlap in several
    Python threads share its limit: the first one sets it, the last one to end lifts it. MKL, and
    OpenBLAS on OpenMP, have a number for every Python thread: each fit limits its own thread, and
    ``Workers`` those of its helpers.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # garbage collection may end a fit while another one begins
        self._fits = 0
        self._allowed = 1
        self._n_modules = -1
        self._of_process: list[Any] = []  # the libraries, as threadpoolctl controls them
        self._of_thread: list[Any] = []
        self._before: list[int] = []  # numbers of threads of the process before any fit
        self._here = local()  # fits: of this Python thread

    @contextmanager
    def single_threaded(self) -> Iterator[int]:
        """Limit BLAS to one thread during a fit; yield how many threads the fit may use.

        These are as many as BLAS was allowed, and no more than Numba is: the limits of
        ``threadpoolctl``, of ``numba.set_num_threads`` and of the environment all count.
        """
        by_numba = _allowed_by_numba()
        with self._lock:
            if self._fits == 0:
                self._find_libraries()
                self._before = [library.num_threads for library in self._of_process]
                of_thread = [library.num_threads for library in self._of_thread]
                self._allowed = max(self._before + of_thread, default=1)
                _set_threads(self._of_process, 1)
            self._fits += 1
            self._here.fits = self._fits_here + 1
            before = [(library, library.num_threads) for library in self._of_thread]
            self.limit_this_thread()
        try:
            yield min(self._allowed, by_numba)
        finally:
            with self._lock:
                self._fits -= 1
                self._here.fits -= 1
                for library, n_threads in before:
                    _set_threads([library], n_threads)
                if self._fits == 0:
                    self._lift()

    @property
    def _fits_here(self) -> int:
        return getattr(self._here, "fits", 0)

    def before_fork(self) -> None:
        """Wait for the other threads, so that the child finds the lock free."""
        self._lock.acquire()

    def after_fork(self, in_child: bool) -> None:
        """Go on; in the child without the fits of the other threads, which it does not have."""
        if in_child and self._fits > self._fits_here:
            self._fits = self._fits_here
            if self._fits == 0:
                self._lift()
        self._lock.release()

    def limit_this_thread(self) -> None:
        """Limit the libraries that have a number of threads for every Python thread."""
        _set_threads(self._of_thread, 1)

    def _find_libraries(self) -> None:
        """List the libraries, anew where modules were imported: it takes 3 ms."""
        if self._n_modules == len(sys.modules):
            return
        n_modules = len(sys.modules)
        with interrupts_deferred():
            libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        self._of_thread = [library for library in libraries if _is_of_thread(library)]
        self._of_process = [library for library in libraries if not _is_of_thread(library)]
        self._n_modules = n_modules

    def _lift(self) -> None:
        """Give the process its threads back, except where another limit was set meanwhile."""
        for library, before in zip(self._of_process, self._before, strict=True):
            if library.num_threads == 1:
                _set_threads([library], before)


def _is_of_thread(library: Any) -> bool:
    """Return whether a BLAS library has a number of threads for every Python thread."""
    return library.internal_api == "mkl" or (
        library.internal_api == "openblas" and library.threading_layer == "openmp"
    )


def _set_threads(libraries: Iterable[Any], n_threads: int) -> None:
    """Set the number of threads of BLAS libraries, whichever Python thread set it before.

    Since threadpoolctl 3.8 the thread that sets OpenBLAS' number controls it: until it lets go,
    the calls of other threads do nothing. A fit takes control and lets go at once.
    """
    for library in libraries:
        let_go = getattr(library, "clear_controlling_thread", lambda force: None)
        let_go(force=True)
        library.set_num_threads(n_threads)
        let_go(force=True)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Let Ctrl-C take effect at the end of the block.

    Python prints and forgets an exception in a function that C calls, such as those of LLVM and
    of the search for libraries. So KeyboardInterrupt must not be raised there.
    """
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(handler):
        yield
        return
    caught: list[Any] = []
    signal.signal(signal.SIGINT, lambda *arguments: caught.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if caught:
            handler(*caught[0])


def _allowed_by_numba() -> int:
    """Return how many threads Numba may use from here, without starting any."""
    import numba
    from numba.np.ufunc import parallel

    pool, settings = cast(Any, parallel), cast(Any, numba.config)
    # Before its first use, which also comes with set_num_threads, only the setting counts.
    return int(pool.get_num_threads() if pool._is_initialized else settings.NUMBA_NUM_THREADS)


blas = Blas()


# Packages of which a fit imports parts when it needs them.
IMPORTED_BY_FITS = {"numba", "scipy", "shareboost", "sklearn"}
_compiler_locks: list[Any] = []


def _before_fork() -> None:
    """Wait until no other thread imports or compiles what a fit needs.

    Of all threads the child has only the one that forks: a lock that another thread holds stays
    locked in the child, and its first fit would wait forever.
    """
    waited_for: set[str] = set()
    while True:
        # Numba's own lock is there once Numba is imported.
        module = sys.modules.get("numba.core.compiler_lock")
        if (lock := getattr(module, "global_compiler_lock", None)) is not None:
            lock.acquire()
            _compiler_locks.append(lock)
        if not (names := _being_imported() - waited_for):
            break
        _release_compiler()  # which the import may need
        for name in names:
            with suppress(Exception):  # it is raised in the thread that imports
                import_module(name)  # waits for that thread; returns at once in that thread
        waited_for |= names
    blas.before_fork()


def _after_fork(in_child: bool) -> None:
    blas.after_fork(in_child)
    _release_compiler()


def _being_imported() -> set[str]:
    return {
        name
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in IMPORTED_BY_FITS
        and getattr(getattr(module, "__spec__", None), "_initializing", False)
    }


def _release_compiler() -> None:
    if _compiler_locks:
        _compiler_locks.pop().release()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(in_child=False),
        after_in_child=lambda: _after_fork(in_child=True),
    )


class Workers:
    """Threads that share the items of a list among them, the caller's own thread included.

    A helper is woken once a list, not once an item, and the caller computes items too while it
    waits for results: for lists of some short tasks half the time of an executor's ``map``. A
    context manager, which ends the helpers.
    """

    def __init__(self, n_threads: int):
        self._n_helpers = n_threads - 1
        self._helpers = ThreadPoolExecutor(
            max(1, self._n_helpers), initializer=blas.limit_this_thread
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._helpers.shutdown()

    def map(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``task(item)`` for each item in order."""
        items = list(items)
        n_helpers = min(self._n_helpers, len(items) - 1)
        return self._shared(task, items, n_helpers) if n_helpers > 0 else map(task, items)

    def _shared(
        self, task: Callable[[Any], Any], items: list[Any], n_helpers: int
    ) -> Iterator[Any]:
        pending = deque(range(len(items)))
        done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

        def help_out() -> None:
            while (place := _claim(pending)) is not None:
                try:
                    done.put((place, task(items[place]), None))
                except BaseException as error:
                    done.put((place, None, error))

        results: dict[int, tuple[Any, BaseException | None]] = {}
        try:
            for _ in range(n_helpers):
                self._helpers.submit(help_out)
            for wanted in range(len(items)):
                while wanted not in results:
                    if done.empty() and (claimed := _claim(pending)) is not None:
                        results[claimed] = task(items[claimed]), None
                    else:
                        place, result, error = done.get()
                        results[place] = result, error
                result, error = results.pop(wanted)
                if error is not None:
                    raise error
                yield result
        finally:
            pending.clear()
            result = error = None  # an error's traceback holds this frame


def _claim(pending: deque[int]) -> int | None:
    """Return a place that no thread has taken, or None where there is none."""
    try:
        return pending.popleft()
    except IndexError:
        return None
