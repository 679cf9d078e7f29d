"""Algorithm 1 against its naive reference and against the paper's theorems."""

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_problem
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pairs import covering

from shareboost import ShareBoostClassifier, bounds
from shareboost.path import StopReason
from shareboost.pools import Columns


def exact(n_features, scale="deviation", **parameters):
    """A classifier that follows Algorithm 1 to the letter: refits to the minimum."""
    settings = {"rule": "gradient", "margin": 1.0}
    settings |= {"refit_tol": 1e-5, "tol": 1e-7, "max_iter": 5000}
    return ShareBoostClassifier(n_features, pool=Columns(scale), **settings | parameters)


@covering(
    scale=["deviation", "maxabs"],
    make={"dense": np.asarray, "sparse": sp.csr_array},
    weighted=[False, True],
)
def test_digits_equal_the_naive_reference(digits, scale, make, weighted):
    X, y = digits[0][:400], digits[1][:400]
    weight = np.random.default_rng(0).uniform(0.1, 3, size=400) if weighted else None
    chosen, losses = naive.shareboost(X, y, 8, weight, alpha=1e-3, scale=scale)
    clf = exact(8, scale, alpha=1e-3).fit(make(X), y, sample_weight=weight)
    assert clf.selected_.tolist() == chosen
    assert np.allclose(clf.path_.losses, losses, rtol=1e-5)


@covering(seed=range(4), weighted=[False, True], margin=[1.0, 0.0], intercept=[True, False])
def test_random_problems_equal_the_naive_reference(seed, weighted, margin, intercept):
    X, y = random_problem(seed)
    X[np.abs(X) < 0.4] = 0.0
    weight = np.random.default_rng(seed).uniform(0.1, 3, size=len(y)) if weighted else None
    chosen, losses = naive.shareboost(
        X, y, 6, weight, margin=margin, alpha=1e-4, intercept=intercept, scale="maxabs"
    )
    for data in (X, sp.csc_array(X)):
        clf = exact(6, "maxabs", alpha=1e-4, margin=margin, fit_intercept=intercept)
        clf.fit(data, y, sample_weight=weight)
        assert clf.selected_.tolist() == chosen
        assert np.allclose(clf.path_.losses, losses, rtol=1e-6)


def test_scores_of_the_path_are_the_norms_of_the_gradient(problem):
    X, y = problem
    clf = exact(5, "maxabs", alpha=0.0).fit(X, y)
    Z = X / np.abs(X).max(axis=0)
    for t, score in enumerate(clf.path_.scores):
        R = naive.residual(clf.path_.at(t).scores(X), y, 1.0)
        norms = naive.column_norms(Z, R, np.ones(len(y)))
        assert score == pytest.approx(norms[clf.selected_[t]], rel=1e-4)
        assert score >= norms.max() * (1 - 1e-4)


@settings(max_examples=8)
@given(
    st.integers(0, 10**6),
    st.integers(2, 5),
    st.lists(st.floats(0.4, 1.2), min_size=1, max_size=2),
    st.floats(0.2, 0.6),
    st.booleans(),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # separable draws
def test_theorem_2_holds_on_random_problems(seed, k, sizes, epsilon, intercept, constant):
    """After T rounds, L(W) <= L(W*) + epsilon, for |x| <= 1 and any W*.

    W* has few small columns among many of noise, so that neither W = 0 nor T columns of
    noise would do. One column of X is constant, and may be among those of W*.
    """
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(800, 150)) * rng.uniform(0.8, 1.0, size=150)
    X[:, 0] = 0.9
    W_star = np.zeros((k, 150))
    signs = np.resize([1.0, -1.0], k)
    columns = rng.choice(np.arange(1, 150), len(sizes), replace=False)
    columns[:1] *= not constant
    for column, size in zip(columns, sizes, strict=True):
        W_star[:, column] = size * rng.permutation(signs)
    y = np.r_[np.arange(k), (X @ W_star.T + 0.1 * rng.gumbel(size=(800, k))).argmax(axis=1)[k:]]
    T = bounds.sparsity_rounds(W_star, epsilon)
    bound = naive.average_loss(X @ W_star.T, y, np.ones(800), 1.0) + epsilon
    assume(bound < naive.average_loss(np.zeros((800, k)), y, np.ones(800), 1.0))
    clf = ShareBoostClassifier.as_published(T, fit_intercept=intercept, tol=1e-5).fit(X, y)
    assert clf.path_.losses[-1] <= bound


@settings(max_examples=6)
@given(st.integers(0, 10**6), st.booleans())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_round_decreases_the_loss_as_the_key_lemma_promises(seed, intercept):
    """L(W) - min_u L(W + u e_j) >= (L(W) - L(W*))^2 / (4 (sum over new of |W*|_inf)^2).

    A refit that left a gradient g on the chosen columns may fall short of the lemma's
    L(W) - L(W*) by g times the distance of W* from W there, by the lemma's own proof.
    """
    X, y = random_problem(seed, n=120, d=10, k=3)
    n, k = len(y), 3
    clf = ShareBoostClassifier.as_published(8, fit_intercept=intercept).fit(X, y)
    W_star = naive.refit(X, y, np.ones(n), k, 1.0, 1e-3, intercept)  # any W* will do
    B = np.hstack([np.ones((n, 1)), X]) if intercept else X
    best = naive.average_loss(B @ W_star.T, y, np.ones(n), 1.0)
    norms = np.abs(W_star[:, int(intercept) :]).max(axis=0)
    rounds = [clf.path_.start, *clf.path_.rounds]
    losses = [round_.loss for round_ in rounds]
    for t in range(len(clf.path_)):
        new = np.setdiff1d(np.arange(10), clf.selected_[:t])
        apart = np.abs(rounds[t].W).max(axis=0).sum() + norms.sum() + np.abs(W_star[:, 0]).max()
        gap = losses[t] - best - rounds[t].status.gradient * apart
        if gap > 0:
            promised = gap**2 / (4 * norms[new].sum() ** 2)
            # The fully corrective step decreases at least as much as one column alone.
            assert losses[t] - losses[t + 1] >= promised - 1e-9


