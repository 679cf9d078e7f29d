import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.inspection.comparison import ErrorCurve, error_curve
from shareboost.pools import Pieces
from shareboost.rivals import (
    JointBoostClassifier,
    MixedNormClassifier,
    OneVsRestGreedyClassifier,
)

CLASSIFIERS = {
    "shareboost": ShareBoostClassifier(6),
    "swaps": ShareBoostClassifier(6, swap=True),
    "cross-validation": ShareBoostCV(n_features=6, cv=2),
    "one-vs-rest": OneVsRestGreedyClassifier(6),
    "mixed norm": MixedNormClassifier(path=10),
    "mixed norm, refit": MixedNormClassifier("l21", path=10, refit=True),
    "jointboost": JointBoostClassifier(6),
    "products": OneVsRestGreedyClassifier(6, pool="products"),
    "pieces": ShareBoostClassifier(3, pool=Pieces(6, 3), alpha=1e-3),
}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_curve_is_that_of_the_models_of_the_path(name, wine):
    X, y, X_test, y_test = wine
    clf = CLASSIFIERS[name].fit(X, y)
    weighted = list(CLASSIFIERS).index(name) % 2
    weight = np.random.default_rng(0).uniform(0, 9, size=len(y_test)) if weighted else None
    curve = error_curve(clf, X_test, y_test, weight)
    models = [clf.path_.model(step) for step in clf.path_]
    assert len(models) == len(curve.errors) == len(curve.n_columns)
    for place, model in enumerate(models):
        wrong = clf.classes_[model.scores(X_test).argmax(axis=1)] != y_test
        assert curve.errors[place] == pytest.approx(np.average(wrong, weights=weight), abs=1e-12)
        assert curve.n_features[place] == len(model.features.ids)
        reads = model.features.reads(13)
        if reads is not None:
            assert curve.n_columns[place] == (reads.sum(axis=0) > 0).sum()
    assert curve.errors[-1] == pytest.approx(1 - clf.score(X_test, y_test, weight))
    assert curve.n_columns[-1] == len(clf.columns_)
    assert np.allclose(curve.fractions * clf.path_.n_atoms, curve.n_features)


def test_a_model_of_no_feature_reads_no_column(wine):
    X, y, X_test, y_test = wine
    clf = OneVsRestGreedyClassifier(2, pool=Pieces(6, 3), alpha=1e-3).fit(X, y)
    curve = error_curve(clf, X_test, y_test)
    assert curve.n_features[0] == curve.n_columns[0] == 0
    assert curve.n_columns[-1] == 13


def test_features_needed_are_the_fewest_of_any_good_model():
    curve = ErrorCurve(
        np.array([0, 3, 2, 4]), np.zeros(4), np.array([0, 1, 2, 2]), np.array([0.9, 0.2, 0.1, 0.2])
    )
    assert curve.features_needed(0.2) == 2
    assert curve.features_needed(0.95) == 0
    assert curve.features_needed(0.05) is None


@pytest.mark.parametrize("error", [20, -0.1, np.nan, "0.1", None])
def test_an_error_that_is_no_share_is_refused(error):
    curve = ErrorCurve(np.ones(1, int), np.ones(1), np.ones(1, int), np.ones(1))
    with pytest.raises(ValueError, match="error=.* is not valid: it takes a share of rows"):
        curve.features_needed(error)


def test_frames_and_sparse_rows_are_taken(wine):
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = ShareBoostClassifier(3).fit(X, y)
    errors = error_curve(clf, X, y, sample_weight=y + 1).errors
    plain = ShareBoostClassifier(3).fit(X.to_numpy(), y.to_numpy())
    rows = sp.csr_array(X.to_numpy())
    assert np.array_equal(error_curve(plain, rows, list(y), sample_weight=y + 1).errors, errors)


def test_unknown_labels_are_errors(wine):
    X, y, X_test, y_test = wine
    clf = ShareBoostClassifier(4).fit(X, y)
    other = np.where(y_test == "b", "some other", y_test)
    known = error_curve(clf, X_test, y_test, sample_weight=(y_test != "b") * 1.0).errors
    share = (y_test == "b").mean()
    assert np.allclose(error_curve(clf, X_test, other).errors, share + (1 - share) * known)


def test_bad_input_is_named(wine):
    X, y, X_test, y_test = wine
    clf = ShareBoostClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[89, 3\]"):
        error_curve(clf, X_test, y_test[:3])
    with pytest.raises(ValueError, match="y has missing labels"):
        error_curve(clf, X_test, [None, *y_test[1:]])
    with pytest.raises(ValueError, match="y should be a 1d array"):
        error_curve(clf, X_test, np.tile(y_test[:, None], 2))
    with pytest.raises(ValueError, match="sample_weight"):
        error_curve(clf, X_test, y_test, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        error_curve(clf, X_test, y_test, sample_weight=np.zeros(len(y_test)))
    with pytest.raises(ValueError, match="X has 5 features"):
        error_curve(clf, X_test[:, :5], y_test)
    with pytest.raises(NotFittedError):
        error_curve(OneVsRestGreedyClassifier(), X_test, y_test)


def test_only_what_has_a_path_has_a_curve(wine):
    X, y, X_test, y_test = wine
    pipeline = make_pipeline(StandardScaler(), ShareBoostClassifier(2)).fit(X, y)
    for clf in (LogisticRegression(), pipeline, None):
        with pytest.raises(TypeError, match=f"clf is a {type(clf).__name__}, which has no path"):
            error_curve(clf, X_test, y_test)


def test_without_candidates_fractions_are_zero():
    y = np.arange(6) % 2
    curve = error_curve(JointBoostClassifier().fit(np.ones((6, 2)), y), np.ones((6, 2)), y)
    assert curve.fractions.tolist() == [0.0]
    assert curve.n_columns.tolist() == [0]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (3, [0, 1], "Expected sequence or array-like"),
        (np.ones((2, 13)), [0.0, np.nan], "y has missing labels"),
        (np.ones((2, 13)), [None, "a"], "y has missing labels"),
        (np.ones((2, 13)), [0, 1], r"none of the classifier's classes, \['a', 'b', 'c'\]"),
    ],
)
def test_rows_and_labels_are_named_where_they_are_wrong(wine, X, y, message):
    clf = ShareBoostClassifier(2).fit(*wine[:2])
    with pytest.raises((TypeError, ValueError), match=message):
        error_curve(clf, X, y)
