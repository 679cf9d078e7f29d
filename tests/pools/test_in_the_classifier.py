"""What every pool must do inside the classifier, against explicit columns."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import (
    POOLS_TO_TEST,
    SMALL_POOLS,
    all_scores,
    classifier,
    every_kind,
    every_pool,
    every_pool_with,
    fitted,
    small_images,
    some_digits,
)
from naive_pools import explicit
from pairs import covering
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost.backends import numpy as host_module
from shareboost.pools import POOLS, Columns, Groups, Stumps, Union, new_pool
from shareboost.selection.rules import RULES

NAMES = {
    "columns": r"x\d+",
    "groups": r"x\d+",
    "stumps": r"x\d+ ≤ -?[\d.e+-]+",
    "hinges": r"max\(0, (x\d+ - [\d.e+-]+|[\d.e+-]+ - x\d+)\)",
    "products": r"x\d+ · x\d+|x\d+²|x\d+",
    "pieces": r"piece \d+ \(r = [\d.e+-]+\)(: x\d+)?",
    "templates": r"template \d+ at \(\d+, \d+\)",
    "union": r"(columns|stumps|products|pieces|a|b): .*",
}
# Ways to hand over the same whole numbers.
INPUTS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "uint8": lambda X: X.astype(np.uint8),
    "int64": lambda X: X.astype(np.int64),
    "csr": sp.csr_array,
    "csc": lambda X: sp.csc_array(X.astype(np.float32)),
    "coo": lambda X: sp.coo_array(X.astype(np.int16)),
}
WEIGHTS = {
    "unweighted": np.ones(120),
    "weighted": np.random.default_rng(1).uniform(0.5, 2.0, size=120),
    "some of weight zero": np.random.default_rng(2).uniform(size=120) * (np.arange(120) % 7 > 0),
}


@pytest.fixture(scope="module")
def data():
    return some_digits()


@pytest.fixture(scope="module")
def images():
    return small_images()


@covering(
    pool=SMALL_POOLS,
    rule=RULES,
    make=INPUTS,
    weight=WEIGHTS,
    intercept={"intercept": True, "no intercept": False},
)
def test_a_fit_is_the_fit_on_explicit_columns(pool, rule, make, weight, intercept, images):
    """As the groups of a matrix that holds every column of every atom, over its scale."""
    X, y, X_new = images
    settings = {"rule": rule, "shortlist": 3, "fit_intercept": intercept, "alpha": 1e-3}
    settings |= {"refit_tol": 1e-4, "tol": 1e-4}
    clf = ShareBoostClassifier(3, pool=pool, **settings)
    clf.fit(make(X), y, sample_weight=weight)

    counted = weight > 0
    pool = clone(pool).fit(X[counted], weight[counted], centred=intercept)
    atoms = explicit(pool, X, X[counted], weight[counted], intercept)
    scales = [pool.scales(atom) for atom in range(pool.n_atoms_)]
    labels = np.repeat(np.arange(len(atoms)), [len(own) for own in atoms])
    Z = (np.vstack(atoms) / np.concatenate(scales)[:, None]).T
    truth = ShareBoostClassifier(3, pool=Groups(labels, scale="none"), **settings)
    truth.fit(Z, y, sample_weight=weight)
    assert clf.selected_.tolist() == truth.selected_.tolist()
    assert np.allclose(clf.path_.losses, truth.path_.losses, rtol=1e-4)

    atoms = explicit(pool, X_new, X[counted], weight[counted], intercept)
    A = np.vstack([atoms[atom] for atom in clf.selected_]).T
    found = clf._model().features.columns(make(X_new))
    assert np.allclose(found.toarray() if sp.issparse(found) else found, A, rtol=1e-4, atol=1e-3)
    scores = A @ clf.weights_.T + clf.intercept_
    assert np.allclose(clf.decision_function(make(X_new)), scores, rtol=1e-3, atol=1e-3)


@every_pool_with(rows=list(INPUTS), intercept=[True, False])
def test_scores_on_new_rows_are_explicit_columns_times_weights(name, rows, intercept, digits):
    X, y, make = digits[0], digits[1][:300], INPUTS[rows]
    # In unscaled columns float32 can reach no smaller ``tol``.
    clf = classifier(6, name, fit_intercept=intercept, tol=1e-2).fit(make(X[:300]), y)
    on_floats = clone(clf).fit(X[:300], y)
    assert np.array_equal(clf.selected_, on_floats.selected_)
    pool = clone(POOLS_TO_TEST[name]).fit(X[:300], np.ones(300), centred=intercept)
    atoms = explicit(pool, X[300:350], X[:300], None, intercept)
    A = np.vstack([atoms[atom] for atom in clf.selected_]).T
    new, scores = make(X[300:350]), A @ clf.weights_.T + clf.intercept_
    found = clf._model().features.columns(new)
    assert np.allclose(found.toarray() if sp.issparse(found) else found, A, rtol=1e-4, atol=1e-4)
    assert np.allclose(clf.decision_function(new), scores, rtol=1e-3, atol=1e-3)
    for t, staged in enumerate(clf.staged_decision_function(new), start=1):
        assert np.allclose(staged, clf.at(t).decision_function(new), atol=1e-4)


@every_pool
def test_models_have_readable_names_and_can_be_pickled_and_cloned(name, data):
    X, y, R, _ = data
    clf = classifier(5, name).fit(X, y)
    names = clf.get_feature_names_out()
    assert len(names) == len(set(names)) == clf.weights_.shape[1]
    chosen = clf._model().features.names(clf.path_.input_names)
    assert all(re.fullmatch(NAMES[name.split(",")[0]], n) for n in chosen), chosen
    if clf._model().features.input_columns is None:
        assert names.tolist() == chosen
    loaded = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))
    assert not hasattr(clf.pool, "n_atoms_")  # the parameter stays as it was
    assert np.array_equal(clone(clf).fit(X, y).weights_, clf.weights_)
    pool = fitted(name, X)
    again = pickle.loads(pickle.dumps(pool))
    assert np.array_equal(all_scores(again, X, R, [0, 120]), all_scores(pool, X, R, [0, 120]))
    assert not hasattr(clone(pool), "n_atoms_")


@pytest.mark.quiet
@every_kind
def test_results_do_not_depend_on_the_number_of_threads(name, digits, monkeypatch):
    monkeypatch.setattr(host_module, "BLOCK_ROWS", 150)
    X, y = digits[0][:600], digits[1][:600]
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append(classifier(5, name).fit(X, y))
    for clf in found[1:]:
        assert np.array_equal(clf.selected_, found[0].selected_)
        assert np.array_equal(clf.weights_, found[0].weights_)


@pytest.mark.parametrize("name", ["stumps", "pieces"])
def test_a_pool_works_in_a_pipeline(name, digits):
    X, y = digits[0][:200], digits[1][:200]
    pipe = make_pipeline(MinMaxScaler(), classifier(8, name))
    assert pipe.fit(X, y).score(X, y) > 0.5


def test_nan_is_refused_unless_the_pool_takes_it(data):
    X, y, _, _ = data
    X = X.copy()
    X[3, 20] = np.nan
    for name, pool in POOLS_TO_TEST.items():
        clf = classifier(3, name)
        assert pool.allows_nan == name.startswith("stumps")
        if pool.allows_nan:
            assert clf.fit(X, y).score(X, y) > 0.2
        else:
            with pytest.raises(ValueError, match=r"X contains NaN, which this pool .* stumps"):
                clf.fit(X, y)


@every_kind
def test_warm_start_goes_on_with_the_same_atoms(name, data):
    X, y, _, _ = data
    whole = classifier(6, name).fit(X, y)
    clf = classifier(3, name, warm_start=True).fit(X, y)
    clf.set_params(n_features=6).fit(X, y)
    assert np.array_equal(clf.selected_, whole.selected_)
    assert np.allclose(clf.weights_, whole.weights_)


@pytest.mark.parametrize("name", sorted(POOLS))
def test_pools_go_by_name(name, digits):
    X, y = digits[0][:400], digits[1][:400]
    by_name = ShareBoostClassifier(3, pool=name).fit(X, y)
    by_object = ShareBoostClassifier(3, pool=new_pool(name)).fit(X, y)
    assert np.array_equal(by_name.selected_, by_object.selected_)


@pytest.mark.parametrize("name", ["columns", "stumps", "stumps, exact"])
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


@every_kind
def test_rows_are_read_in_chunks_of_any_size(name, data, monkeypatch):
    X, y, _, _ = data
    # Refits that end early would end elsewhere wherever a sum is rounded otherwise.
    tight = {"refit_tol": 1e-3, "tol": 1e-6}
    whole = classifier(4, name, **tight).fit(X, y)
    monkeypatch.setattr("shareboost.pools.table.CHUNK_BYTES", 56 * X.shape[1])
    for constant in ("products.CHUNK_ROWS", "patches.CHUNK_IMAGES"):
        monkeypatch.setattr(f"shareboost.pools.{constant}", 7)
    for constant in ("templates.CHUNK_IMAGES", "templates.BATCH_IMAGES"):
        monkeypatch.setattr(f"shareboost.pools.{constant}", 5)
    monkeypatch.setattr("shareboost.pools.templates.CHUNK_TEMPLATES", 2)
    monkeypatch.setattr("shareboost.model.CHUNK_BYTES", 1000)
    pieces = classifier(4, name, **tight).fit(X, y)
    assert np.array_equal(pieces.selected_, whole.selected_)
    assert np.allclose(pieces.decision_function(X), whole.decision_function(X), atol=1e-3)


@pytest.mark.parametrize(("first", "second"), [("stumps", "pieces"), ("columns", "stumps")])
def test_a_warm_start_with_another_pool_is_refused(first, second, data):
    X, y, _, _ = data
    clf = classifier(2, first, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"the pool \(or its random state\)"):
        clf.set_params(pool=POOLS_TO_TEST[second], n_features=3).fit(X, y)


def test_the_fitted_pool_says_whether_prediction_takes_nan(data):
    X, y, _, _ = data
    clf = classifier(2, "stumps").fit(X, y).set_params(pool="columns")
    assert clf.predict(np.full((1, 64), np.nan)).shape == (1,)


@pytest.mark.parametrize(
    "pool",
    ["trees", Stumps, 3, Union([]), Union(Columns()), None],
    ids=["unknown name", "class", "number", "empty union", "union of no list", "none"],
)
def test_what_is_no_pool_is_refused_by_fit_alone(pool, data):
    X, y, _, _ = data
    clf = ShareBoostClassifier(2, pool=pool)
    assert clf.__sklearn_tags__().input_tags.allow_nan is False
    assert "ShareBoostClassifier" in clf._repr_html_()
    with pytest.raises(ValueError, match="pool"):
        clf.fit(X, y)
