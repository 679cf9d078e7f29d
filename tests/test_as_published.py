"""The paper's own form against Algorithm 1 as it is printed, and what its theorems rest on."""

from itertools import pairwise

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_pools import explicit
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.preprocessing import MaxAbsScaler

from shareboost import ShareBoostClassifier
from shareboost.losses import LogisticLoss
from shareboost.pools import (
    Columns,
    Groups,
    Pieces,
    Products,
    Stumps,
    Templates,
    Union,
    as_published,
)

# `as_published` sets what else makes a pool the paper's.
POOLS = {
    "columns": Columns(),
    "groups": Groups(np.arange(16) // 3),
    "stumps": Stumps(),
    "products": Products(squares=True, linear=True),
    "pieces": Pieces(5, 3),
    "templates": Templates(4, patch_size=2, masks=2, sigma=1.0),
    "union": Union([Columns(), Stumps(), Products(), Pieces(3, 2)]),
}


@pytest.fixture(scope="module")
def data():
    """Rows in [-1, 1] of four classes that overlap; one column is constant and one all zero."""
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, size=(400, 16)) / 4
    X[:, 3], X[:, 9] = 0.8, 0.0
    W = rng.normal(size=(4, 16))
    y = (X @ W.T + 2 * X[:, :4] ** 2 + [0, 0, 1, 2] + rng.gumbel(size=(400, 4))).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("name", POOLS)
def test_every_pool_runs_algorithm_1_as_printed(name, data):
    X, y = data
    n_rounds = 2 if name in ("pieces", "union") else 5  # a piece has 17 columns
    clf = ShareBoostClassifier.as_published(n_rounds, pool=POOLS[name]).fit(X, y)
    pool = as_published(POOLS[name]).fit(X, np.ones(len(y)), centred=False)
    columns = explicit(pool, X, X, centred=False)
    if name == "templates":  # whose responses are rounded to float32
        assert np.allclose(pool.features(range(len(columns))).columns(X).T, np.vstack(columns))
        columns = list(pool.features(range(len(columns))).columns(X).T[:, None].astype(float))
    edges = np.cumsum([0, *(len(own) for own in columns)])
    atoms = [np.arange(a, b) for a, b in pairwise(edges)]
    chosen, losses = naive.shareboost(
        np.vstack(columns).T, y, n_rounds, intercept=False, scale="none", atoms=atoms
    )
    assert clf.selected_.tolist() == chosen
    assert np.abs(clf.path_.losses - losses).max() < 1e-8


@pytest.mark.parametrize("pool", [Columns(), Products(squares=True), Stumps()], ids=str)
def test_the_constant_feature_of_a_coin_is_found(pool):
    """Of X = [1, coin], only the constant column tells how frequent the classes are."""
    y = (np.arange(100) % 10 == 0).astype(int)
    X = np.c_[np.ones(100), np.resize([1.0, -1.0], 100)]
    clf = ShareBoostClassifier.as_published(1, pool=pool).fit(X, y)
    assert np.ptp(clf.transform(X)) == 0
    intercept_alone = naive.refit(X[:, []], y, np.ones(100), 2, 1.0, 0.0, True)
    least = naive.average_loss(np.tile(intercept_alone.T, (100, 1)), y, np.ones(100), 1.0)
    assert clf.path_.losses[-1] == pytest.approx(least, abs=1e-8)


def test_the_accelerated_gradient_comes_to_the_same(data):
    X, y = data
    default = ShareBoostClassifier.as_published(4).fit(X, y)
    clf = ShareBoostClassifier.as_published(4, solver="nesterov").fit(X, y)
    assert clf.selected_.tolist() == default.selected_.tolist()
    assert np.abs(clf.path_.losses - default.path_.losses).max() < 1e-8


@pytest.mark.parametrize("name", ["columns", "groups", "products", "pieces", "union"])
def test_columns_outside_the_unit_interval_are_refused(name, data):
    X, y = data
    X = X.copy()
    X[5, 2] = -1.5
    clf = ShareBoostClassifier.as_published(2, pool=POOLS[name])
    with pytest.raises(
        ValueError, match=r"column 2 has values up to 1.5 .*='bounded'.*MaxAbsScaler"
    ):
        clf.fit(X, y)
    clf.fit(MaxAbsScaler().fit_transform(X), y)


