"""A pool of a user's own gives its features, and runs wherever those of the package do."""

import inspect

import numpy as np
import own_pool
import pytest
from cluster_parity import assert_alike
from cut_rows import Cut
from every_pool import all_correlations, all_moments
from own_pool import Sines
from sklearn.base import clone
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Union
from shareboost.pools import base as pools_base
from shareboost.selection.rules import RULES


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300] / 40.0, y[:300]


def sines_of(X, n_sines=300, seed=0):
    return np.sin(X @ np.random.default_rng(seed).normal(size=(X.shape[1], n_sines)))


def classifier(**parameters):
    return ShareBoostClassifier(5, **{"pool": Sines(), "alpha": 1e-3, **parameters})


def test_the_pool_is_of_25_lines():
    source = inspect.getsource(own_pool).partition("@dataclass")[2]
    assert sum(bool(line.strip()) for line in source.splitlines()) <= 25


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [True, False])
def test_a_fit_is_the_fit_on_its_columns(data, rule, intercept):
    X, y = data
    settings = {"rule": rule, "shortlist": 5, "fit_intercept": intercept, "refit_tol": 1e-3}
    found = classifier(**settings).fit(X, y)
    truth = classifier(**settings, pool=Columns()).fit(sines_of(X), y)
    assert found.selected_.tolist() == truth.selected_.tolist()
    assert np.allclose(found.path_.losses, truth.path_.losses, rtol=1e-5)
    assert np.allclose(found.decision_function(X), truth.decision_function(sines_of(X)), atol=1e-2)


@pytest.mark.parametrize("centred", [True, False])
def test_sums_over_blocks_and_chunks_are_those_over_its_columns(data, centred, monkeypatch):
    X, _ = data
    monkeypatch.setattr(pools_base, "WRITTEN_BYTES", 8 * 300 * 17)
    monkeypatch.setattr(pools_base, "MOST_WRITTEN", 70)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=300)
    pool = Sines().fit(Cut(X, weight), centred=centred)
    assert [part.stop - part.start for part in pool.parts(10)] == [70, 70, 70, 70, 20]
    A = sines_of(X)
    middle = np.average(A, axis=0, weights=weight) if centred else 0.0
    scale = np.sqrt(np.average((A - middle) ** 2, axis=0, weights=weight))
    assert np.allclose(pool.scale_, scale, rtol=1e-6)
    R = np.random.default_rng(1).normal(size=(10, 300))
    Z = ((A - middle) / pool.scale_).T
    edges = [0, 1, 90, 300]
    assert np.allclose(all_correlations(pool, X, R, edges), R @ Z.T)
    for found, truth in zip(all_moments(pool, X, R, edges), (R @ Z.T, R @ (Z**2).T), strict=True):
        assert np.allclose(found, truth)


def test_it_joins_a_union(data):
    X, y = data
    union = classifier(pool=Union([Columns(), Sines()])).fit(X, y)
    truth = classifier(pool=Columns()).fit(np.hstack([X, sines_of(X)]), y)
    assert union.selected_.tolist() == truth.selected_.tolist()


@pytest.mark.parametrize("rule", ["orthogonal", "newton"])
@pytest.mark.parametrize(
    "pool", [Sines(), Union([Columns(), Sines()])], ids=["alone", "in a union"]
)
def test_torch_chooses_as_numpy(data, rule, pool):
    torch = pytest.importorskip("torch")
    X, y = data
    truth = classifier(pool=pool, rule=rule).fit(X, y)
    found = classifier(pool=pool, rule=rule).fit(torch.tensor(X), y)
    assert found.selected_.tolist() == truth.selected_.tolist()
    assert np.allclose(found.path_.losses, truth.path_.losses, rtol=1e-4)
    scores = found.decision_function(torch.tensor(X))
    assert np.allclose(scores.numpy(), found.decision_function(X), atol=1e-6)


@pytest.mark.quiet
def test_a_cluster_chooses_as_numpy(data):
    dask, da, distributed = map(pytest.importorskip, ("dask", "dask.array", "distributed"))
    X, y = data
    # In sums of gradients a refit ends elsewhere within its tolerance.
    clf = classifier(refit_tol=1e-3)
    truth = clone(clf).fit(X, y)
    rows = da.from_array(X, chunks=(110, 64))
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster):
        for memory in (None, "1 kB"):  # columns are gathered, or gradients summed
            with dask.config.set({"shareboost.client-memory": memory}):
                found = clone(clf).fit(rows, y)
            assert_alike(found, truth)
        scores = found.decision_function(rows).compute()
    assert np.allclose(scores, found.decision_function(X), atol=1e-9)
