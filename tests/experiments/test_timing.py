"""Run times in one thread."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from shareboost.experiments import timing


def test_time_is_taken_in_one_thread_and_given_back():
    seen = []

    def predict(X):
        seen.append((len(X), {lib["num_threads"] for lib in threadpool_info()}))
        return X

    before = [lib["num_threads"] for lib in threadpool_info()]
    assert timing.milliseconds(predict, np.zeros((150, 4))) > 0
    assert seen == [(100, {1}), (100, {1}), (50, {1})]  # the first one is not counted
    assert [lib["num_threads"] for lib in threadpool_info()] == before


def test_torch_is_kept_to_one_thread_and_let_go():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    with timing.one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
