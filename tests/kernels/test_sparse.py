from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from shareboost.kernels.sparse import add_sparse_product
from shareboost.pools.base import ByExample


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
