from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from cut_rows import Cut
from hypothesis import given, settings
from hypothesis import strategies as st

from shareboost.pools import Stumps, threshold_search
from shareboost.pools.threshold_search import (
    Gaps,
    Points,
    cells_of,
    joined_sketch,
    measures,
    sketches,
)
from shareboost.pools.thresholds import Cells, count_columns, thresholds

numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


def local_cuts(X, weight, max_bins):
    """The thresholds of every column, from all of its distinct values."""
    return [thresholds(Cells.of(*column), max_bins) for column in count_columns(X, weight)]


def assert_same_cuts(X, weight, max_bins, **how):
    table = Cut(X, weight, **how)
    found = cells_of(table, max_bins)
    for cells, truth in zip(found, local_cuts(X, table.weight, max_bins), strict=True):
        assert np.array_equal(thresholds(cells, max_bins), truth)
        assert cells.mass.sum() == pytest.approx(table.weight.sum())
    return table


@pytest.fixture(autouse=True)
def short_sketches(monkeypatch):
    """Few rows are searched as many are."""
    monkeypatch.setattr(threshold_search, "SKETCHED", 6)


@pytest.mark.parametrize("weighted", [False, True])
def test_points_cut_gaps_into_cells_of_which_blocks_tell_all(weighted):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, size=(200, 2)).astype(float)
    X[:9, 1] = np.nan
    weight = rng.uniform(0.5, 2.0, size=200) if weighted else np.ones(200)
    points = np.array([3.0, 11.0, 40.5, 50.0])
    # Between the points and at them.
    ranges = [(0, 2), (3, 3), (4, 10), (11, 11), (12, 40), (40.5, 40.5), (41, 49), (50, 50)]
    cells = [[v for v in X[:, 1] if low <= v <= high] for low, high in ranges]
    by_value = {v: weight[X[:, 1] == v].sum() for v in np.unique(X[:, 1])}
    (found,) = measures([Points(1, points)], X, weight)
    assert np.isnan(found.greatest[-1])  # NaN is beyond the last point
    found = found.at(slice(0, 8))
    assert found.least.tolist() == [min(own, default=np.inf) for own in cells]
    assert found.greatest.tolist() == [max(own, default=-np.inf) for own in cells]
    assert np.allclose(found.mass, [sum(by_value[v] for v in set(own)) for own in cells])
    most = [max((by_value[v] for v in set(own)), default=0.0) for own in cells]
    assert np.allclose(found.most, most)


def test_gaps_tell_what_lies_in_them():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, np.nan])
    gaps = Gaps(0, np.array([2.0, 5.0]), np.array([3.0, 5.5]))
    assert values[gaps.inside(values)].tolist() == [2.0, 3.0, 5.0]
    assert Gaps(0, np.array([-np.inf]), np.array([np.nan])).inside(values).all()


@st.composite
def columns(draw):
    """A column of any kind: many values or few, heavy ones, ties, NaN; float64."""
    seed = draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(1, 400))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["normal", "ranks", "few", "heavy", "wide", "constant"]))
    column = {
        "normal": lambda: rng.normal(size=n),
        "ranks": lambda: rng.permutation(n).astype(float),
        "few": lambda: rng.integers(0, draw(st.integers(1, 40)), size=n).astype(float),
        "heavy": lambda: np.where(
            rng.random(n) < rng.random(), rng.choice(3, n), rng.normal(size=n)
        ),
        "wide": lambda: np.sign(rng.normal(size=n)) * 10.0 ** rng.uniform(-300, 300, size=n),
        "constant": lambda: np.full(n, 7.0),
    }[kind]()
    column[rng.random(n) < draw(st.sampled_from([0.0, 0.0, 0.1, 1.0]))] = np.nan
    return column


@given(
    columns(),
    st.integers(2, 40),
    st.sampled_from(["one", "whole", "any", "wide"]),
    st.integers(1, 30),
    st.integers(0, 99),
)
def test_cuts_are_those_of_all_values(column, max_bins, kind, n_blocks, seed):
    rng = np.random.default_rng(seed)
    n = column.size
    weight = {
        "one": np.ones(n),
        "whole": rng.integers(1, 50, size=n).astype(float),
        "any": rng.uniform(0.5, 2.0, size=n),
        "wide": 10.0 ** rng.uniform(-6, 3, size=n),
    }[kind]
    assert_same_cuts(column[:, None], weight, max_bins, n_blocks=n_blocks, seed=seed)


@given(st.lists(numbers, min_size=1, max_size=80), st.integers(2, 9), st.integers(0, 99))
def test_cuts_of_any_numbers_are_those_of_all_values(values, max_bins, seed):
    X = np.array(values, dtype=np.float32)[:, None]
    assert_same_cuts(X, None, max_bins, n_blocks=7, seed=seed)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.integers(1, 12))
