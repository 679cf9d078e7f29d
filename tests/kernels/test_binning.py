import numpy as np
import pytest

from shareboost.kernels.binning import (
    TILE,
    count_bytes,
    find_codes,
    look_up,
    store,
    sums_from_both_ends,
)


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
