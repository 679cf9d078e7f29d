"""Fits on clusters that lose workers, blocks, the scheduler or the client's patience."""

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from itertools import count

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

from shareboost import ShareBoostClassifier
from shareboost.on_cluster import waiting
from shareboost.on_cluster.fleet import ASKS, Fleet
from shareboost.on_cluster.waiting import ClusterError

ON_CLIENT = {}
ON_CLUSTER = {"shareboost.client-memory": "1 kB"}
every_refit = pytest.mark.parametrize(
    "refit", [ON_CLIENT, ON_CLUSTER], ids=["refit on the client", "refit on the cluster"]
)


@pytest.fixture(scope="module")
def cluster():
    settings = {
        # New workers are forks of a process that has imported all they need.
        "distributed.worker.multiprocessing-method": "forkserver",
        # Some time after a worker was lost, Dask looks whether it is back, and else gives it up:
        # also if it was long back and is just being restarted once more.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with dask.config.set(settings):
        get_mp_context().set_forkserver_preload(["distributed", "shareboost.on_cluster.worker"])
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            memory_limit="2 GiB",
        ) as cluster:
            yield cluster


@pytest.fixture
def client(cluster):
    cluster.scale(2)
    with Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def blocks(fault=lambda: None):
    """Return (X, y): blocks by seed, made by tasks that also meet the fault."""

    # Workers have no tests to import: what they call is defined in here.
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
    with Client(cluster):
        found = {}
        for refit in (ON_CLIENT, ON_CLUSTER):
            with dask.config.set(refit):
                found[str(refit)] = classifier().fit(*blocks())
        return found


def assert_same(clf, other):
    assert np.array_equal(clf.selected_, other.selected_)
    assert np.array_equal(clf.coef_, other.coef_)
    assert np.array_equal(clf.intercept_, other.intercept_)


def assert_forgotten(cluster):
    """Assert that the scheduler comes to know no task of a fit, nor of the blocks, any more."""
    until = time.monotonic() + 20
    while cluster.scheduler.tasks and time.monotonic() < until:
        time.sleep(0.02)
    assert not list(cluster.scheduler.tasks)


@pytest.fixture
def made_anew(monkeypatch):
    """Workers have no memory to hold rows in."""
    monkeypatch.setattr("shareboost.on_cluster.fleet.HELD_SHARE", 0.0)


@pytest.fixture
def amid(monkeypatch):
    """Have something happen while tasks are computed, by the number of their pass or round."""

    def plan(passes=None, rounds=None):
        asked, events = Fleet._asked, []
        n_passes, n_rounds = count(), count(1)

        def asked_amid_events(self, graph, keys, *where):
            found = asked(self, graph, keys, *where)
            events.append((passes or {}).pop(next(n_passes), None))
            if "shareboost-score" in str(keys):  # the first of a round
                events.append((rounds or {}).pop(next(n_rounds), None))
            for event in filter(None, events):
                event()
            events.clear()
            return found

        monkeypatch.setattr(Fleet, "_asked", asked_amid_events)

    return plan


class Killer:
    """Ends workers as the system does when it runs out of memory."""

    def __init__(self, cluster, seed):
        self.cluster = cluster
        self.random = random.Random(seed)
        self.n_killed = 0

    def __call__(self):
        time.sleep(self.random.uniform(0, 0.02))  # into the tasks
        while not self._end(self.random.choice(list(self.cluster.workers.values()))):
            time.sleep(0.01)
        self.n_killed += 1

    def all(self):
        for nanny in self.cluster.workers.values():
            self._end(nanny)

    def _end(self, nanny):
        """Return whether there was a process to end."""
        try:
            os.kill(nanny.pid, signal.SIGKILL)
        except (ProcessLookupError, TypeError):  # ended already, or none is started yet
            return False
        return True


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
    cluster, client, faultless, amid, request, refit, held, persisted
):
    if not held:
        request.getfixturevalue("made_anew")
    X, y = blocks()
    if persisted:
        X, y = client.persist([X, y])
    kill = Killer(cluster, seed=2 * held + persisted)
    amid(dict.fromkeys([3, 8, 11] if refit is ON_CLIENT else [5, 10, 15], kill))
    with dask.config.set(refit):
        clf = classifier().fit(X, y)
    assert kill.n_killed == 3
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


@pytest.fixture
def blaming(cluster, monkeypatch):
    """Have Dask give a task up as soon as one worker has ended while computing it."""
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)


