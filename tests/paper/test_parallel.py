"""Work shared by threads."""

import threading

import pytest
from threadpoolctl import threadpool_info

from paper.parallel import in_threads


def test_results_come_in_the_order_of_the_items():
    assert in_threads(lambda x: x * x, range(100)) == [x * x for x in range(100)]


def test_no_more_threads_than_asked_for_and_blas_has_one():
    threads, blas = set(), set()

    def work(_):
        threads.add(threading.get_ident())
        blas.update(x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas")

    in_threads(work, range(50), most=1)
    assert len(threads) == 1
    assert blas == {1}


def test_an_error_is_raised():
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 / x, [1, 0])
