import numpy as np
import pytest
import scipy.sparse as sp

from shareboost.pools import Stumps
from shareboost.pools.base import Stored


def test_the_entries_are_those_of_the_rows():
    X = sp.random_array((50, 7), density=0.3, format="csr", random_state=np.random.default_rng(0))
    stored = Stored.of(X, slice(10, 30))
    assert stored.examples.dtype == np.uint16
    for j in range(7):
        assert np.array_equal(stored.column(j, 0.0, float), X[10:30, [j]].toarray().ravel())


def test_entries_given_twice_are_added():
    X = sp.csr_array(([1.0, 2.0, 5.0], [1, 1, 0], [0, 2, 3, 3]), shape=(3, 2))
    stored = Stored.of(X, slice(0, 3))
    assert stored.column(1, 0.0, float).tolist() == [3.0, 0.0, 0.0]
    assert X.nnz == 3  # the caller's stays as it was


@pytest.mark.parametrize(
    ("kind", "share"),
    [("u1", 0.1), ("u1", 0.9), ("i1", 0.9), ("?", 0.1), ("f4", 0.9)],
)
def test_columns_of_mostly_one_value_give_the_same_statistics(kind, share):
    """Stored without that value or not: it is only a matter of speed."""
    rng = np.random.default_rng(3)
    X = np.where(rng.random((400, 6)) < share, 1, rng.integers(0, 90, size=(400, 6))).astype(kind)
    residual = rng.normal(size=(3, 400))
    found = []
    for stored in (True, False):
        pool = Stumps().fit(X)
        if kind != "?":
            assert pool.stored_ == (share > 0.5)
        pool.stored_ = stored
        data, rows = pool.encode(X, slice(0, 400)), pool.prepare(residual)
        whole = slice(0, pool.n_atoms_)
        stats = pool.stats(data, rows, whole)
        columns = [pool.columns(data, atom)[0] for atom in range(pool.n_atoms_)]
        found.append((pool.correlations(stats, whole), np.array(columns)))
    (one, columns), (two, same) = found
    assert np.array_equal(columns, same)
    assert np.allclose(one, two, atol=1e-4)
    assert np.allclose(one * pool.scale_, residual @ columns.T, atol=1e-3)
