import threading

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost.threads import Workers, single_threaded_blas

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
    with threadpool_limits(1), single_threaded_blas as n_threads:
        assert n_threads == 1
    try:
        numba.set_num_threads(1)
        with threadpool_limits(2), single_threaded_blas as n_threads:
            assert n_threads == 1
    finally:
        numba.set_num_threads(most)
    with threadpool_limits(most), single_threaded_blas as n_threads:
        assert n_threads == most


def test_results_do_not_depend_on_numbas_limit(digits):
    X, y = np.tile(digits[0], (6, 1)), np.tile(digits[1], 6)
    most, found = numba.get_num_threads(), []
    for n_threads in sorted({1, most}):
        try:
            numba.set_num_threads(n_threads)
            found.append(ShareBoostClassifier(6, pool="stumps").fit(X, y))
        finally:
            numba.set_num_threads(most)
    assert np.array_equal(found[0].coef_, found[-1].coef_)
