import numpy as np
import pytest
import scipy.sparse as sp
from cut_rows import Cut
from every_pool import POOLS_TO_TEST, fitted, some_digits
from pairs import covering
from sklearn.base import clone

from shareboost.pools import Columns, Groups, Pieces, Products, Stumps, Union
from shareboost.pools import table as pools_table
from shareboost.pools.table import Whole

MAKERS = {"dense": np.asarray, "sparse": sp.csr_array}
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def assert_alike(found, truth, rtol=1e-11):
    """Assert that all that two fitted pools, or records, hold is the same up to rounding."""
    assert type(found) is type(truth)
    if isinstance(truth, (list, tuple)):
        assert len(found) == len(truth)
        for a, b in zip(found, truth, strict=True):
            assert_alike(a, b, rtol)
    elif isinstance(truth, np.ndarray) and truth.dtype.kind == "f":
        assert found.dtype == truth.dtype
        assert np.allclose(found, truth, rtol=rtol, atol=1e-13, equal_nan=True)
    elif isinstance(truth, np.ndarray):
        assert found.dtype == truth.dtype
        assert np.array_equal(found, truth)
    elif isinstance(truth, float):
        assert found == pytest.approx(truth, rel=rtol)
    elif hasattr(truth, "__dict__"):
        assert vars(found).keys() == vars(truth).keys()
        for name, value in vars(truth).items():
            assert_alike(getattr(found, name), value, rtol)
    else:
        assert found == truth


@covering(
    name=list(POOLS_TO_TEST),
    make=MAKERS,
    centred={"centred": True, "about zero": False},
    weighted={"weighted": True, "unweighted": False},
)
def test_a_pool_learns_from_blocks_what_it_learns_from_all_rows(name, make, centred, weighted):
    X, _, _, weight = some_digits()
    X, weight = make(X), weight if weighted else None
    truth = fitted(name, X, weight, centred)
    for table in (
        Cut(X, weight, n_blocks=2 if weighted else 6, seed=int(weighted)),
        Whole(X, np.ones(120) if weight is None else weight),
    ):
        assert_alike(clone(POOLS_TO_TEST[name]).fit(table, centred=centred), truth)


def test_some_rows_come_in_their_order_with_their_weights():
    X, weight = np.arange(1.0, 201.0).reshape(100, 2), np.arange(100.0)
    stored = [Whole(sp.coo_array(X).asformat(kind), weight) for kind in ("csr", "csc", "coo")]
    some = np.sort(np.random.default_rng(3).permutation(100)[:30])
    for table in (Whole(X, weight), Cut(X, weight), *stored):
        rows, own = table.take(some)
        rows = rows.toarray() if table.sparse else rows
        assert own.tolist() == some.tolist()
        assert np.array_equal(rows, X[some])
        assert table.gathered()[1].tolist() == weight.tolist()  # fewer than a sample has


@covering(
    dtype=["f4", "u1", "i8", "?"],
    make=MAKERS,
    pool=[Columns(), Products(), Stumps()],
)
def test_all_types_of_numbers_come_in_blocks_too(dtype, make, pool):
    X = some_digits()[0].astype(dtype)
    X = make(X.astype(np.uint8) if dtype == "?" and make is sp.csr_array else X)
    assert_alike(clone(pool).fit(Cut(X)), clone(pool).fit(X))


@pytest.mark.parametrize("offset", [1e-3, 1e9])
@makers
def test_columns_far_from_zero_keep_their_deviation(offset, make):
    X = np.random.default_rng(0).normal([0.0, offset, -offset], size=(500, 3))
    weight = np.random.default_rng(1).uniform(size=500) + 1e-3
    found = Columns().fit(Cut(make(X), weight))
    mean = np.average(X, axis=0, weights=weight)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    assert np.allclose(found.scale_, deviation, rtol=1e-6)
    assert np.allclose(found.pivot_, mean, rtol=1e-9)


