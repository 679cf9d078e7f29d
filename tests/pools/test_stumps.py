import math
import tracemalloc

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import all_curvatures
from hypothesis import given
from hypothesis import strategies as st
from naive_pools import explicit

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason
from shareboost.pools import Stumps, thresholds
from shareboost.pools.base import PART_BYTES

numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(numbers, min_size=1, max_size=40))
def test_there_is_one_threshold_between_any_two_neighbours(values):
    X = np.array(values, dtype=np.float32)[:, None]
    pool = Stumps().fit(X)
    distinct = np.unique(X.astype(float))
    assert pool.n_atoms_ == distinct.size - 1
    assert (distinct[:-1] <= pool.thresholds_).all()
    assert (pool.thresholds_ < distinct[1:]).all()


def test_neighbouring_numbers_and_huge_ones_have_a_threshold_too():
    for low in (1.0, 1e300, -1.7e308, 5e-324):
        X = np.array([[low], [math.nextafter(low, math.inf)]])
        assert Stumps().fit(X).thresholds_.tolist() == [low]
    widest = np.array([[-1.7e308], [1.7e308]])
    (threshold,) = Stumps().fit(widest).thresholds_
    assert -1.7e308 <= threshold < 1.7e308


@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=120),
    st.integers(0, 2**32 - 1),
)
def test_bins_equal_every_threshold_where_values_are_few(values, seed):
    X = np.array(values, dtype=float)[:, None]
    weight = np.random.default_rng(seed).uniform(0.5, 2, size=len(X))
    binned, exact = Stumps().fit(X, weight), Stumps(max_bins=None).fit(X, weight)
    assert np.array_equal(binned.thresholds_, exact.thresholds_)
    assert np.array_equal(binned.scale_, exact.scale_)


def test_many_values_are_cut_into_bins_of_about_equal_weight():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=9000), np.zeros(9000)])[:, None]
    pool = Stumps(max_bins=64).fit(X)
    assert 55 <= pool.n_atoms_ <= 63
    below = np.less_equal(X, pool.thresholds_).mean(axis=0)
    masses = np.sort(np.diff([0.0, *below, 1.0]))
    assert masses[-1] == pytest.approx(0.5, abs=0.02)  # that of zero, alone in its bin
    assert masses[-2] < 3 * 0.5 / 63


def test_bins_of_exactly_equal_weight_end_where_they_are_full():
    rng = np.random.default_rng(0)
    for max_bins in (2, 7, 10, 100):
        X = rng.permutation(30 * max_bins)[:, None].astype(float)
        ends = 30.0 * np.arange(1, max_bins) - 0.5
        assert Stumps(max_bins).fit(X).thresholds_.tolist() == ends.tolist()


def test_weights_move_the_bins():
    X = np.arange(1000.0)[:, None]
    weight = np.where(X[:, 0] < 100, 9.0, 0.1)
    pool = Stumps(max_bins=10).fit(X, weight)
    assert (pool.thresholds_ < 100).sum() >= 7


def test_nan_counts_as_not_below():
    X = np.array([[1.0, np.nan], [2.0, 5.0], [np.nan, 5.0], [3.0, np.nan]])
    pool = Stumps().fit(X)
    assert pool.thresholds_.tolist() == [1.5, 2.5, 3.0, 5.0]
    features = pool.features([0, 2, 3])
    assert features.columns(X).tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0]]
    block = pool.encode(X, slice(0, 4))
    for place, atom in enumerate([0, 2, 3]):
        assert np.array_equal(pool.columns(block, atom)[0], features.columns(X)[:, place])


def test_missing_values_that_tell_the_class_are_found(problem):
    X, y = problem
    X = np.random.default_rng(0).normal(size=X.shape)
    X[y == 2, 7] = np.nan
    clf = ShareBoostClassifier(1, pool="stumps").fit(X, y)
    assert clf.path_.features.column == [7]
    assert clf.path_.features.threshold == [np.nanmax(X[:, 7])]
    assert (clf.predict(np.where(np.arange(12) == 7, np.nan, X[:3])) == 2).all()


