import naive
import numpy as np
import pytest
import scipy.sparse as sp
from naive_pools import explicit

from shareboost import ShareBoostClassifier
from shareboost.pools import Products


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["a · b", "a · c", "b · c"]),
        ({"squares": True}, ["a²", "a · b", "a · c", "b²", "b · c", "c²"]),
        ({"linear": True}, ["a", "b", "c", "a · b", "a · c", "b · c"]),
        (
            {"squares": True, "linear": True},
            ["a", "b", "c", "a²", "a · b", "a · c", "b²", "b · c", "c²"],
        ),
    ],
)
def test_options_add_squares_and_plain_columns(options, expected):
    X = np.random.default_rng(0).normal(size=(10, 3))
    pool = Products(**options).fit(X)
    assert pool.n_atoms_ == len(expected)
    assert pool.features(range(pool.n_atoms_)).names(["a", "b", "c"]) == expected


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", ["deviation", "none"])
def test_a_run_equals_the_naive_reference_on_explicit_products(problem, make, scale):
    X, y = problem
    X = X[:, :7] + 0.3
    X[np.abs(X) < 0.2] = 0.0
    pool = Products(squares=True, linear=True, scale=scale)
    P = np.vstack(explicit(pool.fit(X), X, X)).T
    chosen, losses = naive.shareboost(P, y, 5, alpha=1e-4, scale=scale)
    clf = ShareBoostClassifier(5, pool=pool, alpha=1e-4, refit_tol=1e-4, tol=1e-6)
    clf.fit(make(X), y)
    assert clf.selected_.tolist() == chosen
    assert np.allclose(clf.path_.losses, losses, rtol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array], ids=["dense", "sparse"])
def test_scales_are_the_deviations_of_the_products(make):
    rng = np.random.default_rng(0)
    X = rng.normal([0, 1, 5, -3, 0], size=(3000, 5))
    weight = rng.uniform(0.5, 2, size=3000)
    pool = Products(squares=True).fit(make(X), weight)
    P = np.vstack(explicit(pool, X, X)).T
    assert np.allclose(pool.scale_, naive.scale_of(P, weight, "deviation"))
    about_zero = Products(squares=True).fit(make(X), weight, centred=False)
    assert np.allclose(about_zero.scale_, np.sqrt(weight @ P**2 / weight.sum()))


def test_constant_products_are_never_chosen(problem):
    _, y = problem
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(y), 3))
    clf = ShareBoostClassifier(9, pool=Products(squares=True), tol=1e-9).fit(signs, y)
    assert set(clf.get_feature_names_out()) == {"x0 · x1", "x0 · x2", "x1 · x2"}


def test_an_exclusive_or_is_one_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = (X[:, 4] * X[:, 21] > 0).astype(int)
    clf = ShareBoostClassifier(1, pool="products").fit(X, y)
    assert clf.get_feature_names_out().tolist() == ["x4 · x21"]
    assert clf.score(X, y) > 0.95


def test_large_and_offset_columns_score_as_in_double_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    R = rng.normal(size=(3, 500))
    R -= R.mean(axis=1, keepdims=True)
    for unit, offset in [(1e15, 0.0), (1e-15, 0.0), (1.0, 1e4)]:
        single = ((X + offset) * unit).astype(np.float32)
        double = single.astype(float)
        found = []
        for data in (single, double):
            pool = Products().fit(data)
            (part,) = pool.parts()
            stats = pool.stats(pool.encode(data, slice(0, 500)), pool.prepare(R), part)
            found.append(pool.scores(stats, part))
        assert np.allclose(*found, rtol=1e-3)


def test_one_column_has_no_product():
    with pytest.raises(ValueError, match="X has one column"):
        Products().fit(np.ones((5, 1)))
    assert Products(squares=True).fit(np.arange(5.0)[:, None]).n_atoms_ == 1


def test_an_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="scale='std' is not valid for Products"):
        Products(scale="std").fit(np.eye(3))
