import naive
import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import all_curvatures
from naive_pools import explicit
from threadpoolctl import threadpool_limits

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
    settings = {"rule": "gradient", "margin": 1.0, "refit_tol": 1e-4, "tol": 1e-6}
    clf = ShareBoostClassifier(5, pool=pool, alpha=1e-4, **settings)
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


@pytest.mark.parametrize(
    ("dtype", "unit"),
    [("f4", 1e-25), ("f4", 1e-12), ("f4", 1e12), ("f4", 1e20), ("f8", 1e-100), ("f8", 1e80)],
)
def test_the_unit_of_columns_does_not_matter(dtype, unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = (X[:, 1] * X[:, 4] > 0).astype(int)
    plain = ShareBoostClassifier(2, pool="products").fit(X.astype(dtype), y)
    moved = ShareBoostClassifier(2, pool="products").fit((X * unit).astype(dtype), y)
    assert np.array_equal(moved.selected_, plain.selected_)
    assert moved.score((X * unit).astype(dtype), y) > 0.95


def test_offsets_are_scored_in_double_precision():
    rng = np.random.default_rng(0)
    X = (np.round(rng.normal(size=(3000, 3)) * 8) / 8 + 2048).astype(np.float32)
    R = rng.normal(size=(3, 3000))
    R -= R.mean(axis=1, keepdims=True)
    pool = Products().fit(X)
    (part,) = pool.parts(3)
    stats = pool.stats(pool.encode(X, slice(0, 3000)), pool.prepare(R), part)
    P = np.vstack(explicit(pool, X, X)).T
    truth = R @ (P - P.mean(axis=0)) / P.std(axis=0)
    assert np.allclose(pool.correlations(stats, part), truth, rtol=1e-6)


@pytest.mark.parametrize("offset", [0, 30, 256, 2048])
def test_curvatures_survive_offsets(offset):
    rng = np.random.default_rng(0)
    X = (np.round(rng.normal(size=(3000, 3)) * 8) / 8 + offset).astype(np.float32)
    V = rng.uniform(size=(2, 3000))
    pool = Products(squares=True, linear=True).fit(X)
    P = np.vstack(explicit(pool, X, X)).T
    truth = V @ ((P - P.mean(axis=0)) / P.std(axis=0)) ** 2
    found = all_curvatures(pool, X, V, np.ones(3000), [0, 3000])
    assert np.allclose(found, truth, rtol=1e-3)


@pytest.mark.parametrize(
    ("dtype", "unit", "make"),
    [
        ("f4", 1e-25, np.asarray),
        ("f4", 1e18, sp.csr_array),
        ("f8", 1e80, np.asarray),
        ("f8", 1e80, sp.csr_array),
    ],
    ids=["tiny dense", "huge sparse", "huge dense float64", "huge sparse float64"],
)
def test_curvatures_do_not_depend_on_the_unit_of_columns(dtype, unit, make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 2] = 0.0
    V = rng.uniform(size=(2, 200))
    found = [
        all_curvatures(Products().fit(make(data)), make(data), V, np.ones(200), [0, 90, 200])
        for data in (X.astype(dtype), (X * unit).astype(dtype))
    ]
    assert np.allclose(found[0], found[1], rtol=1e-4)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_largest_magnitude_of_small_integers_is_right(make):
    X = np.array([[-128, 3], [5, -2], [7, 1]], dtype=np.int8)
    assert Products(scale="maxabs").fit(make(X)).scale_.tolist() == [384.0]


def test_one_column_has_no_product():
    with pytest.raises(ValueError, match="X has one column"):
        Products().fit(np.ones((5, 1)))
    assert Products(squares=True).fit(np.arange(5.0)[:, None]).n_atoms_ == 1


def test_an_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="scale='std' is not valid for Products"):
        Products(scale="std").fit(np.eye(3))


@pytest.mark.quiet
def test_scales_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(6000, 150)), rng.uniform(0.5, 2, size=6000)
    y = rng.integers(0, 3, size=6000)
    scales = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            clf = ShareBoostClassifier(25, pool="products", tol=1e-9)
            scales.append(clf.fit(X, y, sample_weight=weight).path_.scales)
    assert np.array_equal(scales[0], scales[1])
    assert np.array_equal(scales[0], scales[2])
