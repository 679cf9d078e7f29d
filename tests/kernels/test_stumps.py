import numpy as np
import pytest
import scipy.sparse as sp

from shareboost.kernels.stumps import (
    TILE,
    add_dense,
    add_stored,
    count_bytes,
    fill_common,
    find_codes,
    look_up,
    running_sums,
    store,
    sums_from_both_ends,
)
from shareboost.pools.base import ByExample


def twin_histogram(codes, residual, edges):
    """Residuals summed by code, column by column."""
    out = np.zeros((edges[-1], residual.shape[0]))
    for j, column in enumerate(codes):
        for i, code in enumerate(column):
            out[edges[j] + code] += residual[:, i]
    return out


def by_example(residual, dtype=np.float32):
    return ByExample.of(residual, np.dtype(dtype))


def some_codes(seed, n, n_bins, k, dtype):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, b, size=n) for b in n_bins]).astype(dtype)
    return codes, rng.normal(size=(k, n)), np.cumsum([0, *n_bins])


@pytest.mark.parametrize(
    ("n", "k", "dtype"),
    [
        (1, 2, "u1"),
        (50, 3, "u2"),
        (51, 10, "u4"),
        (100, 10, "u4"),
        (200, 26, "u1"),
        (200, 65, "u2"),
    ],
)
def test_dense_histograms_equal_their_twin(n, k, dtype):
    # More bins than rows take another way than fewer.
    codes, residual, edges = some_codes(0, n, [2, 7, 100, 250], k, dtype)
    out = np.ones((edges[-1], k))
    rows = by_example(residual)
    add_dense(codes, rows.rows, edges, rows.tag, out)
    assert np.allclose(out, 1.0 + twin_histogram(codes, residual, edges), atol=1e-4)


def test_dense_histograms_add_in_the_type_of_the_rows():
    """To the last bits of float64, small numbers among large ones."""
    for n in (50, 301):
        codes, residual, edges = some_codes(3, n, [2, 100], 4, np.uint8)
        residual[:, ::3] *= 1e9
        out = np.zeros((edges[-1], 4))
        rows = by_example(residual, np.float64)
        add_dense(codes, rows.rows, edges, rows.tag, out)
        assert np.allclose(out, twin_histogram(codes, residual, edges), rtol=1e-13, atol=1e-5)


@pytest.mark.parametrize(("n", "k"), [(1, 4), (1, 70), (40, 9), (301, 4), (301, 70)])
def test_stored_histograms_equal_the_dense_ones(n, k):
    codes, residual, edges = some_codes(1, n, [3, 9, 200], k, np.uint8)
    common = np.array([1, 0, 150])
    stored = np.random.default_rng(2).random(codes.shape) < 0.3
    codes[~stored] = np.repeat(common[:, None], n, axis=1)[~stored]
    place = sp.csc_array(stored.T)
    values = codes.T[place.tocoo().row, np.repeat(np.arange(3), np.diff(place.indptr))]
    rows, out = by_example(residual), np.zeros((edges[-1] + 1, k))
    for _ in range(2):  # two blocks that are alike
        add_stored(values, place.indices, place.indptr, rows.rows, edges, rows.tag, out)
        out[-1] += rows.total
    twin = 2.0 * twin_histogram(codes, residual, edges)
    for _ in range(2):  # the second time changes nothing
        fill_common(out, edges, common)
        assert np.allclose(out[:-1], twin, atol=1e-4)
    assert np.allclose(out[-1], 2.0 * residual.sum(axis=1), atol=1e-4)


def test_running_sums_equal_their_twin():
    sums = np.random.default_rng(0).normal(size=(12, 3))
    edges = np.array([0, 5, 6, 12])
    out = np.empty((3, 4 + 0 + 5))
    running_sums(sums, edges, out)
    twin = [np.cumsum(sums[a:b], axis=0)[:-1] for a, b in [(0, 5), (5, 6), (6, 12)]]
    assert np.allclose(out, np.concatenate(twin).T)


def some_bytes(n, c):
    return np.random.default_rng(n).integers(0, 256, size=(n, c)).astype(np.uint8)


@pytest.mark.parametrize("n", [1, 50])
def test_counts_are_the_weights_of_each_value(n):
    values, weight = some_bytes(n, 3), np.random.default_rng(1).random(n)
    out = np.zeros((3, 256))
    count_bytes(values, weight, out)
    for column, own in zip(values.T, out, strict=True):
        assert np.allclose(own, np.bincount(column, weight, minlength=256))


@pytest.mark.parametrize(("n", "c"), [(1, 1), (TILE, TILE), (TILE + 3, 2 * TILE + 1)])
def test_codes_are_looked_up_column_by_column(n, c):
    values = some_bytes(n, c)
    tables = np.random.default_rng(2).integers(0, 9, size=(c, 256)).astype(np.uint8)
    out = np.empty((c, n), np.uint8)
    look_up(values, tables, out)
    assert np.array_equal(out, tables[np.arange(c)[:, None], values.T])


def test_all_but_the_common_codes_are_stored():
    codes = (some_bytes(40, 3) % 3).T.copy()
    common = np.array([0, 2, 7])
    kept = codes != common[:, None]
    pointers = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    stored, examples = np.empty(pointers[-1], np.uint8), np.empty(pointers[-1], np.uint16)
    store(codes, common, pointers, stored, examples)
    assert np.array_equal(stored, codes[kept])
    assert np.array_equal(examples, np.nonzero(kept)[1])


def test_stored_values_are_coded_by_the_cuts_of_their_column():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=size) for size in (0, 5, 40, 3)]
    columns[2][7] = np.nan
    cuts = [np.sort(rng.normal(size=size)) for size in (2, 0, 9, 1)]
    columns[3][0] = cuts[3][0]
    pointers, starts = (np.cumsum([0, *map(len, of)]) for of in (columns, cuts))
    values, out = np.concatenate(columns), np.empty(48, np.uint8)
    find_codes(values, pointers, np.concatenate(cuts), starts, out)
    truth = [np.searchsorted(own, column) for own, column in zip(cuts, columns, strict=True)]
    assert np.array_equal(out, np.concatenate(truth))


def test_sums_run_from_both_ends_of_a_column():
    mass, edges = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 3, 3, 4])
    up_to, beyond = np.empty((2, 4))
    sums_from_both_ends(mass, edges, up_to, beyond)
    assert up_to.tolist() == [1, 3, 7, 8]
    assert beyond.tolist() == [6, 4, 0, 0]
