"""A fitted classifier as a selector, and what each column of X is worth to it."""

import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import POOLS_TO_TEST, classifier, some_digits
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel

from shareboost import ShareBoostClassifier, load_model
from shareboost.pools import Columns, Stumps, Templates, Union
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

X, Y, _, _ = some_digits()
VARYING = X + np.random.default_rng(0).normal(scale=0.1, size=X.shape)
SELECTORS = {
    "columns": ShareBoostClassifier(6),
    "groups": ShareBoostClassifier(2, groups=np.arange(X.shape[1]) % 9),
    "one-vs-rest": OneVsRestGreedyClassifier(6),
    "mixed norm": MixedNormClassifier(n_features=6),
}


@pytest.mark.parametrize("clf", SELECTORS.values(), ids=SELECTORS)
def test_it_selects_as_scikit_learns_selectors_do(clf):
    X = VARYING
    clf = clone(clf).fit(X, Y)
    support = clf.get_support()
    peer = SelectFromModel(clf, prefit=True, threshold=1e-300).fit(X)
    assert np.array_equal(support, peer.get_support())
    assert np.array_equal(clf.get_support(indices=True), peer.get_support(indices=True))
    assert np.array_equal(clf.transform(X), X[:, support])
    assert np.array_equal(clf.get_feature_names_out(), peer.get_feature_names_out())
    back = clf.inverse_transform(clf.transform(X))
    assert np.array_equal(back, np.where(support, X, 0.0))
    sparse = clf.inverse_transform(clf.transform(sp.csr_array(X)))
    assert np.array_equal(sparse.toarray(), back)
    assert sorted(clf.get_support(indices=True)) == clf.columns_.tolist()


def test_the_order_chosen_is_that_of_selected_and_of_the_weights():
    clf = ShareBoostClassifier(6).fit(X, Y)
    assert (np.diff(clf.selected_) < 0).any()
    assert np.allclose(clf.coef_[:, clf.selected_], clf.weights_)
    assert clf.path_.names(clf.selected_) == [f"x{j}" for j in clf.selected_]
    stumps = ShareBoostClassifier(6, pool="stumps").fit(X, Y)
    assert stumps.get_feature_names_out().tolist() == stumps.path_.names(stumps.selected_)


def test_a_column_that_two_pools_chose_is_selected_once():
    pool, owned = Union([Columns(), Columns("none")]), [20, X.shape[1] + 20]
    clf = ShareBoostClassifier(4, pool=pool, include=owned, alpha=1e-3).fit(X, Y)
    assert clf.columns_.size == 3
    assert np.array_equal(clf.transform(X), X[:, clf.get_support()])
    assert np.allclose(X @ clf.coef_.T + clf.intercept_, clf.decision_function(X))


@pytest.mark.parametrize(
    "clf", [ShareBoostClassifier(3, pool="stumps"), JointBoostClassifier(3)], ids=["stumps", "jb"]
)
def test_other_features_select_no_columns_and_say_what_they_read(clf):
    with pytest.raises(NotFittedError):
        clf.get_support()
    clf.fit(X, Y)
    for name in ("get_support", "inverse_transform"):
        assert not hasattr(clf, name)
        with pytest.raises(AttributeError) as error:
            getattr(clf, name)
        assert "columns_ tells the columns that they read" in str(error.value.__cause__)


def test_importances_of_columns_are_their_scaled_weights():
    clf = ShareBoostClassifier(6).fit(X, Y)
    weights = clf.coef_ * X.std(axis=0)
    truth = np.abs(weights - weights.mean(axis=0)).sum(axis=0)
    assert np.allclose(clf.feature_importances_, truth / truth.sum(), rtol=1e-6)


def naive_importances(clf, d):
    """Atom by atom: the size of its weights goes in equal parts to the columns that it reads."""
    scales = clf.path_.scales[clf.path_.places(clf.selected_)[1]]
    weights = np.abs((clf.weights_ - clf.weights_.mean(axis=0)) * scales).sum(axis=0)
    features, found = clf._model().features, np.zeros(d)
    stops = np.cumsum(features.widths)
    for atom, stop in enumerate(stops):
        reads = features.take(np.array([atom])).reads(d)
        own = np.arange(d) if reads is None else reads.indices
        size = weights[stop - features.widths[atom] : stop]
        if size.size > own.size:  # a piece: a slope for each column, and a level
            own, size = np.arange(d), size[:-1] + size[-1] / d
        found[own] += size if size.size == own.size else size / own.size
    return found / found.sum()


@pytest.mark.parametrize("name", POOLS_TO_TEST)
def test_importances_of_any_pool_sum_to_one_and_are_zero_where_nothing_is_read(name, tmp_path):
    clf = classifier(4, name).fit(X, Y)
    found = clf.feature_importances_
    assert found.shape == (X.shape[1],)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= 0.0
    assert not found[np.delete(np.arange(X.shape[1]), clf.columns_)].any()
    if "templates" not in name:
        assert np.allclose(found, naive_importances(clf, X.shape[1]))
    clf.save(tmp_path / "model.json")
    assert np.array_equal(load_model(tmp_path / "model.json").feature_importances_, found)


def test_a_template_counts_for_the_pixels_that_it_can_look_at():
    clf = ShareBoostClassifier(1, pool=Templates(20, random_state=0)).fit(X, Y)
    features = clf._model().features
    share = np.zeros(features.image_shape)
    template, down, across = features.templates[0], features.down[0], features.across[0]
    height, width, _ = template.shape
    for y, of_row in enumerate(down.astype(float)):
        for x, of_column in enumerate(across.astype(float)):
            share[y : y + height, x : x + width] += of_row * of_column * np.abs(template)
    assert np.allclose(clf.feature_importances_, share.ravel() / share.sum())


def test_importances_of_a_model_without_features_are_zero():
    for clf in (ShareBoostClassifier(3), ShareBoostClassifier(3, pool="stumps")):
        assert clf.fit(X, Y).at(0).feature_importances_.tolist() == [0.0] * X.shape[1]


def test_rivals_have_importances():
    for clf in (JointBoostClassifier(5), OneVsRestGreedyClassifier(3, pool=Stumps(8))):
        found = clf.fit(X, Y).feature_importances_
        assert found.sum() == pytest.approx(1.0)
        assert np.array_equal(np.flatnonzero(found), clf.columns_)
