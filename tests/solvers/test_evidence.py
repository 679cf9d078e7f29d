"""The automatic weight of the penalty."""

import re

import numpy as np
import pytest
from conftest import random_problem
from every_pool import classifier, every_pool
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.solvers import AUTO_ALPHA, CLOSE_ALPHA
from shareboost.solvers.objective import LEAST, MOST_COLUMNS

EXACT = {"refit_tol": 1e-3, "tol": 1e-6}


def supported(clf, X, y):
    """Return the weight of the largest evidence at the weights of the last round, naively.

    All classes have the same matrix of second derivatives, of the mean curvature in a score.
    """
    A = X[:, clf.selected_]
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    W = clf.path_.last.W[:, 1:]
    scores = A @ W.T + clf.path_.last.W[:, 0]
    rho = softmax(scores + clf.margin * (np.arange(len(W)) != y[:, None]), axis=1)
    free = len(W) - 1
    H = (rho * (1 - rho)).sum() / (free * len(A)) * (A.T @ A / len(A))

    def excess(log_alpha):
        alpha = np.exp(log_alpha)
        determined = np.trace(np.linalg.solve(H + 2 * alpha * np.eye(len(H)), H))
        return 2 * len(A) * alpha * (W**2).sum() - free * determined

    return np.exp(brentq(excess, np.log(1e-12), np.log(1e3)))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_every_round_has_the_weight_that_its_own_weights_support(n_classes, margin):
    X, y = random_problem(0, n=200, d=6, k=n_classes)
    for t in (1, 3, 6):
        clf = ShareBoostClassifier(t, margin=margin, **EXACT).fit(X, y)
        ratio = clf.path_.alphas[-1] / supported(clf, X, y)
        assert 1 / CLOSE_ALPHA - 0.01 < ratio < CLOSE_ALPHA + 0.01


@pytest.mark.parametrize("deviation", [0.3, 1.0])
def test_the_weight_is_that_of_the_distribution_that_weights_were_drawn_from(deviation):
    rng = np.random.default_rng(0)
    m, d, k = 4000, 40, 5
    X = rng.normal(size=(m, d))
    W = rng.normal(size=(k, d)) * deviation
    W -= W.mean(axis=0)  # which changes no probability
    y = np.array([rng.choice(k, p=p) for p in softmax(X @ W.T, axis=1)])
    clf = ShareBoostClassifier(d, include=range(d), margin=0.0).fit(X, y)
    assert clf.path_.alphas[-1] == pytest.approx(1 / (2 * m * deviation**2), rel=0.35)


def test_features_that_say_nothing_get_a_strong_but_finite_penalty():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 30)), rng.integers(3, size=300)
    clf = ShareBoostClassifier(10, margin=0.0).fit(X, y)
    ordinary = ShareBoostClassifier(10, margin=0.0).fit(X, X[:, :3].argmax(axis=1))
    assert 10 * ordinary.path_.alphas[-1] < clf.path_.alphas[-1] < 1.0
    assert clf.predict_proba(X).max() < 0.8


def test_no_weight_is_too_small_for_refits_in_float32():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)).astype(np.float32)
    y = (9 * X + rng.gumbel(size=X.shape)).argmax(axis=1)
    assert ShareBoostClassifier(4).fit(X, y).path_.alphas[-1] == LEAST


def test_a_pair_of_columns_that_say_nothing_alone_is_not_shrunk_away():
    rng = np.random.default_rng(0)
    first, noise = rng.normal(size=(2, 2000))
    X = np.column_stack([first, first + 0.01 * noise])
    y = (noise > 0).astype(int)
    clf = ShareBoostClassifier(2).fit(X, y)
    assert clf.path_.alphas[0] > 0.01
    assert clf.score(X, y) > 0.95


def test_separated_classes_have_finite_weights():
    X = np.r_[np.linspace(-2, -1, 20), np.linspace(1, 2, 20)][:, None]
    clf = ShareBoostClassifier(1).fit(X, np.repeat([0, 1], 20))
    assert clf.path_.alphas[-1] > 0.0
    assert 0.9 < clf.predict_proba(X).max(axis=1).min() < 1.0


def test_a_class_of_one_row_is_fitted():
    X, y = random_problem(0, n=60, d=5, k=3)
    y[0] = 3
    clf = ShareBoostClassifier(4).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert (clf.path_.alphas > 0.0).all()


@every_pool
def test_every_pool_finds_a_weight(name):
    X, y = load_digits(n_class=4, return_X_y=True)
    clf = classifier(3, name).set_params(alpha="auto").fit(X, y)
    assert (clf.path_.alphas > 0.0).all()


def test_with_very_many_columns_the_weight_stays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, MOST_COLUMNS + 2))
    y = (X[:, :4] @ rng.normal(size=(4, 3))).argmax(axis=1)
    clf = ShareBoostClassifier(X.shape[1], include=range(MOST_COLUMNS + 2), tol=1e-2).fit(X, y)
    *_, last, one, two = clf.path_.alphas
    assert one == two == last


def test_other_penalties_weigh_by_the_weights_per_row():
    X, y = random_problem(0, n=100, d=6, k=4)
    clf = ShareBoostClassifier(3, penalty="linf1").fit(X, y)
    assert clf.path_.alphas == pytest.approx(AUTO_ALPHA * 4 * np.array([1, 2, 3]) / 100)


def test_a_number_is_the_weight_of_every_round():
    X, y = random_problem(0)
    assert (ShareBoostClassifier(3, alpha=1e-3).fit(X, y).path_.alphas == 1e-3).all()


def test_multiples_of_the_automatic_penalty_and_weights_of_rows_agree():
    X, y = random_problem(1, n=100, d=6, k=4)
    half = ShareBoostClassifier(4, alpha="0.5 * auto", **EXACT).fit(X, y)
    doubled = ShareBoostClassifier(4, **EXACT).fit(X, y, sample_weight=np.full(100, 2.0))
    twice = ShareBoostClassifier(4, **EXACT).fit(np.vstack([X, X]), np.tile(y, 2))
    for other in (doubled, twice):
        assert np.array_equal(other.selected_, half.selected_)
        assert np.allclose(other.weights_, half.weights_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "alpha", ["", "Auto", "auto*2", "-1*auto", "0*auto", "nan*auto", "inf*auto"]
)
def test_other_texts_are_no_penalty(alpha):
    with pytest.raises(ValueError, match=f"alpha={re.escape(repr(alpha))} is not valid: it takes"):
        ShareBoostClassifier(2, alpha=alpha).fit(*random_problem(0))


def test_weights_that_sum_to_far_less_than_the_rows_are_warned_of():
    X, y = random_problem(1, n=100, d=6, k=4)
    weight = np.full(100, 0.01)
    with pytest.warns(UserWarning, match="weights of 100 rows sum to 1, and alpha='auto'"):
        ShareBoostClassifier(2).fit(X, y, sample_weight=weight)
    ShareBoostClassifier(2, alpha=1e-3).fit(X, y, sample_weight=weight)


def test_a_warm_start_in_another_unit_of_weights_is_refused():
    X, y = random_problem(1, n=100, d=6, k=4)
    clf = ShareBoostClassifier(2, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="the unit of sample_weight"):
        clf.set_params(n_features=3).fit(X, y, sample_weight=np.full(100, 5.0))
