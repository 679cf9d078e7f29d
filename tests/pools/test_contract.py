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
    columns_of,
    every_kind,
    every_pool,
    every_pool_with,
    fitted,
    rounding,
    scaled_columns,
    some_digits,
)
from naive_pools import explicit, naive_scales
from pairs import covering
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from shareboost.pools import Columns, Groups, Pieces, Products, Stumps, Templates, Union
from shareboost.pools.base import PART_BYTES
from shareboost.pools.table import Whole

KINDS_OF_ROWS = {"dense": np.asarray, "sparse": sp.csr_array}


@pytest.fixture(scope="module")
def data():
    return some_digits()


def scales_of(pool):
    return [pool.scales(atom) for atom in range(pool.n_atoms_)]


@covering(
    name=list(POOLS_TO_TEST),
    make=KINDS_OF_ROWS,
    edges=[[0, 120], [0, 1, 50, 119, 120]],
    centred={"centred": True, "about zero": False},
)
def test_statistics_are_sums_over_explicit_columns(name, make, edges, centred, data):
    X, _, R, weight = data
    pool = fitted(name, make(X), weight, centred)
    scales = scales_of(pool)
    for atom, truth in enumerate(naive_scales(pool, X, weight, centred)):
        assert np.allclose(scales[atom], truth, rtol=1e-3), atom

    Z = scaled_columns(pool, X, weight, scales, centred)
    wrong = rounding(name, Z)
    found = all_correlations(pool, make(X), R, edges)
    assert found.dtype == np.float64
    assert found.shape == (10, len(Z))
    assert (np.abs(found - R @ Z.T) <= np.abs(R) @ wrong.T).all()

    V = weight * np.random.default_rng(1).uniform(0.01, 0.25, size=(10, 120))
    if centred:
        found = all_curvatures(pool, make(X), V, weight, edges)
        about = Z - (Z @ weight / weight.sum())[:, None]
        assert found.shape == (10, len(Z))
        off = np.abs(found - V @ (about**2).T) - V @ (wrong * (2 * np.abs(about) + wrong)).T
    else:
        first, second = all_moments(pool, make(X), V, edges)
        assert first.dtype == second.dtype == np.float64
        assert (np.abs(first - V @ Z.T) <= V @ wrong.T)[:, columns_of(pool, pool.usable_)].all()
        off = np.abs(second - V @ (Z**2).T) - V @ (wrong * (2 * np.abs(Z) + wrong)).T
    assert off[:, columns_of(pool, pool.usable_)].max() <= 0


@every_kind
def test_deviations_are_about_the_mean_unless_told(name, data):
    X, ones = data[0], np.ones(120)
    truth = naive_scales(fitted(name, X), X, ones, centred=True)
    pool = clone(POOLS_TO_TEST[name])
    for found in (clone(pool).fit(X), clone(pool).fit(Whole(X, ones))):
        for scale, expected in zip(scales_of(found), truth, strict=True):
            assert np.allclose(scale, expected, rtol=1e-3)


@every_pool_with(kind=list(KINDS_OF_ROWS))
def test_widened_pools_compute_in_float64_where_they_can(name, kind, data):
    X, _, R, weight = data
    X32 = KINDS_OF_ROWS[kind](X.astype(np.float32))
    pool = fitted(name, X32, weight).widen()
    assert pool.dtype_ == np.float64
    Z = scaled_columns(pool, X, weight, scales_of(pool))
    found = all_correlations(pool, X32, R, [0, 50, 120])
    in_float32 = "pieces" in name or "templates" in name or name == "union"
    allowed = np.abs(R) @ (rounding(name, Z) if in_float32 else 1e-13 + 3e-8 * np.abs(Z)).T
    assert (np.abs(found - R @ Z.T) <= allowed).all()


@every_pool
def test_parts_cover_every_atom_once_and_their_statistics_add_over_rows(name, data):
    X, _, R, weight = data
    pool = fitted(name, X, weight)
    parts = pool.parts(10)
    assert parts[0].start == 0
    assert parts[-1].stop == pool.n_atoms_
    assert all(a.stop == b.start for a, b in pairwise(parts))
    for part in parts:
        widths = [pool.scales(atom).size for atom in range(part.start, part.stop)]
        assert pool.starts(part).tolist() == np.cumsum([0, *widths[:-1]]).tolist()
    part = parts[0]
    once = pool.stats(pool.encode(X, slice(0, 120)), pool.prepare(R), part)
    for edges in ([0, 60, 120], [0, 1, 50, 119, 120]):
        sums = [
            pool.stats(pool.encode(X, slice(a, b)), pool.prepare(R[:, a:b]), part)
            for a, b in pairwise(edges)
        ]
        assert np.allclose(sum(s.astype(np.float64) for s in sums), once, rtol=1e-4, atol=1e-3)


