"""Held-out rows: the scores of every round, when to stop, and which round is returned."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason


def noisy(seed=0, n=200, d=60, k=3):
    """Few columns that tell and many that do not, so that a long run overfits."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, :3] @ rng.normal(size=(3, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)
    return X, y


def test_every_round_is_scored_on_the_evaluation_set(digits):
    X, Z, y, u = train_test_split(*digits, random_state=0)
    clf = ShareBoostClassifier(12).fit(X, y, eval_set=(Z, u))
    truth = [np.mean(guess == u) for guess in clf.staged_predict(Z)]
    assert np.allclose(clf.path_.validation_scores, truth)
    assert "validation" in clf.path_.to_frame()
    assert clf.selected_.size == 12
    plain = ShareBoostClassifier(12).fit(X, y)
    assert np.array_equal(plain.weights_, clf.weights_)
    assert np.isnan(plain.path_.validation_scores).all()


def test_weights_of_the_evaluation_set_count(digits):
    X, Z, y, u = train_test_split(*digits, random_state=0)
    weight = np.random.default_rng(0).uniform(0, 2, size=len(u))
    clf = ShareBoostClassifier(4).fit(X, y, eval_set=(Z, u, weight))
    truth = [np.average(guess == u, weights=weight) for guess in clf.staged_predict(Z)]
    assert np.allclose(clf.path_.validation_scores, truth)


@pytest.mark.parametrize("swap", [False, True])
def test_the_best_round_is_returned_and_all_are_kept(swap):
    X, y = noisy()
    Z, u = noisy(1)
    clf = ShareBoostClassifier(40, n_iter_no_change=5, swap=swap).fit(X, y, eval_set=(Z, u))
    scores = clf.path_.validation_scores
    best = int(np.argmax(scores)) + 1
    assert clf.path_.stop_reason == StopReason.NOT_BETTER
    assert len(clf.path_) == best + 5 < 40
    assert clf.selected_.size == best == clf.path_.best
    assert clf.score(Z, u) == pytest.approx(scores.max())
    assert np.array_equal(clf.weights_, clf.at(best).weights_)
    assert np.array_equal(clf.transform(X), X[:, clf.get_support()])
    assert len(list(clf.staged_predict(Z))) == len(clf.path_)


def test_the_fewest_features_of_equal_scores_are_returned(problem):
    X, y = problem
    clf = ShareBoostClassifier(8, n_iter_no_change=8).fit(X, y, eval_set=(X[:1], y[:1]))
    assert clf.selected_.size == int(np.argmax(clf.path_.validation_scores)) + 1


def test_a_run_that_gets_better_to_the_end_is_not_stopped(digits):
    X, Z, y, u = train_test_split(*digits, random_state=0)
    clf = ShareBoostClassifier(6, n_iter_no_change=3).fit(X, y, eval_set=(Z, u))
    assert clf.path_.stop_reason == StopReason.N_FEATURES
    assert clf.selected_.size == 6
    assert clf.path_.step(6) is clf.path_.rounds[-1]  # as it was scored, and refit no further
    assert clf.score(Z, u) == pytest.approx(clf.path_.validation_scores[-1])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_fraction_of_every_class_is_held_out(digits, make):
    X, y = digits
    order = np.argsort(y, kind="stable")
    clf = ShareBoostClassifier(5, validation_fraction=0.25, random_state=0)
    clf.fit(make(X[order]), y[order])
    rows, held_out = train_test_split(
        np.arange(len(y)), test_size=0.25, stratify=y[order], random_state=0
    )
    rows = np.sort(rows)
    plain = ShareBoostClassifier(5).fit(make(X[order][rows]), y[order][rows])
    assert np.array_equal(plain.weights_, clf.weights_)
    right = clf.predict(make(X[order][held_out])) == y[order][held_out]
    assert clf.path_.validation_scores[-1] == pytest.approx(right.mean())


def test_patience_alone_holds_out_a_tenth(digits):
    clf = ShareBoostClassifier(3, n_iter_no_change=2, random_state=0).fit(*digits)
    given = ShareBoostClassifier(
        3, n_iter_no_change=2, validation_fraction=0.1, random_state=0
    ).fit(*digits)
    assert np.array_equal(clf.path_.validation_scores, given.path_.validation_scores)
    assert not np.isnan(clf.path_.validation_scores).any()


