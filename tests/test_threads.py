import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from ctrl_c import heeding_ctrl_c
from threadpoolctl import ThreadpoolController, threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost.threads import Blas, Workers, blas, interrupts_deferred

pytestmark = pytest.mark.quiet
# Seconds after which a thread that waits for another gives up: the other is certain to come.
GIVE_UP = 600


@pytest.fixture(params=[1, 2, 4])
def n_threads(request):
    return request.param


@pytest.fixture
def workers(n_threads):
    with Workers(n_threads) as workers:
        yield workers


@pytest.mark.parametrize("n", [0, 1, 2, 7, 50])
def test_results_come_in_order(workers, n_threads, n):
    for _ in range(3):
        done = [threading.Event() for _ in range(n)]

        def task(i, done=done):
            if n_threads > 1 and i % 2 == 0 and i + 1 < n:
                assert done[i + 1].wait(GIVE_UP)  # the later one of every two ends first
            done[i].set()
            return i * i

        assert list(workers.map(task, range(n))) == [i * i for i in range(n)]


def test_the_callers_thread_takes_part():
    meet = threading.Barrier(2)  # both threads have to come

    def task(i):
        meet.wait(timeout=GIVE_UP)
        return threading.get_ident()

    with Workers(2) as workers:
        assert len(set(workers.map(task, range(2)))) == 2


@pytest.mark.parametrize("bad", [0, 3, 9])
def test_an_error_reaches_the_caller_and_the_workers_go_on(workers, bad):
    def task(i):
        if i == bad:
            raise ZeroDivisionError(i)
        return i

    with pytest.raises(ZeroDivisionError):
        list(workers.map(task, range(10)))
    assert list(workers.map(abs, range(10))) == list(range(10))


def test_nothing_more_is_begun_after_an_interrupt():
    begun, caller = [], threading.get_ident()
    helper_began, interrupted = threading.Event(), threading.Event()

    def task(i):
        begun.append(i)
        if threading.get_ident() == caller:
            assert helper_began.wait(GIVE_UP)
            raise KeyboardInterrupt
        helper_began.set()
        assert interrupted.wait(GIVE_UP)

    with Workers(2) as workers:
        with pytest.raises(KeyboardInterrupt):
            list(workers.map(task, range(100)))
        interrupted.set()
    assert sorted(begun) == [0, 1]


def test_a_fit_has_the_threads_that_both_blas_and_numba_allow():
    most = numba.get_num_threads()
    with threadpool_limits(1), blas.single_threaded() as n_threads:
        assert n_threads == 1
    try:
        numba.set_num_threads(1)
        with threadpool_limits(2), blas.single_threaded() as n_threads:
            assert n_threads == 1
    finally:
        numba.set_num_threads(most)
    with threadpool_limits(most), blas.single_threaded() as n_threads:
        assert n_threads == most


@pytest.mark.parametrize(("pool", "times"), [("stumps", (6, 1)), ("columns", (1, 40))])
def test_results_do_not_depend_on_numbas_limit(digits, pool, times):
    X, y = np.tile(digits[0], times), np.tile(digits[1], times[0])
    X = X + np.random.default_rng(0).normal(size=X.shape)  # 40 times as wide: in parts
    most, found = numba.get_num_threads(), []
    for n_threads in sorted({1, most}):
        try:
            numba.set_num_threads(n_threads)
            found.append(ShareBoostClassifier(6, pool=pool).fit(X, y))
        finally:
            numba.set_num_threads(most)
    assert np.array_equal(found[0].weights_, found[-1].weights_)


def blas_libraries():
    return ThreadpoolController().select(user_api="blas")


def blas_threads():
    # Some packages bring a BLAS that was built without threads.
    threaded = [one for one in blas_libraries().info() if one["threading_layer"] != "disabled"]
    return {library["num_threads"] for library in threaded}


