"""What every pool must do inside the classifier, against explicit columns."""

import pickle
import re
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import POOLS_TO_TEST, all_scores, classifier, every_pool, fitted, some_digits
from naive_pools import explicit
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost.places import host as host_module
from shareboost.pools import POOLS, Columns, Stumps, Union

NAMES = {
    "columns": r"x\d+",
    "groups": r"x\d+",
    "stumps": r"x\d+ ≤ -?[\d.e+-]+",
    "products": r"x\d+ · x\d+|x\d+²|x\d+",
    "pieces": r"piece \d+ \(r = [\d.e+-]+\)(: x\d+)?",
    "templates": r"template \d+ at \(\d+, \d+\)",
    "union": r"(columns|stumps|products|pieces|a|b): .*",
}


@pytest.fixture(scope="module")
def data():
    return some_digits()


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
def test_results_do_not_depend_on_the_number_of_threads(name, digits, monkeypatch):
    monkeypatch.setattr(host_module, "BLOCK_ROWS", 150)
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
    for constant in ("piece_features.CHUNK_ROWS", "products.CHUNK_ROWS", "patches.CHUNK_IMAGES"):
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