def costs_of(pool):
    if isinstance(pool, Union):
        return np.concatenate(
            [costs_of(own) * cost for own, cost in zip(pool.pools_, pool.costs_, strict=True)]
        )
    if isinstance(pool, Groups) and pool.score == "mean":
        return np.array([scale.size for scale in scales_of(pool)], dtype=float)
    return np.ones(pool.n_atoms_)


@every_pool
def test_atoms_that_vary_have_their_explicit_columns_and_scores(name, data):
    X, _, R, weight = data
    pool = fitted(name, X, weight)
    truth = explicit(pool, X, X, weight)
    choosable = np.ones(pool.n_atoms_, bool) if pool.usable_ is None else pool.usable_
    assert choosable.tolist() == [np.ptp(columns, axis=1).max() > 1e-6 for columns in truth]

    block = pool.encode(X, slice(30, 90))
    for atom in range(0, pool.n_atoms_, max(1, pool.n_atoms_ // 40)):
        columns = pool.columns(block, atom)
        assert columns.shape == (pool.scales(atom).size, 60)
        assert np.allclose(columns, truth[atom][:, 30:90], rtol=1e-4, atol=1e-4)

    scaled = zip(truth, scales_of(pool), strict=True)
    norms = np.array([np.abs(R @ (own / scale[:, None]).T).sum() for own, scale in scaled])
    scores = all_scores(pool, X, R, [0, 120])
    assert np.array_equal(scores > -np.inf, choosable)
    tolerance = {"rtol": 0.01, "atol": 0.1} if "templates" in name else {"rtol": 1e-4}
    assert np.allclose(scores[choosable], (norms / costs_of(pool))[choosable], **tolerance)


@every_pool
def test_atoms_read_the_columns_of_x_that_change_them(name, data):
    X = data[0]
    pool = fitted(name, X)
    features = pool.features(range(pool.n_atoms_))
    X = X + np.random.default_rng(0).uniform(0.1, 0.9, size=X.shape)  # no column is all zero
    before, starts = features.columns(X), np.cumsum([0, *features.widths[:-1]])
    changed = np.zeros((pool.n_atoms_, 64), dtype=bool)
    for j in range(64):
        moved = X.copy()
        moved[:, j] = 17.0 - moved[:, j]
        differs = (features.columns(moved) != before).any(axis=0)
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
def test_features_are_named_apart_and_taken_in_any_order(name, data):
    X = data[0]
    pool = fitted(name, X)
    names = [f"x{j}" for j in range(64)]
    every = pool.features(range(pool.n_atoms_))
    of_atoms, of_columns = every.atom_names(names), every.names(names)
    assert len(of_atoms) == len(set(of_atoms)) == pool.n_atoms_
    if isinstance(pool, Groups):
        assert of_atoms == [str(label) for label in sorted(set(pool.groups))]
    else:  # the constant of a piece has no column's name
        assert of_atoms == [of_columns[last] for last in np.cumsum(every.widths) - 1]

    atoms = np.random.default_rng(0).permutation(np.linspace(0, pool.n_atoms_ - 1, 9).astype(int))
    taken = pool.features(atoms)
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


def test_an_unfitted_pool_says_so(data):
    X = data[0]
    for pool in map(clone, POOLS_TO_TEST.values()):
        for use in (
            lambda pool: pool.parts(10),
            lambda pool: pool.encode(X, slice(0, 10)),
            lambda pool: pool.features([0]),
            lambda pool: pool.scales(0),
            lambda pool: pool.correlations(np.zeros((3, 3)), slice(0, 2)),
            lambda pool: pool.reads(64),
        ):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                use(pool)
        assert not hasattr(pool, "n_atoms_")
        with pytest.raises(AttributeError, match="no attribute 'n_atoms'"):
            _ = pool.n_atoms


@pytest.mark.parametrize(
    ("pool", "make", "least", "width"),
    [(Columns(), sp.csr_array, 8, 1), (Stumps(10), np.asarray, 12, 9)],
    ids=["sparse columns", "stumps"],
)
def test_parts_are_enough_for_several_threads_and_no_larger_than_they_may_be(
    pool, make, least, width
):
    X = make(np.random.default_rng(0).normal(size=(50, 200)))
    pool = clone(pool).fit(X)
    for n_classes in (1, 10, 10**4, 10**5, 10**7):
        parts = pool.parts(n_classes)
        sizes = np.array([part.stop - part.start for part in parts])
        largest = max(width, min(PART_BYTES / (8 * n_classes), -(-200 * width // least)))
        assert len(parts) >= least
        assert sizes.max() <= largest
        # Two neighbours would not fit into one, but for what the end leaves over.
        assert (sizes[:-2] + sizes[1:-1] > largest / 2).all()
        assert len(parts) <= 2 * -(-200 * width // largest) + 1


@pytest.mark.quiet
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
