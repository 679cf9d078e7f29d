import numpy as np
import pytest
import scipy.sparse as sp

from shareboost.kernels.histograms import add_dense, add_stored, fill_common, running_sums
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
