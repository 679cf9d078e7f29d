from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from naive import scale_of
from pairs import covering

from shareboost.pools import Columns
from shareboost.pools.columns import PART_COLUMNS


def some_rows(seed=0, n=60, d=9, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, size=d)
    X[rng.random(X.shape) < 0.6] = 0.0
    R = rng.normal(size=(k, n))
    return X, R - R.mean(axis=1, keepdims=True), rng.uniform(0.5, 2, size=n)


def total_stats(pool, X, R, edges):
    blocks = [slice(a, b) for a, b in pairwise(edges)]
    every = slice(0, pool.n_atoms_)
    return sum(
        np.asarray(pool.stats(pool.encode(X, b), pool.prepare(R[:, b]), every), float)
        for b in blocks
    )


def norms(pool, X, R, edges):
    every = slice(0, pool.n_atoms_)
    return np.abs(pool.correlations(total_stats(pool, X, R, edges), every)).sum(axis=0)


@pytest.mark.parametrize("scale", ["deviation", "maxabs", "none"])
def test_correlations_have_the_l1_norms_of_explicit_columns(scale):
    X, R, weight = some_rows()
    expected = np.abs(R @ (X / scale_of(X, weight, scale))).sum(axis=0)
    for data in (X, sp.csr_array(X), sp.csc_array(X)):
        pool = Columns(scale).fit(data, weight)
        assert np.allclose(norms(pool, data, R, [0, 60]), expected)


@given(st.integers(0, 1000), st.integers(1, 59))
def test_stats_add_over_blocks_of_rows(seed, cut):
    X, R, weight = some_rows(seed)
    for data in (X, X.astype(np.float32), np.round(X).astype(np.int16), sp.csr_array(X)):
        pool = Columns().fit(data, weight)
        whole = total_stats(pool, data, R, [0, 60])
        assert np.allclose(total_stats(pool, data, R, [0, cut, 60]), whole, rtol=1e-4, atol=1e-4)


def test_a_large_offset_does_not_drown_a_float32_column():
    rng = np.random.default_rng(0)
    X = np.round(8 * rng.normal(size=(2000, 3))) / 8  # exact in float32 with the offset
    R, weight = rng.normal(size=(4, 2000)), np.ones(2000)
    R -= R.mean(axis=1, keepdims=True)
    expected = Columns().fit(X, weight)
    truth = norms(expected, X, R, [0, 2000])
    shifted = (X + 2**20).astype(np.float32)
    pool = Columns().fit(shifted, weight)
    assert np.allclose(norms(pool, shifted, R, [0, 2000]), truth, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("k", [3, 40])
def test_parts_of_wide_rows_have_the_statistics_of_all_columns(dtype, k):
    d = 4 * PART_COLUMNS + 5
    X, R, _ = some_rows(d=d, k=k)
    X = np.abs(X).astype(dtype)
    pool = Columns().fit(X)
    parts = pool.parts(k)
    assert [part.start for part in parts] == list(range(0, d, PART_COLUMNS))
    block, rows = pool.encode(X, slice(0, 60)), pool.prepare(R)
    for squares in (False, True):
        every = pool.stats(block, rows, slice(0, d), squares=squares)
        of_parts = [pool.stats(block, rows, part, squares=squares) for part in parts]
        assert np.allclose(np.concatenate(of_parts, axis=1), every, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_constant_columns_are_never_candidates(make):
    X, _, weight = some_rows()
    X[:, 2] = 0.0
    X[:, 5] = 0.1 + 0.2
    X[::2, 5] = 0.3  # rounding is no variation
    pool = Columns().fit(make(X), weight)
    assert np.flatnonzero(~pool.usable_).tolist() == [2, 5]


def test_moments_survive_a_huge_offset_and_an_outlying_first_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2)) + 1e9
    X[0] += 1e4
    pool = Columns().fit(X, np.ones(5000))
    assert np.allclose(pool.scale_, (X - 1e9).std(axis=0), rtol=1e-6)


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [(["u1", "i2", "?", "f2", "f4"], "f4"), (["i4", "i8", "f8", "g"], "f8")],
)
def test_columns_are_computed_in_the_smallest_exact_float(dtypes, expected):
    for dtype in dtypes:
        X = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
        assert Columns().fit(X, np.ones(3)).dtype_ == np.dtype(expected), dtype


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_columns_of_an_atom_are_in_the_users_units(make):
    X, _, weight = some_rows()
    pool = Columns("maxabs").fit(make(X), weight)
    block = pool.encode(make(X), slice(10, 20))
    assert np.array_equal(pool.columns(block, 4), X[10:20, [4]].T)
    assert pool.scales(4) == np.abs(X[:, 4]).max()


def test_chosen_features_read_only_their_columns():
    X, _, weight = some_rows()
    pool = Columns().fit(X, weight)
    features = pool.features([7, 1, 4])
    assert np.array_equal(features.columns(X), X[:, [7, 1, 4]])
    for format_ in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
        stored = sp.coo_array(X).asformat(format_)
        assert np.allclose(Columns().fit(stored, weight).scale_, pool.scale_), format_
        taken = features.columns(stored)
        assert sp.issparse(taken)
        assert np.array_equal(taken.toarray(), X[:, [7, 1, 4]]), format_
    assert features.take(np.arange(2)).columns(X).shape == (60, 2)
    assert features.names([f"x{j}" for j in range(9)]) == ["x7", "x1", "x4"]


def test_an_unknown_scale_is_refused_by_name():
    with pytest.raises(ValueError, match="scale='std' .* Columns: it takes one of"):
        Columns("std").fit(np.eye(3), np.ones(3))


@covering(
    make={"dense": np.asarray, "sparse": sp.csr_array},
    scale=["deviation", "maxabs"],
    unit=[(1e-30, "f4"), (1e30, "f4"), (1e-200, "f8"), (1e200, "f8")],
)
def test_columns_of_any_magnitude_score_alike(make, scale, unit):
    X, R, weight = some_rows()
    scores = []
    for data in (X.astype(unit[1]), (X * unit[0]).astype(unit[1])):
        pool = Columns(scale).fit(make(data), weight)
        assert pool.usable_.all()
        scores.append(norms(pool, make(data), R, [0, 60]))
    assert np.allclose(scores[0], scores[1], rtol=1e-4)


def test_float32_columns_that_differ_by_a_few_roundings_vary():
    stamps = np.float32(1.7e9) + np.arange(20, dtype=np.float32)[:, None] * 128
    assert Columns().fit(stamps, np.ones(20)).usable_.all()


@pytest.mark.parametrize("k", [3, 32, 33])
def test_rows_of_any_type_and_layout_are_summed_alike(k):
    rng = np.random.default_rng(0)
    X, R = rng.integers(-9, 9, size=(40, 9)), rng.normal(size=(k, 40))
    truth = np.abs(R @ (X / X.std(axis=0))).sum(axis=0)
    for dtype in ("i1", "f2", "f4", "f8", ">f8", ">i4", "g"):
        for data in (X.astype(dtype), np.asfortranarray(X.astype(dtype))):
            pool = Columns().fit(data)
            assert np.allclose(norms(pool, data, R, [0, 17, 40]), truth, rtol=1e-5), dtype