@pytest.mark.parametrize("pool", ["columns", "stumps", "products"])
def test_every_pool_is_scored_on_held_out_rows(problem, pool):
    X, y = problem
    clf = ShareBoostClassifier(5, pool=pool).fit(X[:100], y[:100], eval_set=(X[100:], y[100:]))
    truth = [np.mean(guess == y[100:]) for guess in clf.staged_predict(X[100:])]
    assert np.allclose(clf.path_.validation_scores, truth)


def test_a_warm_start_keeps_the_scores_and_goes_on(digits):
    X, Z, y, u = train_test_split(*digits, random_state=0)
    whole = ShareBoostClassifier(9).fit(X, y, eval_set=(Z, u))
    clf = ShareBoostClassifier(4, warm_start=True).fit(X, y, eval_set=(Z, u))
    clf.set_params(n_features=9).fit(X, y, eval_set=(Z, u))
    assert np.array_equal(clf.path_.validation_scores, whole.path_.validation_scores)


@pytest.mark.parametrize(
    ("eval_set", "message"),
    [
        (lambda X, y: X, "eval_set takes one pair"),
        (lambda X, y: (X,), "eval_set takes one pair"),
        (lambda X, y: (X[:, :3], y), "eval_set is not valid: .*12 features"),
        (lambda X, y: (X, y[:-1]), r"eval_set has 150 rows and labels of the shape \(149,\)"),
        (lambda X, y: (X, y + 1), "eval_set has the label 4, which y does not hold"),
        (lambda X, y: (np.where(X > 0.9, np.nan, X), y), "eval_set is not valid: .*NaN"),
        (lambda X, y: (X, y, np.zeros(150)), "sample_weight is zero for every row"),
    ],
)
def test_evaluation_sets_that_cannot_be_meant_are_refused(problem, eval_set, message):
    X, y = problem
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(2).fit(X, y, eval_set=eval_set(X, y))


def test_two_ways_of_holding_out_are_one_too_many(problem):
    X, y = problem
    with pytest.raises(ValueError, match="eval_set and validation_fraction=0.2 both"):
        ShareBoostClassifier(2, validation_fraction=0.2).fit(X, y, eval_set=(X, y))


def test_a_fraction_that_leaves_a_class_out_is_refused():
    X, y = np.random.default_rng(0).normal(size=(6, 2)), [0, 0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="validation_fraction=0.5 cannot be held out of 6 rows"):
        ShareBoostClassifier(1, validation_fraction=0.5).fit(X, y)


def test_owned_features_are_in_whatever_the_held_out_rows_say():
    X, y = noisy()
    clf = ShareBoostClassifier(12, include=[50, 51, 52, 53, 54], n_iter_no_change=2)
    clf.fit(X, y, eval_set=noisy(1))
    assert clf.selected_[:5].tolist() == [50, 51, 52, 53, 54]
    assert clf.selected_.size > 5
    assert len(clf.path_) - clf.path_.best == 2


def test_weights_of_classes_are_for_training_only(digits):
    X, y = digits
    weights = {label: 1.0 + 50.0 * (label == 3) for label in range(10)}
    clf = ShareBoostClassifier(4, class_weight=weights, validation_fraction=0.3, random_state=0)
    clf.fit(X, y)
    rows, held_out = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    plain = ShareBoostClassifier(4, class_weight=weights)
    plain.fit(X[np.sort(rows)], y[np.sort(rows)], eval_set=(X[held_out], y[held_out]))
    assert np.allclose(clf.path_.validation_scores, plain.path_.validation_scores)


def test_a_warm_start_judges_all_rounds_on_the_rows_held_out_now(digits):
    X, Z, y, u = train_test_split(*digits, random_state=0)
    clf = ShareBoostClassifier(3, warm_start=True).fit(X, y, eval_set=(Z[:200], u[:200]))
    clf.set_params(n_features=5).fit(X, y)
    assert np.isnan(clf.path_.validation_scores).all()
    clf.set_params(n_features=7).fit(X, y, eval_set=(Z[200:], u[200:]))
    truth = [np.mean(guess == u[200:]) for guess in clf.staged_predict(Z[200:])]
    assert np.allclose(clf.path_.validation_scores, truth)
