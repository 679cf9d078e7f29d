"""What every pool must answer, against explicit columns."""

import pickle
import re
import tracemalloc
from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy.sparse as sp
from naive_pools import explicit, naive_scales
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost import rows as rows_module
from shareboost.losses import LogisticLoss
from shareboost.pools import POOLS, Columns, Pieces, Products, Stumps, Templates, Union
from shareboost.pools.base import PART_BYTES
from shareboost.rows import Rows
from shareboost.select import best_atom

POOLS_TO_TEST = {
    "columns": Columns(),
    "columns, maxabs": Columns("maxabs"),
    "stumps": Stumps(),
    "stumps, paper": Stumps(scale="none"),
    "stumps, exact": Stumps(max_bins=None),
    "products": Products(),
    "products, squares, linear": Products(squares=True, linear=True),
    "products, maxabs": Products(scale="maxabs"),
    "pieces": Pieces(12, 6),
    "pieces, paper": Pieces(12, 6, form="paper"),
    "templates": Templates(5, patch_size=3, masks=2, sigma=2.0),
    "templates, one scale": Templates(5, patch_size=3, masks=2, sigma=2.0, scale="none"),
    "templates, sizes": Templates(4, patch_size=[3, (2, 5)], masks=2, sigma=2.0),
    "templates, colour": Templates(5, image_shape=(4, 8, 2), patch_size=3, masks=2, sigma=2.0),
    "union": Union([Columns(), Stumps(), Products(), Pieces(12, 6)]),
    "union, named": Union([("a", Columns()), ("b", Columns("maxabs"))], costs=[1.0, 3.0]),
}
NAMES = {
    "columns": r"x\d+",
    "stumps": r"x\d+ ≤ -?[\d.e+-]+",
    "products": r"x\d+ · x\d+|x\d+²|x\d+",
    "pieces": r"piece \d+ \(r = [\d.e+-]+\)(: x\d+)?",
    "templates": r"template \d+ at \(\d+, \d+\)",
    "union": r"(columns|stumps|products|pieces|a|b): .*",
}

every_pool = pytest.mark.parametrize("name", POOLS_TO_TEST)


