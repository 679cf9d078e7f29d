"""What every pool must answer by itself, against explicit columns."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import (
    POOLS_TO_TEST,
    all_correlations,
    all_curvatures,
    all_moments,
    all_scores,
    every_pool,
    fitted,
    some_digits,
)
from naive_pools import explicit, naive_scales
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from shareboost.pools import Groups, Pieces, Products, Stumps, Templates, Union
from shareboost.pools.base import PART_BYTES

dense_and_sparse = pytest.mark.parametrize(
    "make", [np.asarray, sp.csr_array], ids=["dense", "sparse"]
)


@pytest.fixture(scope="module")
def data():
    return some_digits()


def scaled_columns(pool, X, weight):
    """All explicit columns over their scales, (columns, n)."""
    atoms = explicit(pool, X, X, weight)
    assert len(atoms) == pool.n_atoms_
    return np.vstack([columns / pool.scales(i)[:, None] for i, columns in enumerate(atoms)])


def rounding(name, Z):
    """What each scaled column is wrong by at most in the sums, (columns, n).

    A template's by that of its code, one of 255 in the column's range and a twentieth on
    either side; other pools compute in float32 or better.
    """
    range_ = np.ptp(Z, axis=1, keepdims=True)
    return (0.0022 if "templates" in name else 2e-6) * range_ + 1e-5 * np.abs(Z) + 3e-7


@every_pool
@dense_and_sparse
@pytest.mark.parametrize("edges", [[0, 120], [0, 1, 50, 119, 120]], ids=str)
@pytest.mark.parametrize("centred", [True, False])
def test_correlations_are_sums_over_explicit_columns(name, make, edges, centred, data):
    X, _, R, weight = data
    pool = fitted(name, make(X), weight, centred)
    found = all_correlations(pool, make(X), R, edges)
    assert found.dtype == np.float64
    Z = scaled_columns(pool, X, weight)
    assert found.shape == (10, len(Z))
    assert (np.abs(found - R @ Z.T) <= np.abs(R) @ rounding(name, Z).T).all()


@every_pool
@dense_and_sparse
@pytest.mark.parametrize("edges", [[0, 120], [0, 1, 50, 119, 120]], ids=str)
def test_moments_give_the_curvature_of_centred_columns(name, make, edges, data):
    X, _, _, weight = data
    pool = fitted(name, make(X), weight)
    V = weight * np.random.default_rng(1).uniform(0.01, 0.25, size=(10, 120))
    found = all_curvatures(pool, make(X), V, weight, edges)
    Z = scaled_columns(pool, X, weight)
    about = Z - (Z @ weight / weight.sum())[:, None]
    wrong = rounding(name, Z)
    choosable = columns_of(pool, pool.choosable)
    assert found.shape == (10, len(Z))
    close = np.abs(found - V @ (about**2).T) <= V @ (wrong * (2 * np.abs(about) + wrong)).T
    assert close[:, choosable].all()


@every_pool
@dense_and_sparse
def test_moments_are_about_zero_where_columns_are(name, make, data):
    X, _, _, weight = data
    pool = fitted(name, make(X), weight, centred=False)
    V = weight * np.random.default_rng(1).uniform(0.01, 0.25, size=(10, 120))
    found = all_moments(pool, make(X), V, [0, 50, 120])
    Z = scaled_columns(pool, X, weight)
    wrong = rounding(name, Z)
    choosable = columns_of(pool, pool.choosable)
    for sums, power, slope in zip(found, (1, 2), (1.0, 2 * np.abs(Z) + wrong), strict=True):
        assert sums.dtype == np.float64
        close = np.abs(sums - V @ (Z**power).T) <= V @ (wrong * slope).T
        assert close[:, choosable].all()


def columns_of(pool, atoms):
    """A mask of columns from one of atoms, or None for all."""
    widths = pool.features(range(pool.n_atoms_)).widths
    return np.repeat(np.ones(pool.n_atoms_, dtype=bool) if atoms is None else atoms, widths)


@every_pool
@dense_and_sparse
def test_widened_pools_compute_in_float64_where_they_can(name, make, data):
    X, _, R, weight = data
    X32 = make(X.astype(np.float32))
    pool = fitted(name, X32, weight).widen()
    assert pool.dtype_ == np.float64
    Z = scaled_columns(pool, X, weight)
    found = all_correlations(pool, X32, R, [0, 50, 120])
    in_float32 = "pieces" in name or "templates" in name or name == "union"
    allowed = np.abs(R) @ (rounding(name, Z) if in_float32 else 1e-13 + 3e-8 * np.abs(Z)).T
    assert (np.abs(found - R @ Z.T) <= allowed).all()


@every_pool
def test_starts_are_where_the_columns_of_atoms_start(name, data):
    pool = fitted(name, data[0])
    for part in pool.parts(10):
        widths = [pool.scales(atom).size for atom in range(part.start, part.stop)]
        assert pool.starts(part).tolist() == np.cumsum([0, *widths[:-1]]).tolist()


@every_pool
def test_atoms_may_be_chosen_unless_they_are_constant(name, data):
    X = data[0]
    pool = fitted(name, X)
    choosable = np.ones(pool.n_atoms_, bool) if pool.choosable is None else pool.choosable
    varies = [np.ptp(columns, axis=1).max() > 1e-6 for columns in explicit(pool, X, X)]
    assert choosable.tolist() == varies


@every_pool
def test_scores_are_divided_by_costs(name, data):
    X, _, R, weight = data
    pool = fitted(name, X, weight)
    norms = np.abs(R @ scaled_columns(pool, X, weight).T).sum(axis=0)
    truth = np.add.reduceat(norms, np.cumsum([0, *widths_of(pool)[:-1]])) / costs_of(pool)
    scores = all_scores(pool, X, R, [0, 120])
    varies = scores > -np.inf
    tolerance = {"rtol": 0.01, "atol": 0.1} if "templates" in name else {"rtol": 1e-4}
    assert np.allclose(scores[varies], truth[varies], **tolerance)


def widths_of(pool):
    return [pool.scales(atom).size for atom in range(pool.n_atoms_)]


def costs_of(pool):
    if isinstance(pool, Union):
        return np.concatenate(
            [costs_of(own) * cost for own, cost in zip(pool.pools_, pool.costs_, strict=True)]
        )
    if isinstance(pool, Groups) and pool.score == "mean":
        return np.array(widths_of(pool), dtype=float)
    return np.ones(pool.n_atoms_)


@every_pool
def test_atoms_read_the_columns_of_x_that_change_them(name, data):
    X = data[0]
    pool = fitted(name, X)
    features = pool.features(range(pool.n_atoms_))
    X = X + np.random.default_rng(0).uniform(0.1, 0.9, size=X.shape)  # no column is all zero
    starts = np.cumsum([0, *features.widths[:-1]])
    changed = np.zeros((pool.n_atoms_, 64), dtype=bool)
    for j in range(64):
        moved = X.copy()
        moved[:, j] = 17.0 - moved[:, j]
        differs = (features.columns(moved) != features.columns(X)).any(axis=0)
        changed[:, j] = np.logical_or.reduceat(differs, starts)
    reads = pool.reads(64)
    if reads is None:
        assert features.reads(64) is None
        assert changed.any(axis=0).all()
        return
    assert reads.dtype == bool
    assert (reads != features.reads(64)).nnz == 0
    exact = features.widths == 1  # a row far outside a piece may move and stay outside
    assert np.array_equal(reads.toarray()[exact], changed[exact])
    assert not (changed & ~reads.toarray()).any()


@every_pool
def test_features_are_taken_in_any_order(name, data):
    X = data[0]
    pool = fitted(name, X)
    atoms = np.random.default_rng(0).permutation(np.linspace(0, pool.n_atoms_ - 1, 9).astype(int))
    names = [f"x{j}" for j in range(64)]
    features = pool.features(atoms)
    taken = features
    for places in ([4, 0, 8, 3, 7, 1], [5, 2, 0, 1], [1, 3], []):
        places = np.array(places, dtype=np.intp)
        atoms, taken = atoms[places], taken.take(places)
        alone = pool.features(atoms)
        assert np.array_equal(taken.ids, atoms)
        assert np.array_equal(taken.widths, alone.widths)
        assert taken.names(names) == alone.names(names)
        assert taken.atom_names(names) == alone.atom_names(names)
        if atoms.size:
            assert np.array_equal(taken.columns(X), alone.columns(X))
        if alone.reads(64) is not None:
            assert (taken.reads(64) != alone.reads(64)).nnz == 0
    assert features.first(3).ids.tolist() == features.ids[:3].tolist()
    assert features.first(99).ids.tolist() == features.ids.tolist()


@every_pool
def test_atoms_have_a_name_each(name, data):
    pool = fitted(name, data[0])
    features = pool.features(range(pool.n_atoms_))
    inputs = [f"x{j}" for j in range(64)]
    names, of_columns = features.atom_names(inputs), features.names(inputs)
    assert len(names) == len(set(names)) == pool.n_atoms_
    if isinstance(pool, Groups):
        assert names == [str(label) for label in sorted(set(pool.groups))]
        return
    lasts = np.cumsum(features.widths) - 1  # the constant of a piece has no column's name
    assert names == [of_columns[last] for last in lasts]


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
        lambda: pool.correlations(np.zeros((3, 3)), slice(0, 2)),
        lambda: pool.reads(64),
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
    pool = clone(pool).fit(X)
    block, rows = pool.encode(X, slice(0, 500)), pool.prepare(rng.uniform(size=(100, 500)))
    parts = pool.parts(100)

    def peak(squares):
        turn = pool.moments if squares else pool.correlations
        tracemalloc.start()
        for part in parts[:4]:
            turn(pool.stats(block, rows, part, None, squares), part)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    everything = pool.n_atoms_ * pool.scales(0).size * 100 * 8
    assert everything > 8 * PART_BYTES
    with threadpool_limits(1):
        for squares, most in ((False, 3), (True, 6)):
            peak(squares)  # compiles
            assert peak(squares) < most * PART_BYTES
