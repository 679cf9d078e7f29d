"""``explain``: what each chosen feature adds to the scores of each row."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from every_pool import POOLS_TO_TEST, every_pool
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from shareboost import ShareBoostClassifier, ShareBoostCV, load_model
from shareboost.model import Model
from shareboost.outputs import contributions_of
from shareboost.pools import Columns
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

CLASSIFIERS = {
    "cv": ShareBoostCV(n_features=4, cv=3),
    "one-vs-rest": OneVsRestGreedyClassifier(6),
    "mixed norm": MixedNormClassifier(path=6),
    "jointboost": JointBoostClassifier(6),
    "without intercept": ShareBoostClassifier(4, fit_intercept=False),
}


def naive(clf, X):
    """The sums of value times weight, one row, class and atom after the other."""
    model = clf._model()
    columns = model.features.columns(clf._check_rows(X))
    columns = columns.toarray() if sp.issparse(columns) else np.asarray(columns)
    atoms = np.repeat(np.arange(model.features.ids.size), model.features.widths)
    found = np.zeros((len(columns), clf.classes_.size, model.features.ids.size))
    for i, row in enumerate(columns.astype(np.float64)):
        for q, weights in enumerate(model.weights):
            for atom, value, weight in zip(atoms, row, weights, strict=True):
                found[i, q, atom] += value * weight
    return found


def assert_adds_up(clf, X):
    """The sums and the intercept are the scores, within the bound that the docstring gives."""
    model = clf._model()
    sizes = np.abs(model.features.columns(clf._check_rows(X))) @ np.abs(model.weights.T) + np.abs(
        model.intercept
    )
    bounds = 2 * (model.features.n_columns + 2) * 2.0**-53 * sizes
    intercept = model.intercept
    if clf.classes_.size == 2:
        bounds, intercept = bounds.sum(axis=1), intercept[1] - intercept[0]
    sums = np.asarray(clf.explain(X)).sum(axis=-1) + intercept
    scores = clf.decision_function(X)
    assert sums.shape == scores.shape
    assert (np.abs(sums - scores) <= bounds).all()


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@every_pool
def test_contributions_of_every_pool_are_sums_of_value_times_weight(name, fitted_model, digits):
    clf, X = fitted_model(name), digits[0][500:540]
    found = clf.explain(X)
    assert found.shape == (40, 10, clf.selected_.size)
    np.testing.assert_allclose(found, naive(clf, X), rtol=1e-12, atol=1e-12)
    assert_adds_up(clf, X)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_explains(name, digits):
    X, y = (part[:300] for part in digits)
    clf = clone(CLASSIFIERS[name]).fit(X, y)
    np.testing.assert_allclose(clf.explain(X), naive(clf, X), rtol=1e-12, atol=1e-12)
    assert_adds_up(clf, X)


def test_a_single_column_contributes_the_rounded_product_to_the_last_bit(digits):
    X, y = (part[:300] for part in digits)
    X = X / 7
    clf = ShareBoostClassifier(8).fit(X, y)
    products = X[:, None, clf.selected_] * clf._model().weights
    assert np.array_equal(clf.explain(X), products)


def test_sums_that_no_rounding_touches_equal_the_scores_to_the_last_bit():
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, size=(30, 9)).astype(float)
    features = Columns().fit(X).features([7, 2, 4, 8])
    W, b = rng.integers(-50, 50, size=(5, 4)) / 8, rng.integers(-50, 50, size=5) / 4
    model = Model(features, W, b)
    assert np.array_equal(contributions_of(model, X).sum(axis=2) + b, model.scores(X))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("name", ["columns", "stumps", "products"])
def test_sparse_rows_are_explained_as_dense_ones(kind, name, digits):
    X, y = (part[:300] for part in digits)
    clf = ShareBoostClassifier(5, pool=POOLS_TO_TEST[name]).fit(X, y)
    found = clf.explain(kind(X))
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, clf.explain(X))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_contributions_of_any_numbers_are_float64(dtype, digits):
    X, y = (part[:300] for part in digits)
    clf = ShareBoostClassifier(5).fit(X, y)
    found = clf.explain(X.astype(dtype))
    assert found.dtype == np.float64
    assert np.array_equal(found, clf.explain(X.astype(dtype).astype(np.float64)))


def test_two_classes_have_contributions_to_their_one_score(iris):
    X, y = iris[0].to_numpy()[50:], iris[1][50:]
    clf = ShareBoostClassifier(3).fit(X, y)
    found, both = clf.explain(X), naive(clf, X)
    assert found.shape == (100, 3)
    np.testing.assert_allclose(found, both[:, 1] - both[:, 0], rtol=1e-12, atol=1e-12)
    assert_adds_up(clf, X)


def test_a_loaded_model_explains_to_the_last_bit(iris, tmp_path):
    X, y = iris
    clf = ShareBoostClassifier(3, pool="stumps").fit(X, y)
    clf.save(tmp_path / "m.json")
    pd.testing.assert_frame_equal(load_model(tmp_path / "m.json").explain(X), clf.explain(X))


def test_stumps_explain_rows_with_gaps(iris):
    X, y = iris[0].to_numpy(copy=True), iris[1]
    X[::7, 2] = np.nan
    clf = ShareBoostClassifier(4, pool="stumps").fit(X, y)
    np.testing.assert_allclose(clf.explain(X), naive(clf, X), rtol=1e-12)


# Frames


def test_a_pandas_frame_comes_back_with_its_index_and_names(iris):
    X, y = iris[0].iloc[::-2], np.array(["a", "b", "c"])[iris[1]][::-2]
    clf = ShareBoostClassifier(3).fit(X, y)
    frame = clf.explain(X)
    array = naive(clf, X)
    assert frame.columns.names == ["class", "feature"]
    for q, label in enumerate(clf.classes_):
        expected = pd.DataFrame(array[:, q], index=X.index, columns=clf.path_.names(clf.selected_))
        expected.columns.name = "feature"
        pd.testing.assert_frame_equal(frame[label], expected)


def test_a_polars_frame_comes_back_with_a_struct_for_each_class(iris):
    X, y = pl.from_pandas(iris[0]), iris[1]
    clf = ShareBoostClassifier(3).fit(X, y)
    frame = clf.explain(X)
    assert frame.columns == ["0", "1", "2"]
    for q, name in enumerate(frame.columns):
        own = frame[name].struct.unnest()
        assert own.columns == clf.path_.names(clf.selected_)
        np.testing.assert_allclose(own.to_numpy(), naive(clf, X)[:, q], rtol=1e-12)


def test_frames_of_two_classes_have_a_column_for_each_feature(iris):
    X, y = iris[0][50:], iris[1][50:]
    clf = ShareBoostClassifier(3).fit(X, y)
    for rows, kind in ((X, pd.DataFrame), (pl.from_pandas(X), pl.DataFrame)):
        frame = clf.explain(rows)
        assert isinstance(frame, kind)
        assert list(frame.columns) == clf.path_.names(clf.selected_)
        assert np.array_equal(frame.to_numpy(), clf.explain(X).to_numpy())


def test_a_feature_of_several_columns_has_one_column_under_its_own_name(iris):
    X, y = iris
    clf = ShareBoostClassifier(2, groups=["sepal", "sepal", "petal", "petal"]).fit(X, y)
    assert clf.transform(X).shape[1] == 4
    assert sorted(clf.explain(X)[0].columns) == ["petal", "sepal"]


def test_a_model_without_any_feature_explains_by_nothing(iris):
    X, y = iris
    clf = MixedNormClassifier(path=6).fit(X, y).at(0)
    assert clf.explain(X.set_axis(range(150))).shape == (150, 0)
    assert clf.explain(pl.from_pandas(X)).columns == ["0", "1", "2"]
    with pytest.warns(UserWarning, match="feature names"):
        assert clf.explain(X.to_numpy()).shape == (150, 3, 0)


# Another beginning


def test_contributions_less_those_of_a_background_are_shapley_values(iris):
    X, y = iris
    clf = ShareBoostClassifier(3).fit(X, y)
    row, chosen = X.iloc[17], clf.selected_
    found = (clf.explain(X) - clf.explain(X).mean(axis=0)).iloc[17]

    def worth(known):
        """The mean score where the features of a set are those of the row."""
        rows = X.copy()
        rows.iloc[:, list(known)] = row.iloc[list(known)].to_numpy()
        return clf.decision_function(rows).mean(axis=0)

    for j, name in zip(chosen, clf.path_.names(clf.selected_), strict=True):
        others, value = [i for i in chosen if i != j], np.zeros(3)
        for size in range(3):
            share = factorial(size) * factorial(2 - size) / factorial(3)
            for known in combinations(others, size):
                value += share * (worth((*known, j)) - worth(known))
        np.testing.assert_allclose(found.xs(name, level="feature"), value, atol=1e-10)


# What is refused


def test_rows_are_checked_as_those_of_predict(iris):
    X, y = iris
    with pytest.raises(NotFittedError):
        ShareBoostClassifier(3).explain(X)
    clf = ShareBoostClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        clf.explain(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="NaN"):
        clf.explain(X.where(X > 1))