@pytest.fixture(scope="module")
def data():
    """Some digits, their labels and a residual as after a loose refit: (X, y, R, weight)."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X, y = X[:120], y[:120]
    rng = np.random.default_rng(0)
    R = rng.normal(size=(10, 120))
    return X, y, R, rng.uniform(0.5, 2.0, size=120)


def fitted(name, X, weight=None, centred=True):
    return clone(POOLS_TO_TEST[name]).fit(X, weight, centred)


def classifier(n_features, name, **parameters):
    """With a penalty that settles refits of more columns than rows, as pieces make here."""
    return ShareBoostClassifier(n_features, pool=POOLS_TO_TEST[name], alpha=1e-3, **parameters)


def all_scores(pool, X, R, edges):
    """Scores of all atoms, part by part, the rows in blocks."""
    scores = []
    for part in pool.parts(10):
        stats = None
        for a, b in pairwise(edges):
            block = pool.encode(X, slice(a, b))
            stats = pool.stats(block, pool.prepare(R[:, a:b]), part, stats)
            stats = stats.astype(np.float64)
        scores.append(pool.scores(stats, part))
    return np.concatenate(scores)


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
@pytest.mark.parametrize("intercept", [True, False])
def test_scores_of_a_model_on_new_rows_are_explicit_columns_times_weights(name, intercept, digits):
    X, y = digits
    pool = POOLS_TO_TEST[name]
    clf = classifier(6, name, fit_intercept=intercept).fit(X[:300], y[:300])
    own = clone(pool).fit(X[:300], np.ones(300), centred=intercept)
    atoms = explicit(own, X[300:350], X[:300])
    A = np.vstack([atoms[atom] for atom in clf.selected_]).T
    assert np.allclose(clf.transform(X[300:350]), A, rtol=1e-4, atol=1e-4)
    scores = A @ clf.coef_.T + clf.intercept_
    assert np.allclose(clf.decision_function(X[300:350]), scores, rtol=1e-3, atol=1e-3)
    for t, staged in enumerate(clf.staged_decision_function(X[300:350]), start=1):
        assert np.allclose(staged, clf.at(t).decision_function(X[300:350]), atol=1e-4)


@every_pool
def test_names_are_readable_and_one_a_column(name, data):
    X, y, _, _ = data
    clf = classifier(5, name).fit(X, y)
    names = clf.get_feature_names_out()
    assert len(names) == len(set(names)) == clf.coef_.shape[1]
    assert all(re.fullmatch(NAMES[name.split(",")[0]], n) for n in names), names


@every_pool
def test_pickling_and_cloning_keep_what_they_should(name, data):
    X, y, R, _ = data
    pool = fitted(name, X)
    again = pickle.loads(pickle.dumps(pool))
    assert np.array_equal(all_scores(again, X, R, [0, 120]), all_scores(pool, X, R, [0, 120]))
    assert not hasattr(clone(pool), "n_atoms_")
    clf = classifier(4, name).fit(X, y)
    loaded = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))
    assert not hasattr(clf.pool, "n_atoms_")  # the parameter stays as it was
    assert np.array_equal(clone(clf).fit(X, y).coef_, clf.coef_)


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


@every_pool
def test_results_do_not_depend_on_the_number_of_threads(name, digits, monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", 150)
    X, y = digits[0][:600], digits[1][:600]
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append(classifier(5, name).fit(X, y))
    for clf in found[1:]:
        assert np.array_equal(clf.selected_, found[0].selected_)
        assert np.array_equal(clf.coef_, found[0].coef_)


@every_pool
@pytest.mark.parametrize("format_", ["csr", "csc", "coo"])
def test_sparse_rows_give_what_dense_rows_give(name, format_, data):
    X, y, R, weight = data
    dense = fitted(name, X, weight)
    sparse = fitted(name, sp.coo_array(X).asformat(format_), weight)
    assert sparse.n_atoms_ == dense.n_atoms_
    rows = sp.csr_array(X)
    assert np.allclose(
        all_scores(sparse, rows, R, [0, 50, 120]),
        all_scores(dense, X, R, [0, 50, 120]),
        rtol=1e-4,
        atol=1e-3,
    )
    clf = classifier(4, name)
    on_sparse = clone(clf).fit(sp.coo_array(X).asformat(format_), y)
    on_dense = clone(clf).fit(X, y)
    assert np.array_equal(on_sparse.selected_, on_dense.selected_)
    assert np.allclose(on_sparse.decision_function(rows), on_dense.decision_function(X), atol=1e-2)


@every_pool
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64])
def test_every_type_of_number_is_taken(name, dtype, data):
    X, y, _, _ = data
    clf = classifier(4, name, tol=1e-2)  # what float32 can reach in unscaled columns
    plain = clone(clf).fit(X.astype(dtype), y)
    single = clone(clf).fit(X, y)
    assert np.array_equal(plain.selected_, single.selected_)
    assert plain.score(X.astype(dtype), y) == pytest.approx(single.score(X, y), abs=0.02)


@every_pool
def test_a_pool_works_in_a_pipeline(name, digits):
    X, y = digits[0][:200], digits[1][:200]
    pipe = make_pipeline(MinMaxScaler(), classifier(8, name))
    assert pipe.fit(X, y).score(X, y) > 0.5


@every_pool
def test_nan_is_refused_unless_the_pool_takes_it(name, data):
    X, y, _, _ = data
    X = X.copy()
    X[3, 20] = np.nan
    clf = classifier(3, name)
    if POOLS_TO_TEST[name].allows_nan:
        assert clf.fit(X, y).score(X, y) > 0.2
    else:
        with pytest.raises(ValueError, match=r"X contains NaN, which this pool .* stumps"):
            clf.fit(X, y)


@every_pool
def test_warm_start_goes_on_with_the_same_atoms(name, data):
    X, y, _, _ = data
    whole = classifier(6, name).fit(X, y)
    clf = classifier(3, name, warm_start=True).fit(X, y)
    clf.set_params(n_features=6).fit(X, y)
    assert np.array_equal(clf.selected_, whole.selected_)
    assert np.allclose(clf.coef_, whole.coef_)


@pytest.mark.parametrize("name", sorted(POOLS))
def test_pools_go_by_name(name, digits):
    X, y = digits[0][:400], digits[1][:400]
    by_name = ShareBoostClassifier(5, pool=name).fit(X, y)
    by_object = ShareBoostClassifier(5, pool=POOLS[name]()).fit(X, y)
    assert np.array_equal(by_name.selected_, by_object.selected_)


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


@every_pool
@pytest.mark.parametrize("centred", [True, False])
def test_scales_are_what_their_definition_says(name, centred, data):
    X, _, _, weight = data
    pool = fitted(name, X, weight, centred)
    expected = naive_scales(pool, X, weight, centred)
    found = [pool.scales(atom) for atom in range(pool.n_atoms_)]
    for atom, (own, truth) in enumerate(zip(found, expected, strict=True)):
        assert np.allclose(own, truth, rtol=1e-3), atom


@pytest.mark.parametrize("name", [n for n in POOLS_TO_TEST if n.startswith(("columns", "stumps"))])
def test_equal_columns_tie_across_parts_and_pools(name, digits, monkeypatch):
    """A second copy of X, further right or in a second pool, is never chosen."""
    X, y = digits[0][:300], digits[1][:300]
    monkeypatch.setattr("shareboost.pools.stumps.PART_BYTES", 1000)
    twice = np.hstack([X, X[:, ::-1]])
    clf = classifier(5, name).fit(twice, y)
    assert (clf.path_.features.column if "stumps" in name else clf.selected_).max() < 64
    pool = Union([POOLS_TO_TEST[name], Columns("none"), POOLS_TO_TEST[name]], costs=[1, 1e9, 1])
    clf = ShareBoostClassifier(5, pool=pool).fit(X, y)
    assert (clf.path_.features.which == 0).all()


@every_pool
def test_rows_are_read_in_chunks_of_any_size(name, data, monkeypatch):
    X, y, _, _ = data
    whole = classifier(4, name).fit(X, y)
    for constant in ("pieces.CHUNK_ROWS", "products.CHUNK_ROWS", "patches.CHUNK_IMAGES"):
        monkeypatch.setattr(f"shareboost.pools.{constant}", 7)
    for constant in ("templates.CHUNK_IMAGES", "templates.BATCH_IMAGES"):
        monkeypatch.setattr(f"shareboost.pools.{constant}", 5)
    monkeypatch.setattr("shareboost.pools.templates.CHUNK_TEMPLATES", 2)
    monkeypatch.setattr("shareboost.model.CHUNK_BYTES", 1000)
    pieces = classifier(4, name).fit(X, y)
    assert np.array_equal(pieces.selected_, whole.selected_)
    assert np.allclose(pieces.decision_function(X), whole.decision_function(X), atol=1e-3)


@pytest.mark.parametrize(
    ("first", "second"), list(permutations(["stumps", "pieces", "columns"], 2))
)
def test_a_warm_start_with_another_pool_is_refused(first, second, data):
    X, y, _, _ = data
    clf = classifier(2, first, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"the pool \(or its random state\)"):
        clf.set_params(pool=POOLS_TO_TEST[second], n_features=3).fit(X, y)


def test_the_fitted_pool_says_whether_prediction_takes_nan(data):
    X, y, _, _ = data
    clf = classifier(2, "stumps").fit(X, y).set_params(pool="columns")
    assert clf.predict(np.full((1, 64), np.nan)).shape == (1,)


@pytest.mark.parametrize("pool", ["trees", Stumps, 3, Union([]), Union(Columns()), None])
def test_what_is_no_pool_is_refused_by_fit_alone(pool, data):
    X, y, _, _ = data
    clf = ShareBoostClassifier(2, pool=pool)
    assert clf.__sklearn_tags__().input_tags.allow_nan is False
    assert "ShareBoostClassifier" in clf._repr_html_()
    with pytest.raises(ValueError, match="pool"):
        clf.fit(X, y)
