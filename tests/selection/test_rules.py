"""The greedy rules of section 3.1 against slow, obvious forms of them."""

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_problem
from every_pool import POOLS_TO_TEST, classifier, every_pool
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize, minimize_scalar
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.losses import LogisticLoss
from shareboost.penalties import Frobenius
from shareboost.pools import Columns, Groups
from shareboost.rows import Rows
from shareboost.selection.rules import RULES, best_places, tied_with_best
from shareboost.selection.trials import _along, _within
from shareboost.solvers.objective import Objective

LOSS_RULES = ("line_search", "column", "refit")


def test_scores_that_differ_by_rounding_are_tied():
    scores = np.array([0.5, 1.0 - 1e-13, 1.0, 1.0 + 1e-13, 0.9])
    assert tied_with_best(scores, 1e-9).tolist() == [1, 2, 3]
    assert tied_with_best(np.array([-np.inf, 0.3, 0.3000001]), 1e-5)[0] == 1
    assert tied_with_best(np.array([-np.inf, 0.3, 0.3001]), 1e-5)[0] == 2


def test_atoms_that_must_never_be_chosen_do_not_contend():
    assert tied_with_best(np.full(3, -np.inf), 1e-9).size == 0


class Step:
    """The problem that a rule solves for one column at W = the intercept alone."""

    def __init__(self, X, y, weight, intercept=True):
        self.y, self.weight, self.k = y, weight, y.max() + 1
        start = naive.refit(X[:, []], y, weight, self.k, 1.0, 0.0, intercept)
        self.S = np.tile(start.T, (len(y), 1)) if intercept else np.zeros((len(y), self.k))
        self.R = naive.residual(self.S, y, 1.0)
        mean = weight @ X / weight.sum() if intercept else 0.0
        self.Z = X - mean

    def loss(self, S):
        return naive.average_loss(S, self.y, self.weight, 1.0)

    def gradient(self, j):
        return (self.weight * self.Z[:, j]) @ self.R / self.weight.sum()

    def newton(self, j):
        rho = self.R + np.eye(self.k)[self.y]
        h = (self.weight * self.Z[:, j] ** 2) @ (rho * (1 - rho)) / self.weight.sum()
        return 0.5 * (self.gradient(j) ** 2 / h).sum()

    def line_search(self, j):
        direction = np.outer(self.Z[:, j], self.gradient(j))
        found = minimize_scalar(lambda alpha: self.loss(self.S - alpha * direction))
        return self.loss(self.S) - found.fun

    def column(self, j):
        found = minimize(
            lambda w: self.loss(self.S + np.outer(self.Z[:, j], w)), np.zeros(self.k), tol=1e-10
        )
        return self.loss(self.S) - found.fun

    def refit(self, j):
        W = naive.refit(self.Z[:, [j]], self.y, self.weight, self.k, 1.0, 0.0, True)
        S = np.column_stack([np.ones(len(self.y)), self.Z[:, j]]) @ W.T
        return self.loss(self.S) - self.loss(S)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("rule", ["newton", *LOSS_RULES])
def test_a_rule_chooses_and_scores_as_its_definition_does(rule, make):
    X, y = random_problem(3, n=90, d=6, k=3)
    X = X * [1, 30, 0.01, 5, 1, 1] + [0, 4, 1, 0, -2, 0]
    weight = np.random.default_rng(0).uniform(0.5, 2, size=90)
    step = Step(X, y, weight)
    truth = np.array([getattr(step, rule)(j) for j in range(6)])
    clf = ShareBoostClassifier(1, rule=rule, shortlist=None, alpha=0, margin=1.0)
    clf.fit(make(X), y, sample_weight=weight)
    assert clf.selected_[0] == truth.argmax()
    assert clf.path_.scores[0] == pytest.approx(truth.max(), rel=1e-4)