def in_another_thread(function):
    """Return what a function returns in a thread that ends with it."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function).result()


@pytest.fixture
def two_blas_threads():
    """Give BLAS two threads. The Python thread that set them is gone, and controls nothing."""
    limit = in_another_thread(lambda: blas_libraries().limit(limits=2))
    yield
    in_another_thread(limit.restore_original_limits)


def limited():
    with blas.single_threaded():
        return blas_threads()


def test_blas_has_one_thread_in_fits_of_any_python_thread(two_blas_threads):
    assert limited() == {1}
    assert blas_threads() == {2}
    assert in_another_thread(limited) == {1}
    assert blas_threads() == {2}


def test_a_fit_limits_blas_though_another_thread_set_its_threads():
    with threadpool_limits(2, user_api="blas"):
        assert in_another_thread(limited) == {1}
        assert blas_threads() == {2}
        assert limited() == {1}
        assert blas_threads() == {2}


@pytest.mark.parametrize("main_begins", [True, False])
@pytest.mark.parametrize("main_ends", [True, False])
def test_the_last_of_overlapping_fits_lifts_the_limit(two_blas_threads, main_begins, main_ends):
    with ThreadPoolExecutor(1) as thread:

        def step(main, function):
            function() if main else thread.submit(function).result()

        fits = {main: ExitStack() for main in (True, False)}
        for main in (main_begins, not main_begins):
            step(main, lambda main=main: fits[main].enter_context(blas.single_threaded()))
        step(not main_ends, fits[not main_ends].close)
        assert blas_threads() == {1}
        step(main_ends, fits[main_ends].close)
        assert blas_threads() == {2}


def test_what_was_set_during_a_fit_stays(two_blas_threads):
    with blas.single_threaded():
        in_another_thread(lambda: blas_libraries().limit(limits=3))
    assert blas_threads() == {3}


class LimitedByThread:
    """A BLAS library like MKL: each Python thread has its own number of threads, 4 at first."""

    internal_api = "mkl"

    def __init__(self):
        self.own = threading.local()

    @property
    def num_threads(self):
        return getattr(self.own, "n", 4)

    def set_num_threads(self, n):
        self.own.n = n


def test_a_library_with_a_limit_for_each_thread_is_limited_in_each(monkeypatch):
    library = LimitedByThread()
    libraries = SimpleNamespace(select=lambda user_api: SimpleNamespace(lib_controllers=[library]))
    limiter, here, there = Blas(), ExitStack(), ExitStack()
    monkeypatch.setattr("shareboost.threads.ThreadpoolController", lambda: libraries)
    monkeypatch.setattr("shareboost.threads.blas", limiter)
    meet = threading.Barrier(2)

    def task(i):
        meet.wait(timeout=GIVE_UP)
        return library.num_threads

    with ThreadPoolExecutor(1) as thread:
        here.enter_context(limiter.single_threaded())
        with Workers(2) as workers:
            assert list(workers.map(task, range(2))) == [1, 1]
        thread.submit(there.enter_context, limiter.single_threaded()).result()
        assert thread.submit(lambda: library.num_threads).result() == 1
        here.close()
        assert library.num_threads == 4
        assert thread.submit(lambda: library.num_threads).result() == 1
        thread.submit(there.close).result()
        assert thread.submit(lambda: library.num_threads).result() == 4


# Forks while another thread is at work. A child that waits forever is ended by its alarm.
FORK = """
import os, signal, sys, threading, time
import numpy
from threadpoolctl import threadpool_info
from shareboost.threads import blas
busy = threading.Event()
def importing():
    import numba
def compiling():
    from numba.core.compiler_lock import global_compiler_lock
    with global_compiler_lock:
        busy.set()
        time.sleep(0.5)
def beginning():
    with blas._lock:
        busy.set()
        time.sleep(0.5)
def fitting():
    with blas.single_threaded():
        busy.set()
        time.sleep(60)
threading.Thread(target={work}, daemon=True).start()
while not (busy.is_set() or {work} is importing and "numba" in sys.modules):
    time.sleep(0.001)
if child := os.fork():
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
signal.alarm(20)
assert {{library["num_threads"] for library in threadpool_info()}} == {{2}}
with blas.single_threaded():
    assert {{library["num_threads"] for library in threadpool_info()}} == {{1}}
import numba
assert numba.njit(lambda: 1)() == 1
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("work", ["importing", "compiling", "beginning", "fitting"])
def test_a_fork_leaves_no_lock_of_another_thread_locked(work):
    # Python 3.12 warns of a fork beside threads.
    settings = {"OPENBLAS_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}
    script = FORK.format(work=work)
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | settings)


def test_ctrl_c_takes_effect_at_the_end_of_blocks_that_defer_it():
    done = []

    def interrupted():
        with interrupts_deferred():
            with interrupts_deferred():
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")

    with heeding_ctrl_c(), pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["inner", "outer"]