def test_constant_columns_make_no_stump(problem):
    X, y = problem
    X = np.hstack([np.full((len(y), 1), 7.0), X[:, :2], np.zeros((len(y), 1))])
    assert np.diff(Stumps().fit(X).starts_).tolist() == [0, 149, 149, 0]
    clf = ShareBoostClassifier(pool="stumps").fit(np.ones((len(y), 3)), y)
    assert clf.path_.stop_reason == StopReason.EXHAUSTED
    assert clf.weights_.shape == (4, 0)


@pytest.mark.parametrize(
    ("max_bins", "make"),
    [(256, sp.csr_array), (None, np.asarray)],
    ids=["bins of sparse rows", "every threshold of dense rows"],
)
def test_a_run_equals_the_naive_reference_on_explicit_stumps(problem, max_bins, make):
    X, y = problem
    X = np.round(X[:, :6] * 4) / 4
    pool = Stumps(max_bins, scale="none")
    explicit_stumps = np.vstack(explicit(pool.fit(X), X, X)).T
    chosen, losses = naive.shareboost(explicit_stumps, y, 5, alpha=1e-3, scale="none")
    settings = {"rule": "gradient", "margin": 1.0, "refit_tol": 1e-3, "tol": 1e-5}
    clf = ShareBoostClassifier(5, pool=pool, alpha=1e-3, **settings)
    clf.fit(make(X), y)
    assert clf.selected_.tolist() == chosen
    assert np.allclose(clf.path_.losses, losses, rtol=1e-4)


@pytest.mark.quiet
@pytest.mark.parametrize("max_bins", [256, None])
def test_sparse_rows_never_become_dense(max_bins):
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 4000), density=0.002, format="csr", random_state=rng)
    y = rng.integers(0, 3, size=3000)
    clf = ShareBoostClassifier(3, pool=Stumps(max_bins))
    clf.fit(X[:100, :50], y[:100])  # compiles
    tracemalloc.start()
    clf.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3000 * 4000 / 2  # half a byte an entry


def test_integers_are_compared_as_numbers_of_any_size():
    X = np.array([[2**60], [2**60 + 2**20], [-5]])
    pool = Stumps().fit(X)
    assert pool.n_atoms_ == 2
    assert pool.features([0, 1]).columns(X).tolist() == [[0, 1], [0, 0], [1, 1]]


def test_small_integers_go_through_a_table():
    for dtype in (np.int8, np.uint8, np.bool_):
        X = np.array([[-3, 1], [1, 1], [1, 0], [0, 0]]).astype(dtype)
        pool = Stumps().fit(X)
        block, features = pool.encode(X, slice(0, 4)), pool.features(range(pool.n_atoms_))
        columns = [pool.columns(block, atom)[0] for atom in range(pool.n_atoms_)]
        assert np.array_equal(np.array(columns).T, features.columns(X))


def test_bins_that_cannot_be_are_refused():
    for max_bins in (0, 1, -4, 2.5, "many"):
        with pytest.raises(
            ValueError, match=r"max_bins=.* for Stumps: it takes an integer of at least 2"
        ):
            Stumps(max_bins).fit(np.eye(3))


def test_an_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="scale='std' is not valid for Stumps"):
        Stumps(scale="std").fit(np.eye(3))


@pytest.mark.parametrize("max_bins", [2, 16, None])
def test_missing_values_have_a_stump_however_many_values_there_are(max_bins):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 1))
    X[:3] = np.nan
    pool = Stumps(max_bins).fit(X)
    assert pool.thresholds_[-1] == np.nanmax(X)
    assert max_bins is None or pool.n_atoms_ <= max_bins - 1
    y = np.isnan(X[:, 0]).astype(int)
    assert ShareBoostClassifier(1, pool=pool, alpha=0.0).fit(X, y).score(X, y) == 1.0


def test_a_heavy_value_leaves_a_cut_for_the_others():
    X = np.concatenate([np.ones(9900), np.linspace(0, 0.9, 300)])[:, None]
    for sign in (1, -1):
        assert Stumps(max_bins=2).fit(sign * X).n_atoms_ == 1
        assert Stumps(max_bins=16).fit(sign * X).n_atoms_ >= 14


