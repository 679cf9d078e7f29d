"""Scikit-learn's tools of inspection and selection see the features that carry the signal."""

import numpy as np
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    PartialDependenceDisplay,
    permutation_importance,
)

from shareboost import ShareBoostClassifier


def test_a_sequential_search_finds_the_signal(named):
    frame, y = named
    selector = SequentialFeatureSelector(ShareBoostClassifier(2), n_features_to_select=2, cv=2)
    selector.fit(frame, y)
    assert selector.get_feature_names_out().tolist() == ["c", "f"]


def test_permutation_finds_what_the_classifier_reads(named):
    frame, y = named
    clf = ShareBoostClassifier(2).fit(frame, y)
    found = permutation_importance(clf, frame, y, n_repeats=3, random_state=0)
    assert (found.importances[[2, 5]] > 0.2).all()
    assert not found.importances[[0, 1, 3, 4, 6, 7]].any()


def test_partial_dependence_is_the_mean_over_rows(named):
    frame, y = named
    clf = ShareBoostClassifier(2).fit(frame, y)
    display = PartialDependenceDisplay.from_estimator(
        clf, frame, ["f", "a"], target="cat", grid_resolution=5, ax=Figure().subplots()
    )
    read, unread = display.pd_results
    by_hand = [clf.predict_proba(frame.assign(f=x))[:, 2].mean() for x in read["grid_values"][0]]
    assert_allclose(read["average"][2], by_hand)
    assert np.ptp(by_hand) > 0.5
    assert_allclose(unread["average"], unread["average"][:, :1].repeat(5, axis=1))


def test_the_decision_boundary_is_that_of_predictions(shifted):
    X, y = shifted[0][:, [2, 5]], shifted[1]
    clf = ShareBoostClassifier(2).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(
        clf, X, response_method="predict", grid_resolution=20, ax=Figure().subplots()
    )
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert np.array_equal(clf.classes_[display.response.ravel()], clf.predict(grid))
    assert np.unique(display.response).size == 3