def test_newton_without_an_intercept_takes_columns_as_they_are():
    X, y = random_problem(4, n=90, d=6, k=3)
    X = X + np.array([0, 4, 1, 0, -2, 0])
    step = Step(X, y, np.ones(90), intercept=False)
    truth = np.array([step.newton(j) for j in range(6)])
    clf = ShareBoostClassifier(1, rule="newton", fit_intercept=False, margin=1.0).fit(X, y)
    assert clf.selected_[0] == truth.argmax()
    assert clf.path_.scores[0] == pytest.approx(truth.max(), rel=1e-6)


def test_newton_does_not_depend_on_the_scale_or_the_place_of_columns(digits):
    X, y = digits
    rng = np.random.default_rng(0)
    moved = X * 10.0 ** rng.integers(-3, 4, size=64) + rng.normal(size=64) * 100
    scales = ("deviation", "maxabs", "none")
    first = [
        ShareBoostClassifier(1, pool=Columns(scale), rule="newton").fit(data, y)
        for scale in scales
        for data in (X, moved)
    ]
    assert len({clf.selected_[0] for clf in first}) == 1
    assert np.allclose([clf.path_.scores[0] for clf in first], first[0].path_.scores[0])


@pytest.mark.parametrize("rule", RULES)
def test_the_unit_of_weights_does_not_matter(rule):
    X, y = random_problem(3, n=90, d=6, k=3)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=90)
    first, *others = (
        ShareBoostClassifier(2, rule=rule, alpha=0.0).fit(X, y, sample_weight=unit * weight).path_
        for unit in (1.0, 1e-6, 1e5)
    )
    for path in others:
        assert np.array_equal(path.selected, first.selected)
        assert np.allclose(path.scores, first.scores, rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-2, 1e3])
def test_newton_gains_the_same_in_any_unit_of_the_columns(unit):
    X, y = random_problem(3, n=90, d=6, k=3)
    one, two = (
        ShareBoostClassifier(1, pool=Columns("none"), rule="newton", tol=1e-8).fit(data, y).path_
        for data in (X, unit * X)
    )
    assert np.array_equal(one.selected, two.selected)
    assert one.scores[0] == pytest.approx(two.scores[0], rel=1e-6)


@pytest.mark.parametrize("space", [_along, _within])
def test_the_slope_of_a_trial_is_that_of_its_value(space):
    X, y = random_problem(3, n=90, d=6, k=3)
    W = np.random.default_rng(0).normal(size=(3, 4))
    pool = Groups([0, 1, 2, 2, 3, 3]).fit(X, np.ones(90))
    with Rows(X, y, np.ones(90), pool, 3, True) as rows:
        rows.append(1)
        rows.append(2)
        function = Objective(rows, LogisticLoss(), Frobenius(), 0.01, W)
        new = slice(2, 4)
        given = (function.at(W)[2][:, new],) if space is _along else ()
        trial = space(function, W, *given, new)
        z = np.full(trial.start.z.size, 0.1)
        numeric = approx_fprime(z, lambda at: trial.evaluate(at).value, 1e-7)
        assert np.allclose(trial.evaluate(z).gradient, numeric, atol=1e-5)
        moved = trial.evaluate(z).W - W
    assert not moved[:, :2].any()
    assert moved[:, new].any()


def test_a_constant_column_of_a_group_gains_nothing_by_newton(problem):
    X, y = problem
    groups = np.arange(12) // 3
    plain = ShareBoostClassifier(2, rule="newton", groups=groups, alpha=1e-4).fit(X, y)
    padded = ShareBoostClassifier(2, rule="newton", groups=[*groups, *range(4)], alpha=1e-4)
    padded.fit(np.hstack([X, np.full((len(y), 4), 7.0)]), y)
    assert np.array_equal(padded.selected_, plain.selected_)
    assert np.allclose(padded.path_.scores, plain.path_.scores, rtol=1e-4)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 1e-3]))
def test_refit_gains_no_less_than_column_and_column_than_line_search(seed, alpha):
    X, y = random_problem(seed, n=60, d=5, k=3)
    gains = [
        ShareBoostClassifier(1, rule=rule, shortlist=None, alpha=alpha).fit(X, y).path_.scores[0]
        for rule in LOSS_RULES
    ]
    assert gains[0] <= gains[1] + 1e-12
    assert gains[1] <= gains[2] + 1e-12
    assert gains[0] > 0