def test_losses_fall_with_every_round(digits):
    losses = ShareBoostClassifier(30, alpha=3e-5).fit(*digits).path_.losses
    assert (np.diff(losses) < 0).all()


def test_ties_go_to_the_lowest_atom(digits):
    X, y = digits[0][:, 8:40], digits[1]
    first = ShareBoostClassifier(6).fit(X, y).selected_
    doubled = ShareBoostClassifier(6).fit(np.hstack([X, X]), y).selected_
    assert np.array_equal(first, doubled)


@settings(max_examples=6)
@given(st.permutations(range(12)), st.integers(0, 100))
def test_the_order_of_columns_does_not_matter(order, seed):
    X, y = random_problem(seed)
    order = np.array(order)
    plain = exact(6, alpha=1e-4).fit(X, y)
    shuffled = exact(6, alpha=1e-4).fit(X[:, order], y)
    assert np.array_equal(order[shuffled.selected_], plain.selected_)
    assert np.allclose(shuffled.path_.losses, plain.path_.losses)


@pytest.mark.parametrize(("intercept", "usable"), [(True, [1, 2, 3]), (False, [0, 1, 2, 3])])
def test_constant_columns_are_chosen_without_an_intercept_alone(problem, intercept, usable):
    X, y = problem
    X = np.hstack([np.full((len(y), 1), 7.0), X[:, :3], np.zeros((len(y), 1))])
    clf = ShareBoostClassifier(10, tol=1e-9, fit_intercept=intercept).fit(X, y)
    assert sorted(clf.selected_) == usable
    assert clf.path_.stop_reason == StopReason.EXHAUSTED


def test_a_pool_of_constants_gives_the_majority(problem):
    _, y = problem
    clf = ShareBoostClassifier().fit(np.ones((len(y), 2)), y)
    assert len(clf.path_) == 0
    assert clf.weights_.shape == (4, 0)
    assert set(clf.predict(np.ones((3, 2)))) == {np.bincount(y).argmax()}
    assert clf.path_.stop_reason == StopReason.EXHAUSTED


def test_each_stop_reason_is_told(problem):
    X, y = problem
    assert ShareBoostClassifier(3).fit(X, y).path_.stop_reason == StopReason.N_FEATURES
    assert ShareBoostClassifier(99).fit(X, y).path_.stop_reason == StopReason.EXHAUSTED
    clf = ShareBoostClassifier(99, rule="gradient", alpha=3e-5, tol=0.1).fit(X, y)
    assert clf.path_.stop_reason == StopReason.NO_GAIN
    assert len(clf.path_) < 12
    assert clf.path_.scores.min() >= 0.1


def first_norms(X, y):
    """The l1 norms of all columns' gradients before the first round, by eq. (7)."""
    k, weight = y.max() + 1, np.ones(len(y))
    start = naive.refit(X[:, []], y, weight, k, 1.0, 0.0, True)
    R = naive.residual(np.tile(start.T, (len(y), 1)), y, 1.0)
    return naive.column_norms(X / naive.scale_of(X, weight, "deviation"), R, weight)


def test_the_refit_of_an_included_column_is_as_tight_as_its_own_norm_asks(problem):
    X, y = problem
    clf = ShareBoostClassifier(1, include=[3], margin=1.0, tol=1e-6).fit(X, y)
    wanted = clf.refit_tol * first_norms(X, y)[3]
    assert clf.path_.rounds[0].status.tolerance == pytest.approx(wanted, rel=1e-3)


def test_a_run_goes_on_while_any_column_has_something_to_gain(problem):
    """Though the one chosen, as it is cheap, has a score below tol."""
    X, y = problem
    norms = first_norms(X, y)
    cheap, tol = norms.argmin(), 0.5 * (norms.min() + norms.max())
    costs = np.where(np.arange(12) == cheap, 1e-3, 1.0)
    clf = ShareBoostClassifier(1, costs=costs, margin=1.0, tol=tol).fit(X, y)
    assert clf.selected_.tolist() == [cheap]
    assert clf.path_.scores[0] < tol


def test_columns_that_may_not_be_chosen_do_not_keep_a_run_going(problem):
    X, y = problem
    norms = first_norms(X, y)
    order = np.argsort(norms)
    tol = norms[order[5:7]].mean()
    clf = ShareBoostClassifier(1, exclude=order[6:].tolist(), margin=1.0, tol=tol).fit(X, y)
    assert clf.path_.stop_reason == StopReason.NO_GAIN
    assert len(clf.path_) == 0
    dear = np.where(norms > tol, 9.0, 1.0)
    clf = ShareBoostClassifier(None, costs=dear, budget=8.0, margin=1.0, tol=tol).fit(X, y)
    assert clf.path_.stop_reason == StopReason.NO_GAIN
    assert len(clf.path_) == 0


@pytest.mark.parametrize("alpha", [0.0, 3e-5])
def test_separable_data_stop_where_nothing_is_left_to_gain(alpha):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.uniform(-1, 1, size=(90, 20))
    X[:, 7] += 10 * (y == 1)
    X[:, 3] += 10 * (y == 2)
    clf = ShareBoostClassifier(20, alpha=alpha, tol=1e-3).fit(X, y)
    assert set(clf.selected_) == {3, 7}
    assert clf.path_.stop_reason == StopReason.NO_GAIN
    assert clf.score(X, y) == 1.0
    assert np.isfinite(clf.weights_).all()