@pytest.mark.parametrize("rows_are", ["held", "made anew", "persisted"])
def test_a_task_is_not_blamed_for_a_chance(
    cluster, client, faultless, amid, blaming, request, monkeypatch, rows_are
):
    if rows_are != "held":
        request.getfixturevalue("made_anew")
    X, y = blocks(lambda: time.sleep(0.06))
    if rows_are == "persisted":
        X, y = client.persist([X, y])
    kill, blamed = Killer(cluster, seed=7), []

    def kill_those_who_compute_what_was_lost():
        kill()
        time.sleep(0.03)
        kill.all()

    hold_anew = Fleet._hold_anew
    monkeypatch.setattr(
        Fleet, "_hold_anew", lambda self, *asked: blamed.append(asked) or hold_anew(self, *asked)
    )
    amid(rounds={2: kill_those_who_compute_what_was_lost})
    clf = classifier().fit(X, y)
    assert blamed
    assert_same(clf, faultless[str(ON_CLIENT)])
    del X, y
    assert_forgotten(cluster)


def test_a_block_that_ends_every_worker_is_one_clear_error(cluster, client, blaming, tmp_path):
    folder = str(tmp_path)

    def end():
        open(os.path.join(folder, str(os.getpid())), "w").close()
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ClusterError, match="Several workers in turn ended while they computed"):
        classifier().fit(*blocks(end))
    assert len(os.listdir(folder)) >= ASKS
    assert_forgotten(cluster)


def test_a_cluster_without_workers_is_one_clear_error_and_loses_no_round(
    cluster, client, faultless, amid, monkeypatch, tmp_path
):
    monkeypatch.setattr(waiting, "PATIENCE", 2.0)
    amid(rounds={3: lambda: cluster.scale(0)})
    kept = tmp_path / "rounds"
    clf = classifier(checkpoint=kept)
    with pytest.raises(ClusterError, match="no worker for 2 seconds.*checkpoint") as raised:
        clf.fit(*blocks())
    assert_forgotten(cluster)
    assert raised.value.__traceback__ is not None  # and keeps nothing on the cluster
    assert not hasattr(clf, "coef_")
    assert kept.exists()
    cluster.scale(2)
    client.wait_for_workers(2)
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
    before = clf.coef_.copy()
    with pytest.raises(ClusterError, match="ArithmeticError: of this block's own") as raised:
        clf.fit(*blocks(raising(str(tmp_path))))
    assert isinstance(raised.value.__cause__, ArithmeticError)
    assert np.array_equal(clf.coef_, before)
    assert_forgotten(cluster)


def test_a_block_that_raises_late_loses_no_round(
    cluster, client, faultless, amid, made_anew, tmp_path
):
    flag, kept = tmp_path / "flag", tmp_path / "rounds"
    X, y = blocks(raising(str(flag)))
    clf = classifier().fit(X, y)
    before = clf.coef_.copy()
    clf.set_params(checkpoint=kept)
    amid(rounds={3: flag.touch})
    with pytest.raises(ClusterError, match="ArithmeticError: of this block's own.*checkpoint"):
        clf.fit(X, y)
    assert np.array_equal(clf.coef_, before)
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
        Client(process.stdout.readline().strip(), timeout=60),
    ):
        amid(rounds={2: process.kill})
        with pytest.raises(ClusterError, match="cannot be reached"):
            classifier().fit(*blocks())


def test_an_interrupt_leaves_the_finished_rounds_and_no_task(
    cluster, client, faultless, amid, made_anew
):
    def interrupt():
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    amid(rounds={3: interrupt})
    clf = classifier()
    with pytest.raises(KeyboardInterrupt):
        clf.fit(*blocks(lambda: time.sleep(0.05)))
    assert_forgotten(cluster)
    n = len(clf.path_)
    assert n == 2
    assert np.array_equal(clf.selected_, faultless[str(ON_CLIENT)].selected_[:n])


def test_a_fit_needs_a_client():
    with pytest.raises(ValueError, match=r"no client is connected.*Client\(\)"):
        classifier().fit(*blocks())


def test_a_fit_needs_a_client_that_waits(cluster, client, monkeypatch):
    monkeypatch.setattr(Client, "asynchronous", True)
    with pytest.raises(ValueError, match="asynchronous=False"):
        classifier().fit(*blocks())