def test_cuts_of_sparse_rows_count_their_zeros(seed, max_bins, n_blocks):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)) * (rng.random((150, 3)) < [0.0, 0.3, 1.0])
    stored = sp.csr_array(X)
    stored.data[rng.random(stored.nnz) < 0.1] = 0.0  # explicit ones
    weight = rng.integers(1, 9, size=150).astype(float)
    assert_same_cuts(stored, weight, max_bins, n_blocks=n_blocks, seed=seed % 97)


def test_cuts_of_any_type_are_those_of_all_values():
    X = np.random.default_rng(0).integers(-(2**62), 2**62, size=(500, 2))
    for dtype in (np.int8, np.bool_, np.uint16, np.int64, np.float32):
        assert_same_cuts(X.astype(dtype), None, 10, n_blocks=9)


def test_a_heavy_value_between_many_light_ones_is_found():
    light = np.random.default_rng(0).normal(size=3000)
    for share, n_blocks in ((0.001, 3), (0.02, 40), (0.5, 40), (0.99, 12)):
        heavy = np.full(int(3000 * share / (1 - share)), 0.123)
        X = np.random.default_rng(1).permutation(np.concatenate([light, heavy]))[:, None]
        assert_same_cuts(X, None, 50, n_blocks=n_blocks)


def test_rows_in_order_are_searched_as_mixed_ones():
    X = np.sort(np.random.default_rng(0).normal(size=(5000, 2)), axis=0)
    assert_same_cuts(X, None, 32, n_blocks=20)


@pytest.mark.parametrize("n_blocks", [1, 2, 16])
def test_a_sketch_keeps_all_weight_and_about_the_ranks(n_blocks):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(4000, 1)), rng.uniform(0.5, 2.0, size=4000)
    gaps = [Gaps(0, np.array([-np.inf]), np.array([np.nan]))]
    blocks = np.array_split(np.arange(4000), n_blocks)
    some = [sketches(100, gaps, X[own], weight[own])[0] for own in blocks]
    sketch = reduce(joined_sketch, some)
    assert not sketch.complete
    assert 90 < sketch.values.size < 110
    assert sketch.mass.sum() == pytest.approx(weight.sum())
    assert (sketch.values[[0, -1]] == [X.min(), X.max()]).all()
    order = np.argsort(X[:, 0])
    rank = np.cumsum(weight[order])[np.searchsorted(X[order, 0], sketch.values)]
    off = np.cumsum(sketch.mass) - sketch.mass / 2 - rank
    assert np.abs(off).max() < 0.02 * weight.sum()


def test_a_sketch_keeps_the_weight_of_nan_apart():
    X = np.append(np.arange(40.0), [np.nan, np.nan])[:, None]
    gaps = [Gaps(0, np.array([-np.inf]), np.array([np.nan]))]
    (sketch,) = sketches(5, gaps, X, np.ones(42))
    assert not sketch.complete
    assert np.isnan(sketch.values[-1])
    assert sketch.mass[-1] == 2.0
    assert sketch.mass.sum() == 42.0


def test_columns_of_few_values_take_one_pass(monkeypatch):
    monkeypatch.setattr(threshold_search, "SKETCHED", 1000)
    X = np.random.default_rng(0).integers(0, 900, size=(4000, 5)).astype(float)
    assert assert_same_cuts(X, None, 16).asked == ["values of columns"]


def test_passes_and_answers_are_few_and_small(monkeypatch):
    monkeypatch.setattr(threshold_search, "SKETCHED", 2000)
    X = np.random.default_rng(0).normal(size=(60_000, 3))
    table = assert_same_cuts(X, None, 64, n_blocks=30)
    assert len(table.asked) <= 5
    assert table.most_sent < 3 * 20_000
    assert table.most_answered < X.nbytes / 8


def test_columns_are_asked_about_in_groups_where_answers_would_be_large(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 6))
    monkeypatch.setattr("shareboost.pools.table.ANSWER_BYTES", 20_000)
    narrow = assert_same_cuts(X, None, 8)
    monkeypatch.undo()
    monkeypatch.setattr(threshold_search, "SKETCHED", 6)
    wide = assert_same_cuts(X, None, 8)
    assert len(narrow.asked) > len(wide.asked)


def test_every_threshold_is_refused_where_values_are_too_many(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 2))
    assert_same_cuts(X, None, None)
    monkeypatch.setattr(threshold_search, "MOST_DISTINCT", 100)
    with pytest.raises(ValueError, match=r"max_bins=None .* at most 100 distinct .* column 0 of X"):
        Stumps(max_bins=None).fit(Cut(X))


def test_stumps_of_many_values_have_the_scales_of_all_rows():
    X = np.random.default_rng(0).normal(size=(3000, 4))
    X[:200, 1], X[:2900, 2] = np.nan, 0.0
    found, truth = Stumps(16).fit(Cut(X)), Stumps(16).fit(X)
    assert vars(found).keys() == vars(truth).keys()
    for name in ("thresholds_", "starts_", "mostly_one_", "common_codes_", "stored_"):
        assert np.array_equal(getattr(found, name), getattr(truth, name))
    assert np.allclose(found.scale_, truth.scale_, rtol=1e-12)
