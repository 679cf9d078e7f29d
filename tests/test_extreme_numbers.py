"""Numbers near the ends of their type: a fit gives a finite model, or one error with a remedy."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_problem
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.pools import Columns, Pieces, Products, Templates
from shareboost.rivals import MixedNormClassifier, OneVsRestGreedyClassifier

X, Y = random_problem(0, n=120, d=6, k=3)
TINY, HUGE = 1e-310, 1.7e308
ESTIMATORS = {
    "columns": lambda: ShareBoostClassifier(3),
    "unscaled": lambda: ShareBoostClassifier(3, pool=Columns(scale="none")),
    "maxabs": lambda: ShareBoostClassifier(3, pool=Columns(scale="maxabs")),
    "groups": lambda: ShareBoostClassifier(2, groups=[0, 0, 1, 1, 2, 2]),
    "products": lambda: ShareBoostClassifier(3, pool=Products(linear=True)),
    "pieces": lambda: ShareBoostClassifier(2, pool=Pieces(4, 3)),
    "newton": lambda: ShareBoostClassifier(3, rule="newton"),
    "refit": lambda: ShareBoostClassifier(2, rule="refit"),
    "swap": lambda: ShareBoostClassifier(3, swap=True),
    "no intercept": lambda: ShareBoostClassifier(3, fit_intercept=False),
    "included": lambda: ShareBoostClassifier(3, include=[0, 1]),
    "cv": lambda: ShareBoostCV(n_features=2, cv=2),
    "one-vs-rest": lambda: OneVsRestGreedyClassifier(3),
    "mixed norm": lambda: MixedNormClassifier(path=4),
}
# scikit-learn sums X to see whether it is finite.
sums_overflow = pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
REMEDY = "Divide .*X by .*largest magnitude"


def assert_refused(clf, rows, size, y=Y):
    with pytest.raises(FloatingPointError, match=f"too ({size}).*{REMEDY}"):
        clf.fit(rows, y)
    assert not hasattr(clf, "weights_")


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "unscaled"])
def test_columns_that_are_too_small_are_refused(name):
    assert_refused(ESTIMATORS[name](), X * TINY, "small" if name != "mixed norm" else "small or")


@pytest.mark.parametrize("name", ESTIMATORS)
@sums_overflow
def test_columns_that_are_too_large_are_refused(name):
    assert_refused(ESTIMATORS[name](), X * HUGE, "large")


@pytest.mark.parametrize(("factor", "size"), [(1e-200, "small"), (1e200, "large")])
def test_products_that_no_float64_holds_are_refused(factor, size):
    assert_refused(ShareBoostClassifier(3, pool=Products()), X * factor, size)


@pytest.mark.parametrize(("dtype", "factor"), [(np.float32, 1e30), (np.float64, 1e200)])
def test_unscaled_columns_whose_squares_overflow_are_refused(dtype, factor):
    clf = ShareBoostClassifier(3, pool=Columns(scale="none"))
    assert_refused(clf, (X * factor).astype(dtype), "large")


@pytest.mark.parametrize("factor", [1e-300, 1e-46, 1e38, 1e300])
@pytest.mark.parametrize("name", ["columns", "pieces", "cv", "one-vs-rest", "mixed norm"])
def test_the_scale_of_columns_does_not_matter(name, factor):
    plain, scaled = ESTIMATORS[name]().fit(X, Y), ESTIMATORS[name]().fit(X * factor, Y)
    assert np.array_equal(scaled.selected_, plain.selected_)
    assert np.isfinite(scaled.weights_).all()
    assert np.isfinite(scaled.predict_proba(X * factor)).all()
    assert scaled.score(X * factor, Y) == plain.score(X, Y)


def test_a_column_that_is_too_small_and_not_chosen_does_no_harm():
    rows = X.copy()
    rows[:, 5] = np.random.default_rng(0).normal(size=len(X)) * TINY
    clf = ShareBoostClassifier(3).fit(rows, Y)
    assert 5 not in clf.selected_


def test_a_fit_that_is_refused_leaves_an_earlier_one():
    clf = ShareBoostClassifier(3).fit(X, Y)
    before = clf.weights_
    with pytest.raises(FloatingPointError):
        clf.fit(X * TINY, Y)
    assert clf.weights_ is before


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("factor", [1e-310, 1e-46, 1e38, 1e300])
def test_images_that_float32_cannot_hold_are_refused(factor, device):
    if device is not None:
        pytest.importorskip("torch")
    images, labels = (part[:60] for part in load_digits(return_X_y=True))
    pool = Templates(5, patch_size=3, masks=2, n_patches=200)
    clf = ShareBoostClassifier(2, pool=pool, device=device)
    with pytest.raises(FloatingPointError, match=f"largest magnitude in X is .*{REMEDY}"):
        clf.fit(images * factor, labels)


@pytest.mark.parametrize("name", ["columns", "pieces", "products"])
@pytest.mark.parametrize(("factor", "size"), [(TINY, "small"), (HUGE, "large")])
@sums_overflow
def test_a_torch_device_refuses_the_same_columns(name, factor, size):
    pytest.importorskip("torch")
    assert_refused(ESTIMATORS[name]().set_params(device="cpu"), X * factor, size)


long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).maxexp == np.finfo(np.float64).maxexp,
    reason="long doubles are no wider than float64 here",
)


@long_double
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("pool", ["columns", "stumps"])
@pytest.mark.parametrize(("factor", "size"), [("1e4000", "large"), ("1e-4000", "small")])
def test_long_doubles_beyond_float64_are_refused(make, pool, factor, size):
    clf = ShareBoostClassifier(3, pool=pool)
    assert_refused(clf, make(X.astype(np.longdouble) * np.longdouble(factor)), size)
    clf.fit(X, Y)
    with pytest.raises(FloatingPointError, match="too large"):
        clf.predict(np.full((2, 6), np.longdouble("1e4000")))


@pytest.mark.parametrize("pool", ["columns", "stumps", "products", Pieces(4, 3)])
def test_long_doubles_are_read_as_float64(pool):
    plain = ShareBoostClassifier(3, pool=pool).fit(X, Y)
    clf = ShareBoostClassifier(3, pool=pool).fit(X.astype(np.longdouble), Y)
    assert np.array_equal(clf.weights_, plain.weights_)
    assert np.array_equal(clf.predict(X.astype(np.longdouble)), plain.predict(X))