@every_pool
def test_the_rules_keep_their_order_on_every_pool(name):
    X, y = load_digits(return_X_y=True)
    X, y = X[:80], y[:80]
    gains, losses = {}, {}
    for rule in RULES:
        clf = classifier(2, name, rule=rule, shortlist=2).fit(X, y)
        assert clf.selected_.size == len(set(clf.selected_)) == 2
        gains[rule], losses[rule] = clf.path_.scores[0], clf.path_.losses
    assert gains["line_search"] <= gains["column"] + 1e-6 <= gains["refit"] + 2e-6
    for rule in RULES:
        assert losses[rule][1] < losses[rule][0]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("columns", "column"),
        ("stumps", "newton"),
        ("stumps", "column"),
        ("products", "newton"),
        ("pieces", "newton"),
        ("union", "column"),
    ],
)
def test_sparse_input_gives_what_dense_gives(name, rule):
    X, y = load_digits(return_X_y=True)
    X, y = X[:100], y[:100]
    dense, *sparse = (
        ShareBoostClassifier(2, pool=POOLS_TO_TEST[name], rule=rule, shortlist=3, alpha=1e-3)
        .fit(data, y)
        .path_
        for data in (X, sp.csr_array(X), sp.csc_array(X))
    )
    for path in sparse:
        assert np.array_equal(path.selected, dense.selected)
        # A step of 650 weights, as of a piece, ends within its precision of the minimum.
        assert path.scores[0] == pytest.approx(dense.scores[0], rel=2e-3)


def test_a_shortlist_of_one_is_the_gradient_rule(digits):
    plain = ShareBoostClassifier(5, rule="gradient").fit(*digits)
    for rule in LOSS_RULES:
        listed = ShareBoostClassifier(5, rule=rule, shortlist=1).fit(*digits)
        assert np.array_equal(listed.selected_, plain.selected_)


def test_trials_leave_no_trace_in_the_run(digits):
    """Rows with which something was tried and taken back give the very same weights."""
    X, y = digits
    plain = ShareBoostClassifier(6, rule="gradient").fit(X, y)
    tried = ShareBoostClassifier(6, rule="column", shortlist=1).fit(X, y)
    assert np.array_equal(tried.weights_, plain.weights_)


@pytest.mark.parametrize("rule", RULES)
def test_ties_go_to_the_lowest_column_by_every_rule(rule):
    X, y = random_problem(0, n=80, d=4, k=3)
    doubled = np.hstack([X, X])
    clf = ShareBoostClassifier(2, rule=rule, shortlist=None).fit(doubled, y)
    assert clf.selected_.max() < 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "best"}, "'rule' parameter .* must be a str among"),
        ({"shortlist": 0}, "'shortlist' parameter"),
        ({"swap": "yes"}, "'swap' parameter"),
    ],
)
def test_unknown_rules_are_refused(problem, parameters, message):
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(**{"n_features": 2} | parameters).fit(*problem)


@pytest.mark.parametrize("rule", LOSS_RULES)
def test_atoms_of_collinear_columns_are_tried_in_float32_too(rule):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(300, 3))
        X = np.column_stack([A, A.sum(axis=1), rng.normal(size=(300, 2))]).astype(np.float32)
        y = (A.sum(axis=1) + rng.normal(size=300) > 0).astype(int)
        clf = ShareBoostClassifier(2, groups=[0, 0, 0, 0, 1, 1], rule=rule).fit(X, y)
        assert clf.selected_[0] == 0


def test_the_best_places_are_those_of_a_stable_sort():
    rng = np.random.default_rng(0)
    worth = rng.integers(0, 6, size=50).astype(float)
    worth[rng.choice(50, 9, replace=False)] = -np.inf
    truth = [int(i) for i in np.argsort(-worth, kind="stable") if worth[i] > -np.inf]
    for n in (1, 3, 10, 41, 60, None):
        assert best_places(worth, n).tolist() == truth[:n]