def test_the_sums_are_about_the_first_row_of_largest_weight():
    X = np.random.default_rng(0).normal(size=(40, 3))
    table = Cut(X, n_blocks=9)
    assert np.array_equal(Columns().fit(table).scale_, Columns().fit(X).scale_)
    assert table.asked == ["moments of columns"]


def test_explicit_zeros_and_duplicates_of_sparse_rows_count_once():
    values, columns, pointers = [1.0, 2.0, 0.0, 4.0], [0, 0, 1, 1], [0, 2, 3, 3, 4]
    X = sp.csr_array((np.array(values), np.array(columns), np.array(pointers)), shape=(4, 2))
    for pool in (Columns(), Products(), Stumps()):
        assert_alike(clone(pool).fit(Cut(X)), clone(pool).fit(X))


def test_products_take_as_few_passes_as_keep_answers_small(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 90))
    table, pool = Cut(X), Products(linear=True).fit(X)
    found = Products(linear=True).fit(table)
    assert table.asked == ["sizes of columns", "scales of products"]
    monkeypatch.setattr(pools_table, "ANSWER_BYTES", 40_000)
    narrow = Cut(X)
    assert_alike(Products(linear=True).fit(narrow), pool)
    assert_alike(found, pool)
    assert narrow.asked.count("scales of products") == 2
    assert narrow.most_answered < table.most_answered


class Remembered(Columns):
    """A pool of one's own, that takes rows in one place."""

    def learn(self, table, centred):
        self.rows_, self.weight_ = table.gathered()
        super().learn(table, centred)


@makers
def test_a_pool_of_ones_own_is_fitted_on_a_sample_of_rows(make, monkeypatch):
    X = np.arange(1.0, 9001.0).reshape(3000, 3)
    weight = np.linspace(1, 2, 3000)
    monkeypatch.setattr(pools_table, "SAMPLE_BYTES", 2000 * 3 * 8)
    pools = [Remembered().fit(Cut(make(X), weight, n_blocks=n)) for n in (3, 8)]
    rows = pools[0].rows_.toarray() if make is sp.csr_array else pools[0].rows_
    assert 1000 < len(rows) < 3000
    places = ((rows[:, 0] - 1) / 3).astype(int)
    assert (np.diff(places) > 0).all()
    assert np.array_equal(rows, X[places])
    assert np.array_equal(pools[0].weight_, weight[places])
    assert np.array_equal(pools[0].weight_, pools[1].weight_)


def test_a_sample_takes_the_bytes_it_may(monkeypatch):
    dense = np.arange(1.0, 27001.0).reshape(9000, 3)
    monkeypatch.setattr(pools_table, "SAMPLE_BYTES", 2000 * 3 * 8)
    sizes = [
        (dense, 2000),
        (dense.astype(np.float32), 4000),
        (sp.csr_array(dense * [1, 0, 0]), 2000),  # as a pool may write them out
    ]
    for X, size in sizes:
        assert Remembered().fit(Cut(X)).rows_.shape[0] == size
    monkeypatch.setattr(pools_table, "SAMPLE_BYTES", 100)
    assert Remembered().fit(Cut(dense)).rows_.shape[0] == 1000


def test_the_sample_is_drawn_by_the_random_state_of_the_pool(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1500, 4))
    monkeypatch.setattr(pools_table, "SAMPLE_BYTES", 1)
    centres = [Pieces(3, random_state=seed).fit(Cut(X)).centres_ for seed in (0, 0, 1)]
    assert np.array_equal(centres[0], centres[1])
    assert not np.array_equal(centres[0], centres[2])
    state = np.random.RandomState(7)
    Pieces(3, random_state=state).fit(Cut(X))


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (Columns("std"), "scale='std' is not valid for Columns"),
        (Groups([1, 2]), "groups has 2 labels, and X 64 columns"),
        (Union([]), "it takes a list of pools"),
        (Products(scale="std"), "scale='std' is not valid for Products"),
        (Stumps(1), "max_bins=1 is not valid for Stumps"),
    ],
)
def test_parameters_are_refused_as_ever(pool, message):
    with pytest.raises(ValueError, match=message):
        pool.fit(Cut(some_digits()[0]))
