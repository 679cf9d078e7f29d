"""Rows in blocks, and a scheduler that computes them in the thread of the test."""

import pytest
from sklearn.datasets import load_digits

dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def in_this_thread():
    """A test that wants threads or a cluster asks for them."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]
