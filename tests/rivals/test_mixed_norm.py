"""Mixed norms against a general convex solver, the conditions of their minima, and laws."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_problem
from every_pool import POOLS_TO_TEST
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive_mixed_norm import in_training_units, minimum, objective, scaled, violation, worst_on_path
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from shareboost.backends import numpy as host_module
from shareboost.path import StopReason
from shareboost.pools import Columns, Pieces, Stumps, Union
from shareboost.rivals import MixedNormClassifier

both_norms = pytest.mark.parametrize("norm", ["linf1", "l21"])


@both_norms
@pytest.mark.parametrize(
    ("margin", "centred", "weighted"), [(1.0, True, False), (0.0, False, True), (0.5, True, True)]
)
def test_minima_are_those_of_a_general_convex_solver(norm, margin, centred, weighted):
    X, y = random_problem(3, n=60, d=6, k=3)
    X += 0.3
    weight = np.random.default_rng(0).uniform(0.2, 1, size=60) if weighted else np.ones(60)
    clf = MixedNormClassifier(norm, path=4, path_ratio=0.05, margin=margin, fit_intercept=centred)
    clf.fit(X, y, weight)
    Z, *units = scaled(X, weight, centred)
    for step in clf.path_.steps[1:]:
        alpha = step.details["alpha"]
        W, b, value = minimum(Z, y, weight, norm, alpha, margin, centred)
        own_W, own_b = in_training_units(clf.path_.model(step), *units)
        assert objective(Z, y, weight, own_W, own_b, norm, alpha, margin) <= value + 1e-7
        assert np.allclose(own_W - own_W.mean(axis=0), W - W.mean(axis=0), atol=2e-3)
        assert np.allclose(own_b - own_b.mean(), b - b.mean(), atol=2e-3)
        used = np.abs(W).max(axis=0) > 1e-5
        assert set(step.atoms) == set(np.flatnonzero(used))


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from(["linf1", "l21"]), st.booleans())
@example(5547, 5, "linf1", True)
def test_every_minimum_of_a_path_meets_its_conditions(seed, k, norm, centred):
    X, y = random_problem(seed, n=80, d=10, k=k)
    weight = np.random.default_rng(seed).uniform(0.1, 1, size=80)
    clf = MixedNormClassifier(norm, path=8, path_ratio=0.05, fit_intercept=centred)
    clf.fit(X, y, weight)
    # Scales are rounded to 24 bits, which moves gradients of up to 1 by 6e-8.
    assert worst_on_path(clf, X, y, weight, centred) <= 1e-6 + 6e-8
    assert max(step.details["violation"] for step in clf.path_) <= 1e-6


@both_norms
def test_digits_in_float32_meet_the_conditions_too(norm, digits):
    X, y = digits[0][:, digits[0].std(axis=0) > 0], digits[1]
    clf = MixedNormClassifier(norm, path=10, path_ratio=0.05).fit(X.astype(np.float32), y)
    assert worst_on_path(clf, X, y) <= 1.1e-6


@pytest.mark.parametrize("name", [n for n in POOLS_TO_TEST if not n.startswith("templates")])
def test_minima_over_every_pool_meet_their_conditions(name, digits):
    norm = ["linf1", "l21"][list(POOLS_TO_TEST).index(name) % 2]
    X, y = digits[0][:150], digits[1][:150]
    clf = MixedNormClassifier(norm, pool=POOLS_TO_TEST[name], path=3, path_ratio=0.5).fit(X, y)
    pool = clone(POOLS_TO_TEST[name]).fit(X, np.ones(150))
    atoms = range(pool.n_atoms_)
    data = pool.encode(X, slice(0, 150))
    columns = np.vstack([pool.columns(data, atom) for atom in atoms]).T.astype(np.float64)
    Z = (columns - columns.mean(axis=0)) / np.concatenate([pool.scales(atom) for atom in atoms])
    groups = np.repeat(atoms, pool.features(atoms).widths)
    if pool.usable_ is not None:
        Z[:, ~pool.usable_[groups]] = 0.0
    prices = np.ones(pool.n_atoms_) if pool.divisors_ is None else pool.divisors_
    for step in clf.path_.steps:
        own = np.concatenate([[], *(np.flatnonzero(groups == atom) for atom in step.atoms)])
        W = np.zeros((10, Z.shape[1]))
        W[:, own.astype(int)] = step.W[:, 1:]
        alphas = step.details["alpha"] * prices
        missed = violation(Z, y, np.ones(150), W, step.W[:, 0], norm, alphas, groups=groups)
        assert missed <= 1.1e-6
    assert len(clf.selected_) > 0
    assert clf.transform(X).shape[1] == clf.weights_.shape[1]


@pytest.mark.parametrize(("norm", "make"), [("linf1", sp.csr_array), ("l21", sp.csc_array)])
def test_sparse_rows_give_what_dense_rows_give(problem, norm, make):
    X, y = problem
    X = np.where(np.abs(X) < 0.4, 0.0, X)
    dense = MixedNormClassifier(norm, path=6).fit(X, y)
    sparse = MixedNormClassifier(norm, path=6).fit(make(X), y)
    assert [step.atoms for step in dense.path_] == [step.atoms for step in sparse.path_]
    assert np.allclose(dense.decision_function(X), sparse.decision_function(make(X)), atol=1e-3)
    assert worst_on_path(sparse, X, y) <= 1.01e-6


def test_without_a_penalty_to_speak_of_it_is_logistic_regression(problem):
    X, y = problem
    clf = MixedNormClassifier(alpha=1e-7, margin=0.0, tol=1e-8, max_iter=100000).fit(X, y)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(X, y)
    assert np.allclose(clf.predict_proba(X), peer.predict_proba(X), atol=1e-3)
    assert np.allclose(clf.predict_proba(X), softmax(clf.decision_function(X), axis=1))


@pytest.mark.quiet
@pytest.mark.parametrize(
    ("norm", "pool"),
    [("linf1", Stumps(max_bins=8)), ("l21", "products")],
    ids=["stumps", "products"],
)
def test_results_are_the_same_bits_for_any_number_of_threads(norm, pool, digits, monkeypatch):
    monkeypatch.setattr(host_module, "BLOCK_ROWS", 150)
    X, y = digits[0][:400], digits[1][:400]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(MixedNormClassifier(norm, pool=pool, path=4, path_ratio=0.3).fit(X, y))
    assert np.array_equal(found[0].weights_, found[1].weights_)
    assert np.array_equal(found[0].intercept_, found[1].intercept_)


def test_costs_of_a_union_are_prices_of_norms(problem):
    X, y = problem
    cheap = MixedNormClassifier(pool=Columns(), path=[0.1]).fit(X, y)
    pool = Union([("a", Columns()), ("b", Columns())], costs=[3.0, 1.0])
    clf = MixedNormClassifier(pool=pool, path=[0.1]).fit(X, y)
    assert set(clf.selected_ - 12) == set(cheap.selected_)  # the cheaper copies alone
    dear = MixedNormClassifier(pool=Union([Columns()], costs=[2.0]), path=[0.05]).fit(X, y)
    assert set(dear.selected_) == set(cheap.selected_)
    assert np.allclose(dear.decision_function(X), cheap.decision_function(X), atol=1e-3)


def test_whole_weights_are_repeats_and_class_weights_weights(problem):
    X, y = problem
    times = np.random.default_rng(0).integers(1, 4, size=len(y))
    weighted = MixedNormClassifier(path=5).fit(X, y, sample_weight=times)
    repeated = MixedNormClassifier(path=5).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)
    by_class = MixedNormClassifier(path=5, class_weight={0: 3.0}).fit(X, y)
    by_row = MixedNormClassifier(path=5).fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert np.array_equal(by_class.weights_, by_row.weights_)


@both_norms
def test_two_classes_have_weights_of_opposite_signs(problem, norm):
    X, y = problem
    clf = MixedNormClassifier(norm, path=6).fit(X, y > 1)
    assert np.allclose(clf.weights_[0], -clf.weights_[1], atol=1e-5)
    assert clf.decision_function(X).shape == (150,)


def test_stumps_take_gaps(problem):
    X, y = problem
    X = np.where(X > 0.8, np.nan, X)
    clf = MixedNormClassifier(pool=Stumps(max_bins=8), path=6, path_ratio=0.1).fit(X, y)
    assert clf.score(X, y) > np.bincount(y).max() / len(y)


def test_without_candidates_that_vary_the_majority_is_left(problem):
    _, y = problem
    clf = MixedNormClassifier().fit(np.ones((len(y), 2)), y)
    assert len(clf.path_) == 1
    assert clf.path_.stop_reason == StopReason.EXHAUSTED
    assert set(clf.predict(np.ones((3, 2)))) == {np.bincount(y).argmax()}
    with pytest.warns(ConvergenceWarning, match="alpha=0 misses its conditions"):
        MixedNormClassifier(max_iter=1, tol=1e-9).fit(np.ones((len(y), 2)), y)


def test_more_features_than_rows_are_no_obstacle():
    X, y = random_problem(0, n=30, d=200, k=3)
    clf = MixedNormClassifier(path=10, path_ratio=0.1).fit(X, y)
    assert worst_on_path(clf, X, y) <= 1.01e-6
    assert clf.score(X, y) == 1.0


def test_a_minimum_that_is_not_reached_is_told_with_advice(problem):
    X, y = problem
    with pytest.warns(ConvergenceWarning, match=r"alpha=.* misses .* Raise max_iter=3.* like it"):
        clf = MixedNormClassifier(path=5, max_iter=3).fit(X, y)
    assert clf.path_.steps[-1].details["violation"] > 1e-6


@both_norms
def test_a_rare_class_has_its_features_too(norm):
    """Where all gradients are small, so is what may be left of them."""
    X, y = random_problem(0, n=400, k=2)
    weight = np.where(y == 1, 1e-6, 1.0)
    clf = MixedNormClassifier(norm, path=6).fit(X, y, weight)
    first = clf.path_.steps[0].details["alpha"]
    assert first < 1e-5
    assert clf.path_.n_features[-1] > 3
    assert worst_on_path(clf, X, y, weight) <= 1.1e-5 * first


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_columns_that_are_too_large_are_an_error(problem):
    X, y = problem
    with pytest.raises(FloatingPointError, match="too large"):
        MixedNormClassifier(pool=Columns("none"), path=5).fit(X * 1e306, y)


def test_a_pickled_classifier_predicts_the_same(problem):
    X, y = problem
    clf = MixedNormClassifier(path=6).fit(X, y)
    back = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(back.decision_function(X), clf.decision_function(X))
    assert clone(clf).get_params() == clf.get_params()


def test_bad_parameters_are_named(problem):
    bad = [("norm", "l1"), ("pool", "none"), ("alpha", 0.0), ("path", 1), ("path_ratio", 1.0)]
    bad += [("path_ratio", 0.0), ("n_features", 0), ("refit", "yes"), ("tol", 0.0)]
    for name, value in [*bad, ("max_iter", 0), ("margin", -0.5)]:
        with pytest.raises(ValueError, match=f"'{name}' parameter of MixedNormClassifier"):
            MixedNormClassifier().set_params(**{name: value}).fit(*problem)


def test_a_fit_shows_its_steps_where_asked(problem, capsys):
    MixedNormClassifier(path=3, verbose=1).fit(*problem)
    assert "rounds" in capsys.readouterr().err


def test_pieces_are_penalised_whole(digits):
    X, y = digits[0][:200], digits[1][:200]
    clf = MixedNormClassifier("l21", pool=Pieces(8, 3), path=4, path_ratio=0.5).fit(X, y)
    widths = clf.path_.features.widths
    assert clf.weights_.shape == (10, widths.sum())
    assert (widths == 65).all()
