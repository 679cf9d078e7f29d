"""Rows in blocks, computed in the thread of the test, or by a small cluster in this process."""

import pytest
from sklearn.datasets import load_digits

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session", autouse=True)
def settings_of_dask():
    settings = {
        # A busy machine takes its time to answer. Not longer: Dask also tries so long to reach
        # workers that were killed.
        "distributed.comm.timeouts.connect": "1 minute",
        "distributed.comm.timeouts.tcp": "10 minutes",
        "distributed.scheduler.worker-ttl": None,
        "shareboost.worker-patience": 600,
        # Nobody reads what workers tell of themselves.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.interval": "1 minute",
    }
    with dask.config.set(settings):
        yield


@pytest.fixture(autouse=True)
def in_this_thread(request):
    """A test that wants a cluster asks for it."""
    if {"client", "processes"} & set(request.fixturenames):
        yield
        return
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def cluster():
    how = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A connected client of a cluster in this process: fast, and a monkeypatch reaches it."""
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def process_cluster():
    how = {"processes": True, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster:
        yield cluster


@pytest.fixture
def processes(process_cluster):
    """A connected client of workers in processes of their own: all that is sent is pickled."""
    with distributed.Client(process_cluster) as client:
        yield client


@pytest.fixture(scope="session")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


MODES = ("gathered", "summed", "summed, made anew")


@pytest.fixture
def refitting(monkeypatch):
    """Return a context in which fits refit in one of the MODES."""

    def in_mode(mode):
        if mode.endswith("made anew"):
            monkeypatch.setattr("shareboost.backends.dask.executor.HELD_SHARE", 0.0)
        memory = None if mode.startswith("gathered") else "1 kB"
        return dask.config.set({"shareboost.client-memory": memory})

    return in_mode