@pytest.mark.parametrize("scale", ["root", "deviation", "none"])
def test_rows_of_tiny_weight_do_no_harm(scale):
    X = np.arange(20.0)[:, None].repeat(2, axis=1)
    y = (np.arange(20) > 12).astype(int)
    weight = np.ones(20)
    weight[[0, -1]] = 1e-18
    clf = ShareBoostClassifier(1, pool=Stumps(scale=scale)).fit(X, y, sample_weight=weight)
    assert clf.get_feature_names_out().tolist() == ["x0 ≤ 12.5"]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_curvatures_of_stumps_that_nearly_all_or_no_rows_pass_are_exact(make):
    n = 40_000
    X = np.zeros((n, 2))
    X[7, 0], X[9, 1] = 1.0, -1.0
    V = np.random.default_rng(0).uniform(size=(2, n))
    pool = Stumps(scale="deviation").fit(make(X))
    found = all_curvatures(pool, make(X), V, np.ones(n), [0, 15_000, n])
    Z = np.vstack(explicit(pool, X, X)) / pool.scale_[:, None]
    truth = V @ ((Z - Z.mean(axis=1, keepdims=True)) ** 2).T
    assert np.allclose(found, truth, rtol=1e-5)


def test_names_tell_neighbouring_thresholds_apart():
    X = np.arange(1234567.0, 1234667.0)[:, None]
    pool = Stumps().fit(X)
    names = pool.features(range(pool.n_atoms_)).names(["t"])
    assert len(set(names)) == 99
    assert names[0] == "t ≤ 1234567.5"
    flowers = np.array([1.9, 1.7, 3.0, 3.3, 5.1])[:, None]
    assert Stumps().fit(flowers).features([1]).names(["petal length"]) == ["petal length ≤ 2.45"]


def test_duplicate_entries_of_sparse_rows_are_summed():
    parts = ([1.0, 2.0, 4.0, 1.0], ([0, 0, 1, 2], [0, 0, 0, 0]))
    X = sp.coo_array(parts, shape=(4, 1))  # 3, 4, 1, 0
    for data in (X.tocsr(), sp.csc_array((np.array([1.0, 2, 4, 1]), [0, 0, 1, 2], [0, 4]), (4, 1))):
        pool = Stumps().fit(data)
        assert pool.thresholds_.tolist() == [0.5, 2.0, 3.5]
        block = pool.encode(data.tocsr(), slice(0, 4))
        assert pool.columns(block, 1)[0].tolist() == [0, 0, 1, 1]


def test_names_have_as_few_digits_as_tell_a_threshold_from_its_nearest_neighbour():
    X = np.array([1.0, 1.0002, 1.0004, 9.0])[:, None]
    assert Stumps().fit(X).features(range(3)).names(["t"]) == ["t ≤ 1.0001", "t ≤ 1.0003", "t ≤ 5"]
    assert Stumps().fit(np.array([[1.0], [1.46914]])).features([0]).names(["t"]) == ["t ≤ 1.23"]
    # A hundredth of the way to the neighbour may be rounded away.
    wide = np.array([925.5, 975.5, 1025.5, 1075.5])[:, None]
    names = Stumps().fit(wide).features(range(3)).names(["t"])
    assert names == ["t ≤ 950", "t ≤ 1e+03", "t ≤ 1.05e+03"]
    near = 1.0 + np.arange(4)[:, None] * 2.0**-52
    names = Stumps().fit(near).features(range(3)).names(["t"])
    assert [float(name.removeprefix("t ≤ ")) for name in names] == near[:3, 0].tolist()


@pytest.mark.parametrize(("n", "kind"), [(255, "u1"), (256, "u1"), (257, "u2")])
@pytest.mark.parametrize("centred", [True, False])
def test_up_to_256_values_take_one_byte(n, kind, centred):
    X = np.zeros((n, 3))
    X[:, 1], X[:5, 2] = np.arange(n), np.arange(5)
    pool = Stumps(max_bins=None).fit(X, centred=centred)
    pool.stored_ = False
    codes = pool.encode(X, slice(0, n))
    assert codes.dtype == kind
    assert np.array_equal(codes, X.T)


