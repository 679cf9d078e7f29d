from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from pairs import covering

from shareboost.kernels.products import (
    CHUNK,
    add_product,
    add_product_transposed,
    add_sparse_product,
)
from shareboost.pools.base import ByExample

# Around the five rows and eight or four of the others that a step takes.
SIZES = [(1, 1), (2, 7), (5, 8), (6, 9), (11, 23), (26, 40)]
TYPES = ["f4", "f8"]
KINDS = ["f4", "f8", "u1", "i2", "?"]


def some(seed, k, shape, dtype, kind):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(k, shape[0])).astype(dtype)
    return rows, (100 * rng.normal(size=shape)).astype(kind)


@covering(dtype=TYPES, kind=KINDS)
def test_products_equal_those_of_numpy(dtype, kind):
    for k, n in SIZES:
        rows, data = some(n, k, (n, 19), dtype, kind)
        out = np.full((k, 19), 2.0, dtype=dtype)
        add_product(rows, data, 0, out)
        exact = 2.0 + rows.astype(float) @ data.astype(float)
        assert np.allclose(out, exact, rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-3), (k, n)


def test_a_product_of_some_columns_is_that_of_these_alone():
    rows, data = some(0, 6, (13, 40), "f8", "f8")
    out = np.zeros((6, 9))
    add_product(rows, data, 17, out)
    assert np.allclose(out, rows @ data[:, 17:26])


@covering(kind=KINDS, n=[1, 17, CHUNK + 3])
def test_transposed_products_equal_those_of_numpy(kind, n):
    for k, c in SIZES:
        rows, data = some(n, k, (n, c), "f4", kind)
        out = np.full((k, c), 2.0)
        add_product_transposed(rows, np.ascontiguousarray(data.T), out)
        exact = 2.0 + rows.astype(float) @ data.astype(float)
        assert np.allclose(out, exact, rtol=1e-4, atol=0.3), (k, c)


def test_what_a_column_gives_does_not_depend_on_those_beside_it():
    rng = np.random.default_rng(0)
    for k in (1, 5, 8):
        rows, columns = rng.normal(size=(k, 301)), rng.normal(size=(11, 301))
        whole = np.zeros((k, 11))
        add_product_transposed(rows, columns, whole)
        for start, stop in [(0, 1), (3, 5), (2, 11)]:
            part = np.zeros((k, stop - start))
            add_product_transposed(rows, columns[start:stop], part)
            assert np.array_equal(part, whole[:, start:stop])


def test_what_is_not_finite_stays_so():
    rows, data = np.ones((6, 9), np.float32), np.ones((9, 3), np.float32)
    data[4, 0], data[8, 1] = np.inf, np.nan
    out, turned = np.zeros((6, 3), np.float32), np.zeros((6, 3), np.float32)
    add_product(rows, data, 0, out)
    add_product_transposed(rows, np.ascontiguousarray(data.T), turned)
    for found in (out, turned):
        assert np.isinf(found[:, 0]).all()
        assert np.isnan(found[:, 1]).all()
        assert np.array_equal(found[:, 2], np.full(6, 9.0))


def test_no_rows_and_no_columns_are_no_trouble():
    out = np.ones((3, 4))
    add_product(np.empty((3, 0)), np.empty((0, 4)), 0, out)
    assert np.array_equal(out, np.ones((3, 4)))
    add_product_transposed(np.ones((3, 5)), np.empty((0, 5)), np.empty((3, 0)))


def between_margins(shape):
    """Zeros, and the memory around them, which is 7."""
    memory = np.full(np.prod(shape) + 200, 7.0)
    inner = memory[100:-100].reshape(shape)
    inner[:] = 0.0
    return inner, memory


@pytest.mark.parametrize("k", range(1, 12))
def test_no_step_reaches_beyond_the_arrays(k):
    """In Python NumPy checks every place; nor does what is compiled write beside the results."""
    for n, c in [(9, 3), (16, 4), (7, 6)]:
        rows, data = some(k, k, (n, c), "f8", "f8")
        turned = np.ascontiguousarray(data.T)
        for kernel, others in ((add_product, (data, 0)), (add_product_transposed, (turned,))):
            for call in (kernel, kernel.py_func):
                out, memory = between_margins((k, c))
                call(rows, *others, out)
                assert np.allclose(out, rows @ data)
                assert (memory[:100] == 7.0).all()
                assert (memory[-100:] == 7.0).all()


@pytest.mark.parametrize("k", [1, 7, 8, 9, 50, 65, 1001])  # no tag above 64
def test_products_equal_those_of_scipy(k):
    rng = np.random.default_rng(k)
    for density, (dtype, precision) in product((0.0, 0.05, 0.9), (("f4", 1e-4), ("f8", 1e-11))):
        X = sp.random_array((90, 13), density=density, format="csc", random_state=rng, dtype=dtype)
        rows = ByExample.of(rng.normal(size=(k, 90)), np.dtype(dtype))
        out = np.full((13, k), 2.0)
        examples = X.indices.astype(np.uint8)
        add_sparse_product(X.data, examples, X.indptr, rows.rows, rows.tag, out)
        exact = 2.0 + X.T.astype(float) @ rows.rows[:, :k].astype(float)
        assert np.allclose(out, exact, rtol=precision, atol=precision), (density, dtype)


def test_some_columns_alone_give_what_they_give_among_all():
    X = sp.random_array((60, 9), density=0.4, format="csc", random_state=np.random.default_rng(0))
    rows = ByExample.of(np.random.default_rng(1).normal(size=(3, 60)), np.dtype(np.float64))
    whole, part = np.zeros((9, 3)), np.zeros((4, 3))
    add_sparse_product(X.data, X.indices, X.indptr, rows.rows, rows.tag, whole)
    add_sparse_product(X.data, X.indices, X.indptr[2:7], rows.rows, rows.tag, part)
    assert np.array_equal(part, whole[2:6])
