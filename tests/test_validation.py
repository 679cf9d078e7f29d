"""Bad input: one exception each, which names the argument, what it got and what it takes."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from shareboost import ShareBoostClassifier
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

ESTIMATORS = {
    "shareboost": ShareBoostClassifier(3),
    "one-vs-rest": OneVsRestGreedyClassifier(3),
    "mixed norm": MixedNormClassifier(path=3),
    "jointboost": JointBoostClassifier(3),
}
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def replaced(array, value):
    array = np.array(array, dtype=float)
    array[3, 1] = value
    return array


def bad_fits():
    """Return (parameters, change of X and y, pattern of the message) by name."""
    bad = [
        ("0 features", {"n_features": 0}, None, r"'n_features' .* int in the range \[1.* Got 0"),
        ("-3 features", {"n_features": -3}, None, r"'n_features' .* Got -3"),
        ("half a feature", {"n_features": 2.5}, None, r"'n_features' .* int .* Got 2\.5"),
        ("text for a number", {"n_features": "all"}, None, r"'n_features' .* Got 'all'"),
        ("unknown pool", {"pool": "trees"}, None, r"'pool' .*'columns'.* Got 'trees'"),
        ("unknown penalty", {"penalty": "l3"}, None, r"'penalty' .*'linf1'.* Got 'l3'"),
        ("unknown solver", {"solver": "adam"}, None, r"'solver' .*'lbfgs'.* Got 'adam'"),
        ("negative alpha", {"alpha": -1e-3}, None, r"'alpha' .* Got -0\.001"),
        ("zero tol", {"tol": 0.0}, None, r"'tol' .* Got 0\.0"),
        ("refit_tol above 1", {"refit_tol": 2.0}, None, r"'refit_tol' .* Got 2\.0"),
        ("no iterations", {"max_iter": 0}, None, r"'max_iter' .* Got 0"),
        ("negative margin", {"margin": -1.0}, None, r"'margin' .* Got -1\.0"),
        ("unknown class weight", {"class_weight": "even"}, None, r"'class_weight' .* Got 'even'"),
        (
            "negative class weight",
            {"class_weight": {0: -1.0, 1: 1.0, 2: 1.0, 3: 1.0}},
            None,
            r"class_weight has -1\.0 for class 0: it takes finite, non-negative",
        ),
        (
            "class weight of NaN",
            {"class_weight": {0: np.nan, 1: 1.0}},
            None,
            "class_weight has nan for class 0",
        ),
        (
            "class weight of text",
            {"class_weight": {0: "a"}},
            None,
            "class_weight has 'a' for class 0",
        ),
        (
            "class weight of another class",
            {"class_weight": {77: 1.0}},
            None,
            r"The classes, \[0, 1, 2, 3\], are not in class_weight",
        ),
        (
            "class weights of zero",
            {"class_weight": dict.fromkeys(range(4), 0.0)},
            None,
            "class_weight=.* is zero for every row",
        ),
        ("one class", {}, lambda X, y: (X, np.full(len(y), 7)), r"y has only one class, 7"),
        ("one text", {}, lambda X, y: (X, ["a"] * len(y)), "y has only one class, 'a'"),
        (
            "one object",
            {},
            lambda X, y: (X, np.full(len(y), "a", dtype=object)),
            "y has only one class, 'a'",
        ),
        ("NaN", {}, lambda X, y: (replaced(X, np.nan), y), "Input X contains NaN"),
        ("infinity", {}, lambda X, y: (replaced(X, np.inf), y), "Input X contains infinity"),
        (
            "sparse NaN",
            {},
            lambda X, y: (sp.csr_array(replaced(X, np.nan)), y),
            "Input X contains NaN",
        ),
        ("NaN in y", {}, lambda X, y: (X, np.where(y == 1, np.nan, y)), "Input y contains NaN"),
        (
            "X of one dimension",
            {},
            lambda X, y: (X[:, 0], y),
            "X is not valid: Expected 2D array, got 1D",
        ),
        (
            "X of three dimensions",
            {},
            lambda X, y: (X[None], y),
            "X is not valid: Found array with dim 3, while dim <= 2",
        ),
        (
            "y of other length",
            {},
            lambda X, y: (X, y[:-1]),
            "X and y differ in length.* \\[150, 149\\].* a label a row",
        ),
        ("y of two columns", {}, lambda X, y: (X, np.c_[y, y]), "y should be a 1d array"),
        (
            "no rows",
            {},
            lambda X, y: (X[:0], y[:0]),
            r"X is not valid.* 0 sample\(s\).* minimum of 1",
        ),
        (
            "no columns",
            {},
            lambda X, y: (X[:, :0], y),
            r"X is not valid.* 0 feature\(s\).* minimum of 1",
        ),
        ("no y", {}, lambda X, y: (X, None), "requires y"),
        (
            "continuous y",
            {},
            lambda X, y: (X, y + 0.5),
            "y is not valid: Unknown label type: continuous",
        ),
        (
            "labels of mixed types",
            {},
            lambda X, y: (X, ["a" if q == 1 else int(q) for q in y]),
            "y mixes text and numbers, 'a' and \\d among them: it takes",
        ),
        (
            "mixed labels in an object array",
            {},
            lambda X, y: (X, np.array(["a" if q == 1 else int(q) for q in y], dtype=object)),
            "y mixes text and numbers, 'a' and \\d among them: it takes",
        ),
        (
            "mixed labels in a series",
            {},
            lambda X, y: (X, pd.Series(["a" if q == 1 else int(q) for q in y])),
            "y mixes text and numbers, 'a' and \\d among them: it takes",
        ),
        (
            "labels that are missing",
            {},
            lambda X, y: (X, np.array([None if q == 1 else "b" for q in y], dtype=object)),
            "y has missing labels",
        ),
        (
            "text labels with NaN",
            {},
            lambda X, y: (X, ["b" if q == 1 else float("nan") for q in y]),
            "y has missing labels",
        ),
        ("text in X", {}, lambda X, y: (np.full(X.shape, "a"), y), "X is not valid"),
        ("complex X", {}, lambda X, y: (X * 1j, y), "Complex data not supported"),
        (
            "column names of mixed types",
            {},
            lambda X, y: (pd.DataFrame(X, columns=["a", *range(11)]), y),
            "Feature names are only supported",
        ),
    ]
    return {name: case for name, *case in bad}


def refused(clf, X, y, parameters, change, message):
    """Fit as told: it is refused, and the classifier stays as it was."""
    before = clf.__dict__.copy()
    if change:
        X, y = change(X, y)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        clf.set_params(**parameters).fit(X, y)
    clf.set_params(**{name: before[name] for name in parameters})
    assert pickle.dumps(clf.__dict__) == pickle.dumps(before)


@pytest.mark.parametrize("bad", bad_fits().values(), ids=bad_fits())
def test_a_bad_fit_is_refused_and_leaves_the_earlier_fit(problem, bad):
    X, y = problem
    clf = ShareBoostClassifier(3).fit(pd.DataFrame(X).rename(columns="c{}".format), y)
    refused(clf, X, y, *bad)


@every_estimator
def test_every_estimator_refuses_the_same_rows_labels_and_class_weights(problem, estimator):
    X, y = problem
    clf = clone(estimator).fit(pd.DataFrame(X).rename(columns="c{}".format), y)
    for parameters, change, message in bad_fits().values():
        takes_nan = isinstance(clf, JointBoostClassifier) and "NaN" in message
        if set(parameters) <= {"class_weight"} and not takes_nan:
            refused(clf, X, y, parameters, change, message)


@every_estimator
def test_bad_weights_are_refused(problem, estimator):
    X, y = problem
    for weight, message in [
        (lambda n: np.r_[-0.5, np.ones(n - 1)], r"sample_weight has negative values.* -0\.5"),
        (np.zeros, "sample_weight is zero for every row"),
        (lambda n: np.r_[np.nan, np.ones(n - 1)], "sample_weight contains NaN"),
        (lambda n: np.r_[np.inf, np.ones(n - 1)], "sample_weight contains infinity"),
        (lambda n: ["a"] * n, "sample_weight takes a number for every row"),
        (lambda n: np.ones(n - 1), r"sample_weight\.shape == \(149,\), expected \(150,\)"),
        (lambda n: np.ones((n, 2)), "[Ss]ample.weight.* 1D"),
        (lambda n: np.r_[1.0, np.zeros(n - 1)], "y has only one class of positive weight"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(X, y, sample_weight=weight(len(y)))


@every_estimator
def test_a_class_without_weight_is_never_predicted(problem, estimator):
    X, y = problem
    clf = clone(estimator).fit(X, y, sample_weight=(y != 2).astype(float))
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    assert 2 not in clf.predict(X)
    assert np.isfinite(clf.intercept_).all()


@every_estimator
def test_rows_at_prediction_must_match_those_of_the_fit(problem, estimator):
    X, y = problem
    clf = clone(estimator).fit(X, y)
    with pytest.raises(ValueError, match="X has 11 features, .* expecting 12"):
        clf.predict(X[:, 1:])
    with pytest.raises(ValueError, match="Input X contains infinity"):
        clf.predict(replaced(X, np.inf))
    if not isinstance(clf, JointBoostClassifier):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            clf.predict(replaced(X, np.nan))


@pytest.mark.filterwarnings("error")
def test_n_features_is_a_maximum(problem):
    X, y = problem
    clf = ShareBoostClassifier(500).fit(X, y)
    assert len(clf.selected_) == 12
    assert "exhausted" in clf.path_.stop_reason


@every_estimator
def test_labels_of_one_type_are_fine(problem, estimator):
    X, y = problem
    for labels in (["a", "b"], [True, False], [-1, 5], [0.0, 2.0], ["b", "ä"]):
        clf = clone(estimator).fit(X, [labels[q % 2] for q in y])
        assert sorted(clf.classes_) == sorted(labels)
