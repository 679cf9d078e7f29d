import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_digits


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Give each parallel worker one thread: together they use all cores already."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")


# Property tests draw the same examples on every run; `make test-random` draws new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("new", deadline=None, print_blob=True)
settings.load_profile("same")

# Where the data sets lie beside the checkout, the tests use them.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("SHAREBOOST_DATA", str(_BESIDE))


@pytest.fixture(scope="session")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def fitted_model(digits):
    """Return the classifier of the pool of a name, trained on the first 500 digits.

    Each is fitted once for all tests, which must leave it as it is.
    """
    from exported_pools import ALL_POOLS

    from shareboost import ShareBoostClassifier

    @cache
    def fitted(name):
        X, y = digits
        settings = {"rule": "gradient", "alpha": 1e-3, "margin": 1.0}
        return ShareBoostClassifier(12, pool=ALL_POOLS[name], **settings).fit(X[:500], y[:500])

    return fitted


@pytest.fixture
def problem():
    """A small random problem with real signal: (X, y) of 150 x 12, 4 classes."""
    return random_problem(0)


def random_problem(seed, n=150, d=12, k=4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    W = rng.normal(size=(k, d)) * 2
    y = (X @ W.T + rng.gumbel(size=(n, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return X, y


def need_data_set(name):
    """Skip the test without $SHAREBOOST_DATA; fail it where that folder lacks the data set."""
    folder = os.environ.get("SHAREBOOST_DATA")
    if not folder:
        pytest.skip(f"it needs {name}.npz, and $SHAREBOOST_DATA is not set")
    if not (Path(folder) / f"{name}.npz").exists():
        pytest.fail(f"{name}.npz is not in $SHAREBOOST_DATA, {folder}", pytrace=False)


@pytest.fixture
def data_set():
    """Load one of the paper's data sets."""
    from shareboost.datasets import load_dataset

    def load(name):
        need_data_set(name)
        return load_dataset(name)

    return load
