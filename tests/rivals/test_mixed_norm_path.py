"""The path of a mixed norm: its alphas, where it ends, refits, interrupts."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import random_problem
from naive_mixed_norm import in_training_units, scaled, worst_on_path
from pairs import covering
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason
from shareboost.rivals import MixedNormClassifier, mixed_norm
from shareboost.rivals.active_atoms import ActiveAtoms

both_norms = pytest.mark.parametrize("norm", ["linf1", "l21"])


@both_norms
def test_the_path_begins_at_the_least_alpha_that_needs_no_feature(problem, norm):
    X, y = problem
    first = MixedNormClassifier(norm, path=2).fit(X, y).path_.steps[0]
    assert first.atoms == ()
    for share, n_features in ((1.001, 0), (0.999, 1)):
        clf = MixedNormClassifier(norm, alpha=share * first.details["alpha"]).fit(X, y)
        assert len(clf.selected_) == n_features


@both_norms
def test_alphas_are_evenly_spaced_or_as_given(problem, norm):
    X, y = problem
    clf = MixedNormClassifier(norm, path=5, path_ratio=0.1).fit(X, y)
    alphas = [step.details["alpha"] for step in clf.path_]
    assert np.allclose(alphas, alphas[0] * 0.1 ** np.linspace(0, 1, 5))
    given_back = MixedNormClassifier(norm, path=alphas[:0:-1]).fit(X, y)
    assert [step.details["alpha"] for step in given_back.path_] == alphas
    assert np.allclose(given_back.weights_, clf.weights_, atol=1e-4)
    alone = MixedNormClassifier(norm, alpha=alphas[-1], path=7).fit(X, y)
    assert [step.details["alpha"] for step in alone.path_] == [alphas[0], alphas[-1]]
    assert set(alone.selected_) == set(clf.selected_)
    assert np.allclose(alone.decision_function(X), clf.decision_function(X), atol=1e-3)


@both_norms
def test_as_alpha_falls_the_loss_falls_and_the_norm_rises(digits, norm):
    """A law of penalties: of two minima, each is the better one for its own alpha."""
    X, y = (part[:400] for part in digits)
    clf = MixedNormClassifier(norm, path=8, path_ratio=0.05).fit(X, y)
    frame = clf.path_.to_frame()
    assert (np.diff(frame["loss"]) < 0).all()
    assert (np.diff(frame["norm"]) > 0).all()
    for (_, a), (_, b) in zip(frame[:-1].iterrows(), frame[1:].iterrows(), strict=True):
        assert a.loss + a.alpha * a.norm <= b.loss + a.alpha * b.norm + 1e-6
        assert b.loss + b.alpha * b.norm <= a.loss + b.alpha * a.norm + 1e-6
    assert frame["iterations"].sum() == clf.n_iter_


@both_norms
def test_the_path_ends_before_more_features_than_asked_for(digits, norm):
    X, y = (part[:400] for part in digits)
    whole = MixedNormClassifier(norm, path=20, path_ratio=0.1).fit(X, y)
    clf = MixedNormClassifier(norm, path=20, path_ratio=0.1, n_features=12).fit(X, y)
    n = int(np.argmax(whole.path_.n_features > 12))
    assert clf.path_.stop_reason == StopReason.N_FEATURES
    for one, two in zip(clf.path_.steps[:n], whole.path_.steps[:n], strict=True):
        assert one.atoms == two.atoms
        assert np.array_equal(one.W, two.W)
    assert clf.path_.n_features.max() <= 12 < whole.path_.n_features[n]
    assert whole.path_.stop_reason == StopReason.LAST_ALPHA


@covering(norm=["linf1", "l21"], path=[2, 30])
def test_alphas_between_come_near_to_as_many_features_as_allowed(problem, norm, path):
    X, y = problem
    clf = MixedNormClassifier(norm, path=path, n_features=5).fit(X, y)
    assert len(clf.selected_) == 5
    alphas = np.array([step.details["alpha"] for step in clf.path_])
    assert (np.diff(alphas) < 0).all()
    assert len(alphas) <= path + 10
    assert worst_on_path(clf, X, y) <= 1.01e-6


def test_alphas_that_were_given_are_the_only_ones(problem):
    X, y = problem
    with pytest.warns(ConvergenceWarning, match="uses more than n_features=5: .* uses none"):
        clf = MixedNormClassifier(path=[0.05, 0.01], n_features=5).fit(X, y)
    assert len(clf.selected_) == 0


def test_one_alpha_has_as_many_features_as_it_needs(problem):
    X, y = problem
    clf = MixedNormClassifier(alpha=0.05, n_features=1).fit(X, y)
    assert len(clf.selected_) > 1
    assert np.array_equal(clf.weights_, MixedNormClassifier(alpha=0.05).fit(X, y).weights_)


@both_norms
def test_a_refit_is_the_minimum_without_the_norm_on_the_same_features(problem, norm):
    X, y = problem
    shrunk = MixedNormClassifier(norm, path=8).fit(X, y)
    clf = MixedNormClassifier(norm, path=8, refit=True).fit(X, y)
    Z, *units = scaled(X, np.ones(len(y)))
    for one, two in zip(clf.path_, shrunk.path_, strict=True):
        assert set(one.atoms) == set(two.atoms)
        assert one.details == two.details
        assert one.loss <= two.loss + 1e-6
        W, b = in_training_units(clf.path_.model(one), *units)
        S = Z @ W.T + b + 1.0 - np.eye(4)[y]
        slopes = Z.T @ (softmax(S, axis=1) - np.eye(4)[y]) / len(y)
        assert np.abs(slopes[list(one.atoms)]).sum(axis=1).max(initial=0.0) <= 1.1e-5
        losses = np.logaddexp.reduce(S, axis=1) - S[np.arange(len(y)), y]
        assert one.loss == pytest.approx(losses.mean())


@both_norms
def test_every_feature_of_a_refit_has_weights(digits, norm):
    """Also where the features before it separate the classes already."""
    X, y = (part[:300] for part in digits)
    clf = MixedNormClassifier(norm, path=8, path_ratio=0.03, refit=True).fit(X, y)
    assert clf.score(X, y) == 1.0
    for step in clf.path_:
        assert (np.abs(step.W[:, 1:]).max(axis=0, initial=1.0) > 0).all()
        assert not (step.W[:, 1:] == 0).all(axis=0).any()


def test_a_refit_may_have_shareboosts_penalty(problem):
    X, y = problem
    clf = MixedNormClassifier(alpha=0.08, refit=True, refit_alpha=1e-2).fit(X, y)
    share = ShareBoostClassifier(20, alpha=1e-2, margin=1.0, tol=1e-7).fit(X[:, clf.selected_], y)
    assert np.allclose(
        clf.decision_function(X), share.decision_function(X[:, clf.selected_]), atol=1e-3
    )


def test_the_same_features_are_refit_once(digits):
    X, y = (part[:300] for part in digits)
    clf = MixedNormClassifier(path=20, path_ratio=0.6, refit=True).fit(X, y)
    same = [pair for pair in pairwise(clf.path_) if set(pair[0].atoms) == set(pair[1].atoms)]
    assert len(same) > 1
    assert all(np.array_equal(one.W, two.W) for one, two in same)


def test_a_refit_follows_features_that_leave():
    """Sets of a path need not be nested: an atom that is gone takes its weights along."""
    X, y = random_problem(9, n=60, d=8, k=3)
    X[:, 0] = X[:, 1] + X[:, 2]
    clf = MixedNormClassifier("l21", path=20, refit=True).fit(X, y)
    sets = [set(step.atoms) for step in clf.path_]
    assert any(one - two for one, two in pairwise(sets))
    for step in clf.path_.steps[1:]:
        others = list(set(range(8)) - set(step.atoms))
        again = ShareBoostClassifier(8, alpha=0.0, margin=1.0, tol=1e-6, exclude=others).fit(X, y)
        assert step.loss == pytest.approx(again.path_.losses[-1], abs=1e-6)


def test_a_refit_that_is_not_finished_is_told_with_advice(problem, monkeypatch):
    monkeypatch.setattr(mixed_norm, "REFIT_TOL", 1e-30)
    with pytest.warns(ConvergenceWarning, match="refit without the norm ended with a gradient"):
        MixedNormClassifier(path=3, refit=True).fit(*problem)


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_a_refit_is_as_exact_for_short_numbers(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0.3).astype(int) + (X[:, 1] > 0.8)
    X = (10 * X).astype(dtype)
    clf = MixedNormClassifier("l21", path=6, refit=True).fit(X, y)
    for step, scores in zip(clf.path_, clf.staged_decision_function(X), strict=True):
        S = scores + 1.0 - np.eye(3)[y]
        losses = np.logaddexp.reduce(S, axis=1) - S[np.arange(80), y]
        assert step.loss == pytest.approx(losses.mean(), abs=1e-7)


def test_an_interrupt_keeps_the_finished_steps(problem, monkeypatch):
    X, y = problem
    whole = MixedNormClassifier(path=6).fit(X, y)
    proper, calls = ActiveAtoms.at, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return proper(*arguments)

    monkeypatch.setattr(ActiveAtoms, "at", interrupted)
    clf = MixedNormClassifier(path=6)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert clf.path_.stop_reason == StopReason.INTERRUPTED
    assert len(clf.path_) == 4
    for one, two in zip(clf.path_, whole.path_, strict=False):
        assert np.array_equal(one.W, two.W)
    assert clf.predict(X).shape == (150,)


def test_an_interrupt_before_any_feature_leaves_an_earlier_fit(problem, monkeypatch):
    X, y = problem
    clf = MixedNormClassifier(alpha=0.05).fit(X, y)
    before = clf.weights_

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(ActiveAtoms, "at", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.set_params(alpha=0.01).fit(X, y)
    assert clf.weights_ is before


def test_paths_that_are_not_alphas_are_refused(problem):
    for path in ([], [0.1, 0.0], [0.1, -1.0], [0.1, np.nan], [np.inf], [[0.1]], ["a", "b"]):
        with pytest.raises(ValueError, match="path=.* is not valid"):
            MixedNormClassifier(path=path).fit(*problem)
