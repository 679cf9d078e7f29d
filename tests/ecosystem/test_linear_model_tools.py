"""Tools that read ``coef_``, ``intercept_`` and ``feature_importances_`` find what they expect."""

import numpy as np
import pytest
import shap
from sklearn.base import clone
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.inspection import PartialDependenceDisplay, permutation_importance

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.pools import Columns, Stumps, Union
from shareboost.rivals import (
    JointBoostClassifier,
    MixedNormClassifier,
    OneVsRestGreedyClassifier,
)

SIGNAL = [35, 36, 37, 38, 39]


@pytest.fixture(scope="module")
def signal():
    """Four classes that the last five of 40 columns tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    return X, (X[:, SIGNAL] @ rng.normal(size=(5, 4))).argmax(axis=1)


LINEAR = {
    "columns": ShareBoostClassifier(8),
    "groups": ShareBoostClassifier(3, groups=np.arange(40) // 4),
    "a union of columns": ShareBoostClassifier(8, pool=Union([Columns(), Columns("maxabs")])),
    "one-vs-rest": OneVsRestGreedyClassifier(8),
    "mixed norm": MixedNormClassifier(alpha=0.02),
}
linear = pytest.mark.parametrize("clf", LINEAR.values(), ids=LINEAR)


@linear
@pytest.mark.parametrize("n_classes", [2, 4])
def test_coef_and_intercept_make_the_decision_function(clf, n_classes, signal):
    X, y = signal
    clf = clone(clf).fit(X, y % n_classes)
    rows = 1 if n_classes == 2 else n_classes
    assert clf.coef_.shape == (rows, 40)
    assert clf.intercept_.shape == (rows,)
    decision = X @ clf.coef_.T + clf.intercept_
    assert np.allclose(decision if rows > 1 else decision[:, 0], clf.decision_function(X))
    assert clf.weights_.shape == (n_classes, clf.transform(X).shape[1])
    unread = np.delete(np.arange(40), clf.columns_)
    assert not clf.coef_[:, unread].any()


@pytest.mark.parametrize(
    "clf",
    [
        ShareBoostClassifier(4, pool="stumps"),
        ShareBoostClassifier(4, pool="products"),
        ShareBoostClassifier(2, pool="pieces"),
        ShareBoostClassifier(4, pool=Union([Columns(), Stumps()])),
        JointBoostClassifier(4),
    ],
    ids=["stumps", "products", "pieces", "union", "jointboost"],
)
def test_other_features_have_no_coef_and_say_where_their_weights_are(clf, signal):
    X, y = signal
    assert not hasattr(clf, "coef_")
    clf.fit(X, y)
    assert not hasattr(clf, "coef_")
    with pytest.raises(AttributeError, match="coef_ is only available when .*: weights_ has"):
        clf.coef_  # noqa: B018
    assert clf.intercept_.shape == (4,)


@pytest.mark.parametrize("pool", ["columns", "stumps", "pieces"])
def test_rfe_keeps_the_columns_that_carry_the_signal(pool, signal):
    rfe = RFE(ShareBoostClassifier(8, pool=pool), n_features_to_select=8).fit(*signal)
    assert set(SIGNAL) <= set(rfe.get_support(indices=True))
    assert rfe.score(*signal) > 0.75


def test_rfecv_keeps_the_columns_that_carry_the_signal(signal):
    rfe = RFECV(ShareBoostClassifier(8), step=4, cv=3).fit(*signal)
    assert set(SIGNAL) <= set(rfe.get_support(indices=True))


@pytest.mark.parametrize("pool", ["columns", "stumps", "pieces"])
def test_select_from_model_takes_the_heaviest_columns(pool, signal):
    X, y = signal
    selector = SelectFromModel(ShareBoostClassifier(12, pool=pool), max_features=5).fit(X, y)
    assert selector.transform(X).shape == (400, selector.get_support().sum())
    assert set(selector.get_support(indices=True)) == set(SIGNAL)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("explainer", [shap.LinearExplainer, shap.Explainer])
def test_shap_finds_a_linear_model(explainer, n_classes, signal):
    X, y = signal
    clf = ShareBoostClassifier(8).fit(X, y % n_classes)
    explained = explainer(clf, shap.maskers.Independent(X, max_samples=400))(X[:20])
    values, base = explained.values, explained.base_values
    expected = (X[:20] - X.mean(axis=0))[..., None] * clf.coef_.T
    assert np.allclose(values, expected if n_classes > 2 else expected[..., 0])
    assert np.allclose(values.sum(axis=1) + base, clf.decision_function(X[:20]))
    plain = explainer(clf, X)
    assert plain(X[:3]).values.shape[:2] == (3, 40)


EVERY_KIND = {
    "one-vs-rest": OneVsRestGreedyClassifier(8),
    "mixed norm": MixedNormClassifier(n_features=12),
    "jointboost": JointBoostClassifier(30),
    "cross-validated": ShareBoostCV(ShareBoostClassifier(8), cv=2),
}


@pytest.mark.parametrize("clf", EVERY_KIND.values(), ids=EVERY_KIND)
def test_selectors_and_permutations_find_the_signal_by_every_classifier(clf, signal):
    X, y = signal
    chosen = [
        RFE(clone(clf), n_features_to_select=8, step=16).fit(X, y).get_support(indices=True),
        SelectFromModel(clone(clf), max_features=8).fit(X, y).get_support(indices=True),
    ]
    assert all(set(SIGNAL) <= set(columns) for columns in chosen)
    clf = clone(clf).fit(X, y)
    found = permutation_importance(clf, X, y, n_repeats=2, random_state=0).importances_mean
    assert set(np.argsort(found)[-5:]) == set(SIGNAL)
    if hasattr(clf, "coef_"):
        values = shap.LinearExplainer(clf, shap.maskers.Independent(X, max_samples=400))(X[:9])
        sums = values.values.sum(axis=1) + values.base_values
        assert np.allclose(sums, clf.decision_function(X[:9]))


def test_inspection_finds_the_columns_that_are_read(signal):
    X, y = signal
    clf = ShareBoostClassifier(8).fit(X, y)
    found = permutation_importance(clf, X, y, n_repeats=2, random_state=0)
    assert set(np.flatnonzero(found.importances_mean)) <= set(clf.columns_)
    assert set(np.argsort(found.importances_mean)[-5:]) == set(SIGNAL)
    display = PartialDependenceDisplay.from_estimator(
        clf, X, [39], target=0, response_method="decision_function"
    )
    (result,) = display.pd_results
    slopes = np.gradient(result["average"][0], result["grid_values"][0])
    assert np.allclose(slopes, clf.coef_[0, 39])
