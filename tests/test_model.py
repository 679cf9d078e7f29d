import pickle

import numpy as np

from shareboost import ShareBoostClassifier


def test_scores_are_the_chosen_columns_times_coef(digits):
    X, y = digits
    clf = ShareBoostClassifier(8).fit(X, y)
    assert clf.coef_.shape == (10, 8)
    assert clf.intercept_.shape == (10,)
    scores = X[:, clf.selected_] @ clf.coef_.T + clf.intercept_
    assert np.allclose(clf.decision_function(X), scores)
    assert np.allclose(clf.transform(X) @ clf.coef_.T + clf.intercept_, scores)
    assert np.array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])
    probability = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert np.allclose(clf.predict_proba(X), probability)
    assert np.allclose(np.exp(clf.predict_log_proba(X)), probability)


def test_coef_speaks_of_the_users_units(digits):
    X, y = digits
    units = np.random.default_rng(0).uniform(0.01, 100, size=64)
    shift = np.random.default_rng(1).normal(size=64) * units
    plain = ShareBoostClassifier(6).fit(X, y)
    other = ShareBoostClassifier(6).fit(X * units + shift, y)
    assert np.array_equal(plain.selected_, other.selected_)
    assert np.allclose(plain.coef_, other.coef_ * units[other.selected_], rtol=1e-4, atol=1e-6)
    decision = other.decision_function(X * units + shift)
    assert np.allclose(plain.decision_function(X), decision, atol=1e-5)


def test_the_model_keeps_no_training_data(digits):
    X, y = np.tile(digits[0], (20, 1)), np.tile(digits[1], 20)
    clf = ShareBoostClassifier(5).fit(X, y)
    assert len(pickle.dumps(clf)) < 20_000
