"""Hinges: what their sums cost, what they fit, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

from shareboost import ShareBoostClassifier
from shareboost.pools import Hinges, Stumps


def test_thresholds_are_those_of_stumps_with_as_many_bins():
    X, _ = load_wine(return_X_y=True)
    hinges, stumps = Hinges(8).fit(X), Stumps(8).fit(X)
    assert hinges.n_atoms_ == 2 * stumps.n_atoms_
    assert np.array_equal(hinges.thresholds_, stumps.thresholds_)


def test_hinges_fit_a_bent_line_that_columns_and_stumps_cannot():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 3))
    y = (np.abs(X[:, 0]) + 0.5 * X[:, 1] > 0.5).astype(int)
    scores = {
        pool: ShareBoostClassifier(4, pool=pool).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
        for pool in ("columns", "stumps", "hinges")
    }
    assert scores["hinges"] > 0.97
    assert scores["hinges"] > max(scores["columns"], scores["stumps"])


@pytest.mark.parametrize("rule", ["orthogonal", "newton"])
def test_sparse_rows_choose_what_dense_rows_choose(rule):
    rng = np.random.default_rng(1)
    X = rng.poisson(0.4, size=(300, 30)) * rng.uniform(0.5, 2.0, size=(300, 30))
    y = (X[:, :3] @ rng.normal(size=(3, 4))).argmax(axis=1)
    dense = ShareBoostClassifier(6, pool="hinges", rule=rule).fit(X, y)
    for make in (sp.csr_array, sp.csc_array):
        sparse = ShareBoostClassifier(6, pool="hinges", rule=rule).fit(make(X), y)
        assert np.array_equal(sparse.selected_, dense.selected_)
        assert np.allclose(sparse.decision_function(make(X)), dense.decision_function(X))


def test_constant_columns_have_no_hinges():
    X = np.column_stack([np.ones(20), np.arange(20.0)])
    pool = Hinges().fit(X)
    assert set(pool.features(np.arange(pool.n_atoms_)).column) == {1}
    assert Hinges().fit(X[:, :1]).n_atoms_ == 0


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (Hinges(1), "max_bins=1 is not valid for Hinges: it takes an integer of at least 2"),
        (Hinges(scale="maxabs"), "scale='maxabs' is not valid for Hinges: it takes one of"),
    ],
)
def test_bad_parameters_are_named(pool, message):
    with pytest.raises(ValueError, match=message):
        pool.fit(np.eye(3))


def test_nan_is_refused():
    with pytest.raises(ValueError, match="X contains NaN"):
        ShareBoostClassifier(2, pool="hinges").fit([[np.nan], [1.0], [2.0]], [0, 1, 1])
