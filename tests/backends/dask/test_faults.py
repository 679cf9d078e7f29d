"""Fits on clusters that lose workers, blocks, the scheduler or the client's patience."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import count

import dask
import dask.array as da
import numpy as np
import pytest
from ctrl_c import heeding_ctrl_c
from distributed import Client, LocalCluster, WorkerPlugin
from distributed.utils import get_mp_context

from shareboost import ShareBoostClassifier
from shareboost.backends.dask import executor
from shareboost.backends.dask.executor import ClusterError, DaskExecutor

pytestmark = pytest.mark.quiet

ON_CLIENT = {}
ON_CLUSTER = {"shareboost.client-memory": "1 kB"}
every_refit = pytest.mark.parametrize(
    "refit", [ON_CLIENT, ON_CLUSTER], ids=["refit on the client", "refit on the cluster"]
)


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """A folder of orders to workers: the names of files say which task ends who begins it."""
    return tmp_path_factory.mktemp("orders")


def worker_ending(folder):
    """Return a plugin of workers by which one ends itself for every order in the folder."""

    # Workers have no tests to import: what they call is defined in here.
    class WorkerEnding(WorkerPlugin):
        def transition(self, key, start, finish, **kwargs):
            if finish != "executing":
                return
            name = key[0] if isinstance(key, tuple) else key
            for order in os.listdir(folder):
                if name.startswith(order.partition(" ")[2]):
                    try:
                        os.unlink(os.path.join(folder, order))
                    except FileNotFoundError:  # another worker was faster
                        continue
                    os.kill(os.getpid(), signal.SIGKILL)

    return WorkerEnding()


@pytest.fixture(scope="module")
def cluster(orders):
    settings = {
        # New workers are forks of a process that has imported all they need.
        "distributed.worker.multiprocessing-method": "forkserver",
        # Some time after a worker was lost, Dask looks whether it is back, and else gives it up:
        # also if it was long back and is just being restarted once more.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with dask.config.set(settings):
        get_mp_context().set_forkserver_preload(["distributed", "shareboost.backends.dask.worker"])
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            memory_limit="2 GiB",
        ) as cluster:
            with Client(cluster) as client:
                client.register_plugin(worker_ending(str(orders)), "worker ending")
            yield cluster


def with_two_workers(cluster, client):
    cluster.scale(2)
    client.wait_for_workers(2)


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        with_two_workers(cluster, client)
        yield client


def blocks(fault=lambda: None):
    """Return (X, y): blocks by seed, made by tasks that also meet the fault."""

    def rows(seed, labels):
        fault()
        rng = np.random.default_rng(int(seed[0]))
        X = rng.uniform(-1, 1, size=(300, 12))
        W = np.random.default_rng(99).normal(size=(4, 12)) * 2
        return (X @ W.T + rng.gumbel(size=(300, 4))).argmax(axis=1) if labels else X

    seeds = da.arange(3, chunks=1)
    of_rows = (300,) * 3
    X = seeds.map_blocks(rows, False, chunks=(of_rows, (12,)), new_axis=1, meta=np.empty((0, 0)))
    y = seeds.map_blocks(rows, True, chunks=(of_rows,), meta=np.empty(0, dtype=np.intp))
    return X, y


def classifier(**parameters):
    return ShareBoostClassifier(3, tol=0.01, refit_tol=0.5, **parameters)


@pytest.fixture(scope="module")
def faultless(cluster):
    """The fits without any fault, by where they are refit."""
    with Client(cluster) as client:
        with_two_workers(cluster, client)
        found = {}
        for refit in (ON_CLIENT, ON_CLUSTER):
            with dask.config.set(refit):
                found[str(refit)] = classifier().fit(*blocks())
        return found


def assert_same(clf, other):
    assert np.array_equal(clf.selected_, other.selected_)
    assert np.array_equal(clf.weights_, other.weights_)
    assert np.array_equal(clf.intercept_, other.intercept_)


def assert_forgotten(cluster):
    """Assert that the scheduler comes to know no task of a fit, nor of the blocks, any more."""
    until = time.monotonic() + 600
    while cluster.scheduler.tasks and time.monotonic() < until:
        time.sleep(0.02)
    assert not list(cluster.scheduler.tasks)


@pytest.fixture
def made_anew(monkeypatch):
    """Workers have no memory to hold rows in."""
    monkeypatch.setattr("shareboost.backends.dask.executor.HELD_SHARE", 0.0)


@pytest.fixture
def amid(monkeypatch):
    """Have something happen while tasks are computed, by the number of their pass or round.

    Just after the tasks are asked for, or just ``before``.
    """

    def plan(passes=None, rounds=None, before=False):
        submitted = DaskExecutor.submitted
        n_passes, n_rounds = count(), count(1)

        def submitted_amid_events(self, tasks):
            events = [(passes or {}).pop(next(n_passes), None)]
            if "shareboost-score" in str(tasks.keys):  # the first of a round
                events.append((rounds or {}).pop(next(n_rounds), None))
            if before:
                happen(events)
            futures = submitted(self, tasks)
            if not before:
                happen(events)
            return futures

        monkeypatch.setattr(DaskExecutor, "submitted", submitted_amid_events)

    return plan


def happen(events):
    for event in filter(None, events):
        event()


@pytest.fixture
def end_worker(orders):
    """Have the next worker that begins a task, of a given name, end as if out of memory."""
    numbers = count()
    yield lambda name="": (orders / f"{next(numbers)} {name}").touch()
    for order in orders.iterdir():
        order.unlink()


@pytest.mark.parametrize(
    ("refit", "held", "persisted"),
    [
        (ON_CLIENT, True, False),
        (ON_CLIENT, False, True),
        (ON_CLUSTER, True, True),
        (ON_CLUSTER, False, False),
    ],
)
def test_workers_may_be_killed_in_any_round(
    cluster, client, faultless, amid, end_worker, orders, request, refit, held, persisted
):
    if not held:
        request.getfixturevalue("made_anew")
    X, y = blocks()
    if persisted:
        X, y = client.persist([X, y])
    amid(dict.fromkeys([3, 8, 11] if refit is ON_CLIENT else [5, 10, 15], end_worker), before=True)
    with dask.config.set(refit):
        clf = classifier().fit(X, y)
    assert not os.listdir(orders)
    assert_same(clf, faultless[str(refit)])
    del X, y
    assert_forgotten(cluster)


@every_refit
def test_workers_may_come_and_be_restarted(cluster, client, faultless, amid, refit):
    def restart():
        client.restart_workers([next(iter(client.scheduler_info()["workers"]))])

    amid({7: lambda: cluster.scale(3), 10: restart}, {3: lambda: cluster.scale(1)})
    with dask.config.set(refit):
        clf = classifier().fit(*blocks())
    assert_same(clf, faultless[str(refit)])
    assert_forgotten(cluster)


@pytest.mark.parametrize("persisted", [False, True])
def test_all_workers_may_be_killed_at_once(cluster, client, faultless, amid, persisted):
    def end_all():
        for nanny in cluster.workers.values():
            os.kill(nanny.pid, signal.SIGKILL)

    X, y = blocks()
    if persisted:
        X, y = client.persist([X, y])
    amid(rounds={2: end_all})
    clf = classifier().fit(X, y)
    assert_same(clf, faultless[str(ON_CLIENT)])
    del X, y
    assert_forgotten(cluster)


@pytest.fixture
def blaming(cluster, monkeypatch):
    """Have Dask give a task up as soon as one worker has ended while computing it."""
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)


def test_a_block_that_ends_every_worker_is_one_clear_error(cluster, client, blaming, tmp_path):
    folder = str(tmp_path)

    def end():
        os.close(tempfile.mkstemp(dir=folder)[0])
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ClusterError, match="Several workers in turn ended while they computed"):
        classifier().fit(*blocks(end))
    assert os.listdir(folder)
    assert_forgotten(cluster)


def test_a_cluster_without_workers_is_one_clear_error_and_loses_no_round(
    cluster, client, faultless, amid, monkeypatch, tmp_path
):
    monkeypatch.setattr(executor, "LOOK_EVERY", 0.1)
    amid(rounds={3: lambda: cluster.scale(0)})
    kept = tmp_path / "rounds"
    clf = classifier(checkpoint=kept)
    with (
        dask.config.set({"shareboost.worker-patience": 1}),
        pytest.raises(ClusterError, match="no worker for 1 seconds.*checkpoint") as raised,
    ):
        clf.fit(*blocks())
    assert_forgotten(cluster)
    assert raised.value.__traceback__ is not None  # and keeps nothing on the cluster
    assert not hasattr(clf, "weights_")
    assert kept.exists()
    with_two_workers(cluster, client)
    assert_same(clf.fit(*blocks()), faultless[str(ON_CLIENT)])
    assert_forgotten(cluster)


def raising(flag):
    """Return a fault that begins once a file is there."""

    def fault():
        if os.path.exists(flag):
            raise ArithmeticError("of this block's own")

    return fault


def test_a_block_that_raises_is_one_clear_error(cluster, client, tmp_path):
    clf = classifier().fit(*blocks())
    before = clf.weights_.copy()
    with pytest.raises(ClusterError, match="ArithmeticError: of this block's own") as raised:
        clf.fit(*blocks(raising(str(tmp_path))))
    assert isinstance(raised.value.__cause__, ArithmeticError)
    assert np.array_equal(clf.weights_, before)
    assert_forgotten(cluster)


def test_a_block_that_raises_at_times_is_computed_again(cluster, client, faultless, tmp_path):
    folder = str(tmp_path)

    def fault():
        if len(os.listdir(folder)) < 2:
            os.close(tempfile.mkstemp(dir=folder)[0])
            raise OSError("a read that failed")

    assert_same(classifier().fit(*blocks(fault)), faultless[str(ON_CLIENT)])
    assert len(os.listdir(folder)) == 2
    assert_forgotten(cluster)


def test_a_block_that_raises_late_loses_no_round(
    cluster, client, faultless, amid, made_anew, tmp_path
):
    flag, kept = tmp_path / "flag", tmp_path / "rounds"
    X, y = blocks(raising(str(flag)))
    clf = classifier().fit(X, y)
    before = clf.weights_.copy()
    clf.set_params(checkpoint=kept)
    amid(rounds={3: flag.touch}, before=True)
    with pytest.raises(ClusterError, match="ArithmeticError: of this block's own.*checkpoint"):
        clf.fit(X, y)
    assert np.array_equal(clf.weights_, before)
    assert_forgotten(cluster)
    assert kept.exists()
    flag.unlink()
    assert_same(clf.fit(X, y), faultless[str(ON_CLIENT)])


def test_a_client_that_is_closed_is_one_clear_error(cluster, client, amid):
    amid(rounds={2: client.close})
    with pytest.raises(ClusterError, match="cannot be reached.*checkpoint"):
        classifier().fit(*blocks())
    assert_forgotten(cluster)


SCHEDULER = """
import sys
from distributed import LocalCluster
settings = {"processes": False, "protocol": "tcp://", "dashboard_address": ":0"}
with LocalCluster(n_workers=1, **settings) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def test_a_scheduler_that_is_gone_is_one_clear_error(amid):
    command = [sys.executable, "-c", SCHEDULER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with (
        subprocess.Popen(command, text=True, **pipes) as process,
        Client(process.stdout.readline().strip(), timeout=600),
    ):
        amid(rounds={2: process.kill})
        with pytest.raises(ClusterError, match="cannot be reached"):
            classifier().fit(*blocks())


def waiting_while(flag, begun):
    """Return a fault: a block that takes as long as a file is there."""
    flag, begun = str(flag), str(begun)

    def fault():
        while os.path.exists(flag):
            open(begun, "w").close()
            time.sleep(0.01)

    return fault


def test_an_interrupt_leaves_the_finished_rounds_and_no_task(
    cluster, client, faultless, amid, made_anew, monkeypatch, tmp_path
):
    flag, begun = tmp_path / "flag", tmp_path / "begun"
    wait = executor.wait

    def interrupted_wait(*arguments, **settings):
        if begun.exists():
            signal.raise_signal(signal.SIGINT)
        return wait(*arguments, **settings)

    monkeypatch.setattr(executor, "wait", interrupted_wait)
    monkeypatch.setattr(executor, "LOOK_EVERY", 0.01)
    amid(rounds={3: flag.touch}, before=True)
    clf = classifier()
    with heeding_ctrl_c(), pytest.raises(KeyboardInterrupt):
        clf.fit(*blocks(waiting_while(flag, begun)))
    flag.unlink()
    assert_forgotten(cluster)
    assert len(clf.path_) == 2
    assert np.array_equal(clf.selected_, faultless[str(ON_CLIENT)].selected_[:2])


def test_a_fit_needs_a_client():
    with pytest.raises(ValueError, match=r"no client is connected.*Client\(\)"):
        classifier().fit(*blocks())


def test_a_fit_needs_a_client_that_waits(cluster, client, monkeypatch):
    with monkeypatch.context() as patch:  # which ends before the client is closed
        patch.setattr(Client, "asynchronous", True)
        with pytest.raises(ValueError, match="asynchronous=False"):
            classifier().fit(*blocks())