def test_stumps_take_columns_of_any_size(data):
    X, y = data
    plain = ShareBoostClassifier.as_published(3, pool="stumps").fit(X, y)
    assert np.array_equal(plain.fit(100 * X, y).selected_, plain.selected_)


def test_further_parameters_are_those_of_the_class():
    clf = ShareBoostClassifier.as_published(7, pool="pieces", random_state=3)
    assert (clf.n_features, clf.random_state, clf.pool.form) == (7, 3, "bounded")
    assert (clf.margin, clf.alpha, clf.fit_intercept, clf.swap) == (1.0, 0.0, False, False)


def loss_and_gradient(scores, y):
    """Of single rows: the loss of each, and its gradient in the scores, (k, n)."""
    values, residual = [], scores.copy()
    for i in range(len(y)):
        own = scores[:, [i]].copy()
        values.append(float(LogisticLoss().value_and_residual(own, y[[i]], np.ones(1))))
        residual[:, i] = own[:, 0]
    return np.array(values), residual


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(-2, 3))
def test_the_loss_is_smooth_in_the_largest_change_of_a_score(seed, k, size):
    """The appendix: l(u + v) <= l(u) + <grad l(u), v> + |v|_inf^2."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, k, 20)) * 10.0**size
    v *= 10.0 ** rng.uniform(-4, 0, size=20)
    y = rng.integers(k, size=20)
    before, gradient = loss_and_gradient(u, y)
    after, _ = loss_and_gradient(u + v, y)
    bound = before + (gradient * v).sum(axis=0) + np.abs(v).max(axis=0) ** 2
    assert (after <= bound + 1e-12 * (1 + np.abs(before) + np.abs(bound))).all()


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(-3, 1))
def test_the_average_loss_is_smooth_in_one_column(seed, k, size):
    """The appendix: L(W - u e_r') <= L(W) - <grad L(W), u e_r'> + |u|_inf^2 for |x| <= 1."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-1, 1, size=(30, 5)), rng.integers(k, size=30)
    W, r = rng.normal(size=(k, 5)) * 3, int(rng.integers(5))
    U = np.zeros((k, 5))
    U[:, r] = rng.normal(size=k) * 10.0**size
    before, gradient = loss_and_gradient(W @ X.T, y)
    after, _ = loss_and_gradient((W - U) @ X.T, y)
    inner = (gradient @ X / 30 * U).sum()
    assert after.mean() <= before.mean() - inner + np.abs(U).max() ** 2 + 1e-12


def test_stumps_of_responses_to_signs_are_the_patches_of_section_1_1(digits):
    """1 where no patch of the image has an inner product above a threshold with the template."""
    images = digits[0][:40]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(6, 3, 3))
    pool = Templates(templates=signs, masks=1, sigma=1e6).fit(images)
    places = sliding_window_view(images.reshape(-1, 8, 8), (3, 3), axis=(1, 2))
    responses = np.einsum("nijab,tab->ntij", places, signs).max(axis=(2, 3))
    found = pool.features(range(6)).columns(images)
    assert np.array_equal(found, responses)
    stumps = Stumps(max_bins=None).fit(found)
    features = stumps.features(range(stumps.n_atoms_))
    above = responses[:, features.column] > features.threshold
    assert np.array_equal(features.columns(found), 1.0 - above)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_tight_refits_of_float32_rows_are_those_of_float64(data, make):
    X, y = data
    single = ShareBoostClassifier.as_published(4).fit(make(X.astype(np.float32)), y)
    double = ShareBoostClassifier.as_published(4).fit(make(X), y)
    assert np.array_equal(single.selected_, double.selected_)
    assert np.abs(single.path_.losses - double.path_.losses).max() < 1e-12


def test_all_thresholds_groups_by_their_sum_and_no_prices_are_published():
    union = Union([Stumps(16), Groups([0, 0, 1], score="mean")], costs=[1.0, 2.0])
    union = as_published(union)
    stumps, groups = (pool for _, pool in union.pools)
    assert (stumps.max_bins, groups.score, union.costs) == (None, "sum", None)


def test_a_pool_of_your_own_keeps_its_parameters():
    class Fixed(Columns):
        def __init__(self):
            super().__init__()

    assert isinstance(as_published(Fixed()), Fixed)