def sparse_problem(seed):
    """Return columns with few and many entries, none, zeros that are stored, NaN and duplicates."""
    rng = np.random.default_rng(seed)
    n = 600
    X = np.zeros((n, 12))
    for j, density in enumerate([0, 0.002, 0.01, 0.1, 0.3, 0.6, 1.0, 1.0, 0.05, 0, 0.2, 0.02]):
        own = rng.random(n) < density
        X[own, j] = rng.normal(size=own.sum()) if j % 2 else rng.integers(-3, 4, size=own.sum())
    X[:40:9, 3] = X[::50, 8] = np.nan
    stored = sp.coo_array(X)
    row, column = stored.coords
    halves = sp.coo_array(
        (
            np.concatenate([stored.data / 2, stored.data / 2, np.zeros(5)]),
            (np.concatenate([row, row, np.arange(5)]), np.concatenate([column, column, [9] * 5])),
        ),
        shape=X.shape,
    )
    order = np.argsort(halves.coords[1], kind="stable")
    pointers = np.searchsorted(halves.coords[1][order], np.arange(X.shape[1] + 1))
    parts = halves.data[order], halves.coords[0][order], pointers
    return X, sp.csc_array(parts, shape=X.shape), rng.uniform(0.5, 2, size=n)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("max_bins", [2, 8, 256, None])
@pytest.mark.parametrize("chunk", [50, 1 << 18])
def test_sparse_columns_are_cut_as_dense_ones(monkeypatch, chunk, max_bins, centred):
    monkeypatch.setattr(thresholds, "CHUNK_ENTRIES", chunk)
    X, sparse, weight = sparse_problem(0)
    given = sparse.copy()
    truth = Stumps(max_bins).fit(X, weight, centred)
    pool = Stumps(max_bins).fit(sparse, weight, centred)
    assert np.array_equal(pool.starts_, truth.starts_)
    assert np.array_equal(pool.thresholds_, truth.thresholds_)
    assert np.array_equal(pool.mostly_one_, truth.mostly_one_)
    assert np.allclose(pool.scale_, truth.scale_, rtol=1e-12)
    assert pool.code_dtype_ == truth.code_dtype_
    assert np.array_equal(sparse.data, given.data, equal_nan=True)
    assert np.array_equal(sparse.indptr, given.indptr)
    block = pool.encode(sparse.tocsr(), slice(100, 500))
    for j in range(X.shape[1]):
        codes = block.column(j, pool.common_codes_[j], block.values.dtype)
        cuts = truth.thresholds_[truth.starts_[j] : truth.starts_[j + 1]]
        assert np.array_equal(codes, np.searchsorted(cuts, X[100:500, j]))


def test_sparse_columns_of_few_entries_are_not_looked_at_one_by_one(monkeypatch):
    def no_work(*arguments):
        raise AssertionError("a column was counted alone")

    monkeypatch.setattr(thresholds, "counted", no_work)
    monkeypatch.setattr(thresholds, "cut_column", no_work)
    X = sp.csr_array(
        (np.array([3.0, 1.0, -2.0]), (np.array([0, 1, 4]), np.array([70_000, 70_000, 150_000]))),
        shape=(5, 200_000),
    )
    pool = Stumps().fit(X)
    assert pool.thresholds_.tolist() == [0.5, 2.0, -1.0]
    assert pool.features(range(3)).column.tolist() == [70_000, 70_000, 150_000]
    assert len(pool.parts(3)) <= 3


def test_parts_stay_small_where_most_columns_make_no_stump():
    X = sp.random_array(
        (50, 100_000), density=1e-3, format="csr", random_state=np.random.default_rng(0)
    )
    k = 500
    pool = Stumps().fit(X)
    parts = pool.parts(k)
    assert [parts[0].start, *(part.stop for part in parts)] == [
        *(part.start for part in parts),
        pool.n_atoms_,
    ]
    for part in parts:
        first, last = pool._columns_of(part)
        assert last - first == 1 or 8 * k * pool._bin_edges(first, last)[-1] <= PART_BYTES
