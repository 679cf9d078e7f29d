"""Scikit-learn's meta-classifiers give what they give when computed by hand."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier

from shareboost import ShareBoostClassifier
from shareboost.rivals import JointBoostClassifier


def test_calibration_maps_the_decision_function(two_classes):
    X, y = two_classes
    clf = ShareBoostClassifier(1, margin=1.0).fit(X[:80], y[:80])
    calibrated = CalibratedClassifierCV(FrozenEstimator(clf), method="isotonic")
    calibrated.fit(X[80:160], y[80:160])
    by_hand = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    by_hand.fit(clf.decision_function(X[80:160]), y[80:160])
    expected = by_hand.predict(clf.decision_function(X[160:]))
    assert np.ptp(expected) > 0.1
    assert_allclose(calibrated.predict_proba(X[160:])[:, 1], expected)


def test_calibration_of_many_classes_keeps_the_answers(shifted):
    X, y = shifted
    calibrated = CalibratedClassifierCV(ShareBoostClassifier(2), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.85
    assert {tuple(sorted(c.estimator.selected_)) for c in calibrated.calibrated_classifiers_} == {
        (2, 5)
    }


def test_voting_averages_probabilities(shifted):
    X, y = shifted
    voters = [("few", ShareBoostClassifier(2)), ("cut", JointBoostClassifier(4, max_bins=8))]
    voting = VotingClassifier(voters, voting="soft", weights=[3, 1]).fit(X, y)
    expected = np.average([v.fit(X, y).predict_proba(X) for _, v in voters], axis=0, weights=[3, 1])
    assert_allclose(voting.predict_proba(X), expected)
    assert voting.score(X, y) == np.mean(voting.classes_[expected.argmax(axis=1)] == y)
    voting.set_params(few__n_features=1).fit(X, y)
    assert voting.named_estimators_["few"].selected_.size == 1


def test_stacking_trains_on_probabilities(shifted):
    X, y = shifted
    fitted = [(str(t), ShareBoostClassifier(t).fit(X, y)) for t in (1, 2)]
    stacked = StackingClassifier(fitted, LogisticRegression(), cv="prefit").fit(X, y)
    probabilities = np.hstack([clf.predict_proba(X) for _, clf in fitted])
    assert_allclose(stacked.transform(X), probabilities)
    by_hand = LogisticRegression().fit(probabilities, y)
    assert_allclose(stacked.predict_proba(X), by_hand.predict_proba(probabilities))


def test_bagging_averages_classifiers_of_some_rows_and_columns(shifted):
    X, y = shifted
    bagging = BaggingClassifier(ShareBoostClassifier(2), 6, max_features=5, random_state=0)
    bagging.fit(X, y)
    members = list(
        zip(
            bagging.estimators_,
            bagging.estimators_samples_,
            bagging.estimators_features_,
            strict=True,
        )
    )
    expected = np.mean([clf.predict_proba(X[:, own]) for clf, _, own in members], axis=0)
    assert_allclose(bagging.predict_proba(X), expected)
    for clf, rows, columns in members:
        counts = np.bincount(rows, minlength=len(y))
        _, index = np.unique(y, return_inverse=True)
        again = ShareBoostClassifier(2).fit(X[:, columns], index, sample_weight=counts)
        assert_allclose(clf.predict_proba(X[:, columns]), again.predict_proba(X[:, columns]))


def test_one_against_the_rest_is_one_classifier_for_each_class(shifted):
    X, y = shifted
    wrapped = OneVsRestClassifier(ShareBoostClassifier(2)).fit(X, y)
    alone = [ShareBoostClassifier(2).fit(X, (y == label).astype(int)) for label in wrapped.classes_]
    expected = np.column_stack([clf.decision_function(X) for clf in alone])
    assert_allclose(wrapped.decision_function(X), expected)
    assert np.array_equal(wrapped.predict(X), wrapped.classes_[expected.argmax(axis=1)])
    assert wrapped.score(X, y) > 0.9


def test_the_tuned_threshold_is_the_best_one(two_classes):
    X, y = two_classes
    clf = ShareBoostClassifier(1).fit(X[:120], y[:120])
    tuned = TunedThresholdClassifierCV(clf, cv="prefit", refit=False, thresholds=50)
    tuned.fit(X[120:], y[120:])
    proba = clf.predict_proba(X[120:])[:, 1]
    scores = [
        balanced_accuracy_score(y[120:], proba >= threshold)
        for threshold in np.linspace(proba.min(), proba.max(), 50)
    ]
    assert_allclose(tuned.best_score_, max(scores))
    assert tuned.best_score_ > balanced_accuracy_score(y[120:], clf.predict(X[120:]))
    assert np.array_equal(tuned.predict(X), clf.predict_proba(X)[:, 1] >= tuned.best_threshold_)
