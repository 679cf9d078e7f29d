import threading
import time

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost.threads import Workers, single_threaded_blas


@pytest.fixture(params=[1, 2, 4])
def workers(request):
    with Workers(request.param) as found:
        yield found


@pytest.mark.parametrize("n", [0, 1, 2, 7, 50])
def test_results_come_in_order(workers, n):
    def task(i):
        time.sleep(0.001 * (i % 3))
        return i * i

    for _ in range(3):
        assert list(workers.map(task, range(n))) == [i * i for i in range(n)]


def test_the_callers_thread_takes_part():
    meet = threading.Barrier(2)  # both threads have to come

    def task(i):
        meet.wait(timeout=60)
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

    def task(i):
        begun.append(i)
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        time.sleep(0.05)

    with Workers(2) as workers, pytest.raises(KeyboardInterrupt):
        list(workers.map(task, range(100)))
    assert len(begun) < 10


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
    for n_threads in {1, most}:
        try:
            numba.set_num_threads(n_threads)
            found.append(ShareBoostClassifier(6, pool="stumps").fit(X, y))
        finally:
            numba.set_num_threads(most)
    assert np.array_equal(found[0].coef_, found[-1].coef_)
