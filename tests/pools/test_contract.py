"""What every pool must answer by itself, against explicit columns."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from every_pool import POOLS_TO_TEST, all_scores, every_pool, fitted, some_digits
from naive_pools import explicit, naive_scales
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from shareboost.losses import LogisticLoss
from shareboost.pools import Pieces, Products, Stumps, Templates, Union
from shareboost.pools.base import PART_BYTES
from shareboost.rows import Rows
from shareboost.select import best_atom


@pytest.fixture(scope="module")
def data():
    return some_digits()


def naive_scores(pool, X, R, weight):
    atoms = explicit(pool, X, X, weight)
    scales = [pool.scales(atom) for atom in range(pool.n_atoms_)]
    return np.array(
        [
            np.abs((columns / scale[:, None]) @ R.T).sum()
            for columns, scale in zip(atoms, scales, strict=True)
        ]
    )


def close(name):
    """Templates are scored by codes of one byte, all other pools in float32 or better."""
    return {"rtol": 0.01, "atol": 0.1} if "templates" in name else {"rtol": 1e-4, "atol": 1e-3}


@every_pool
def test_scores_are_the_l1_norms_of_explicit_columns(name, data):
    X, _, R, weight = data
    pool = fitted(name, X, weight)
    scores = all_scores(pool, X, R, [0, 120])
    assert scores.shape == (pool.n_atoms_,)
    truth = naive_scores(pool, X, R, weight) / factor(pool)
    varies = scores > -np.inf
    assert varies.any()
    assert np.allclose(scores[varies], truth[varies], **close(name))
    assert np.allclose(truth[~varies], [0.0 * t for t in truth[~varies]]) or constant(
        pool, X, ~varies
    )


def factor(pool):
    """What a pool divides the plain sum by: the costs of a union."""
    if isinstance(pool, Union):
        return np.concatenate(
            [factor(own) * cost for own, cost in zip(pool.pools_, pool.costs_, strict=True)]
        )
    return np.ones(pool.n_atoms_)


def constant(pool, X, which):
    """Whether all these atoms are constant on X."""
    atoms = explicit(pool, X, X)
    return all(np.ptp(atoms[i], axis=1).max() < 1e-6 for i in np.flatnonzero(which))


@every_pool
@pytest.mark.parametrize("edges", [[0, 60, 120], [0, 1, 50, 119, 120]], ids=str)
def test_stats_add_over_blocks_of_rows(name, edges, data):
    X, _, R, weight = data
    pool = fitted(name, X, weight)
    whole, parts = all_scores(pool, X, R, [0, 120]), all_scores(pool, X, R, edges)
    assert np.allclose(whole, parts, rtol=1e-4, atol=1e-3)
    part = pool.parts(10)[0]
    sums = [
        pool.stats(pool.encode(X, slice(a, b)), pool.prepare(R[:, a:b]), part)
        for a, b in pairwise(edges)
    ]
    once = pool.stats(pool.encode(X, slice(0, 120)), pool.prepare(R), part)
    assert np.allclose(sum(s.astype(np.float64) for s in sums), once, rtol=1e-4, atol=1e-3)


@every_pool
def test_parts_cover_every_atom_once(name, data):
    pool = fitted(name, data[0])
    parts = pool.parts(10)
    assert parts[0].start == 0
    assert parts[-1].stop == pool.n_atoms_
    assert all(a.stop == b.start for a, b in pairwise(parts))


@every_pool
def test_columns_of_an_atom_are_its_explicit_columns(name, data):
    X, _, _, weight = data
    pool = fitted(name, X, weight)
    truth = explicit(pool, X, X, weight)
    assert len(truth) == pool.n_atoms_
    block = pool.encode(X, slice(30, 90))
    for atom in range(0, pool.n_atoms_, max(1, pool.n_atoms_ // 40)):
        columns = pool.columns(block, atom)
        assert columns.shape == (pool.scales(atom).size, 60)
        assert np.allclose(columns, truth[atom][:, 30:90], rtol=1e-4, atol=1e-4)


@every_pool
@pytest.mark.parametrize("centred", [True, False])
def test_scales_are_what_their_definition_says(name, centred, data):
    X, _, _, weight = data
    pool = fitted(name, X, weight, centred)
    expected = naive_scales(pool, X, weight, centred)
    found = [pool.scales(atom) for atom in range(pool.n_atoms_)]
    for atom, (own, truth) in enumerate(zip(found, expected, strict=True)):
        assert np.allclose(own, truth, rtol=1e-3), atom


@every_pool
def test_an_unfitted_pool_says_so(name, data):
    X = data[0]
    pool = clone(POOLS_TO_TEST[name])
    for use in (
        lambda: pool.parts(10),
        lambda: pool.encode(X, slice(0, 10)),
        lambda: pool.features([0]),
        lambda: pool.scales(0),
        lambda: pool.scores(np.zeros((3, 3)), slice(0, 2)),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use()
    assert not hasattr(pool, "n_atoms_")
    with pytest.raises(AttributeError, match="no attribute 'n_atoms'"):
        _ = pool.n_atoms


@pytest.mark.parametrize(
    ("pool", "n_columns"),
    [
        (Stumps(max_bins=None), 256),
        (Products(), 400),
        (Pieces(125, 30), 16),
        (Templates(1000, patch_size=[2, 3, 4], n_patches=3000), 64),
    ],
    ids=["stumps", "products", "pieces", "templates"],
)
def test_memory_is_bounded_by_parts_not_by_the_number_of_atoms(pool, n_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, n_columns)).astype(np.float32)
    y = np.arange(500) % 100
    pool = clone(pool).fit(X)
    with threadpool_limits(1), Rows(X, y, np.ones(500), pool, 100, True) as rows:
        rows.evaluate(np.zeros((100, 1)), LogisticLoss())
        best_atom(rows, np.empty(0, dtype=np.intp))  # compiles
        tracemalloc.start()
        best_atom(rows, np.empty(0, dtype=np.intp))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    everything = pool.n_atoms_ * pool.scales(0).size * 100 * 8
    assert everything > 8 * PART_BYTES
    assert peak < 3 * PART_BYTES
