"""Mixed norms against a general convex solver, the conditions of their minima, and laws."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_problem
from every_pool import POOLS_TO_TEST, every_pool
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_mixed_norm import minimum, objective, violation
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost import rows as rows_module
from shareboost.datasets import make_redundant_blocks, make_shared_bits
from shareboost.path import StopReason
from shareboost.pools import Columns, Pieces, Stumps, Union
from shareboost.rivals import MixedNormClassifier, mixed_norm
from shareboost.rivals.active_atoms import ActiveAtoms

both_norms = pytest.mark.parametrize("norm", ["linf1", "l21"])


@parametrize_with_checks(
    [
        MixedNormClassifier(path=8),
        MixedNormClassifier("l21", path=4, refit=True),
        MixedNormClassifier(alpha=0.05),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def scaled(X, weight, centred=True):
    """The columns in training units, their centres and scales."""
    center = np.average(X, axis=0, weights=weight) if centred else np.zeros(X.shape[1])
    scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weight))
    return (X - center) / scale, center, scale


def in_training_units(model, center, scale):
    """W, (k, d), and the intercepts of a model of columns, for scaled and centred columns."""
    W = np.zeros((model.coef.shape[0], center.size))
    W[:, model.features.ids] = model.coef
    return W * scale, model.intercept + W @ center


def worst_on_path(clf, X, y, weight=None, centred=True):
    """The largest violation of any step, by the definition."""
    weight = np.ones(len(y)) if weight is None else weight
    Z, *units = scaled(X, weight, centred)
    found = []
    for step in clf.path_:
        W, b = in_training_units(clf.path_.model(step), *units)
        alpha = step.details["alpha"]
        found.append(violation(Z, y, weight, W, b, clf.norm, alpha, clf.margin, intercept=centred))
    return max(found)


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


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from(["linf1", "l21"]), st.booleans())
def test_every_minimum_of_a_path_meets_its_conditions(seed, k, norm, centred):
    X, y = random_problem(seed, n=80, d=10, k=k)
    weight = np.random.default_rng(seed).uniform(0.1, 1, size=80)
    clf = MixedNormClassifier(norm, path=8, path_ratio=0.05, fit_intercept=centred)
    clf.fit(X, y, weight)
    assert worst_on_path(clf, X, y, weight, centred) <= 1.01e-6
    assert max(step.details["violation"] for step in clf.path_) <= 1e-6


@both_norms
def test_digits_in_float32_meet_the_conditions_too(norm, digits):
    X, y = digits[0][:, digits[0].std(axis=0) > 0], digits[1]
    clf = MixedNormClassifier(norm, path=10, path_ratio=0.05).fit(X.astype(np.float32), y)
    assert worst_on_path(clf, X, y) <= 1.1e-6


@both_norms
@every_pool
def test_minima_over_every_pool_meet_their_conditions(name, norm, digits):
    X, y = digits[0][:150], digits[1][:150]
    clf = MixedNormClassifier(norm, pool=POOLS_TO_TEST[name], path=3, path_ratio=0.5).fit(X, y)
    pool = clone(POOLS_TO_TEST[name]).fit(X, np.ones(150))
    atoms = range(pool.n_atoms_)
    data = pool.encode(X, slice(0, 150))
    columns = np.vstack([pool.columns(data, atom) for atom in atoms]).T.astype(np.float64)
    Z = (columns - columns.mean(axis=0)) / np.concatenate([pool.scales(atom) for atom in atoms])
    groups = np.repeat(atoms, pool.features(atoms).widths)
    if pool.choosable is not None:
        Z[:, ~pool.choosable[groups]] = 0.0
    prices = np.ones(pool.n_atoms_) if pool.divisors is None else pool.divisors
    for step in clf.path_.steps:
        own = np.concatenate([[], *(np.flatnonzero(groups == atom) for atom in step.atoms)])
        W = np.zeros((10, Z.shape[1]))
        W[:, own.astype(int)] = step.W[:, 1:]
        alphas = step.details["alpha"] * prices
        missed = violation(Z, y, np.ones(150), W, step.W[:, 0], norm, alphas, groups=groups)
        assert missed <= 1.1e-6
    assert len(clf.selected_) > 0
    assert clf.transform(X).shape[1] == clf.coef_.shape[1]


@both_norms
@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
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
    assert np.allclose(given_back.coef_, clf.coef_, atol=1e-4)
    alone = MixedNormClassifier(norm, alpha=alphas[-1], path=7).fit(X, y)
    assert [step.details["alpha"] for step in alone.path_] == [alphas[0], alphas[-1]]
    assert set(alone.selected_) == set(clf.selected_)
    assert np.allclose(alone.decision_function(X), clf.decision_function(X), atol=1e-3)


@both_norms
def test_as_alpha_falls_the_loss_falls_and_the_norm_rises(digits, norm):
    """A law of penalties: of two minima, each is the better one for its own alpha."""
    clf = MixedNormClassifier(norm, path=12).fit(*digits)
    frame = clf.path_.to_frame()
    assert (np.diff(frame["loss"]) < 0).all()
    assert (np.diff(frame["norm"]) > 0).all()
    for (_, a), (_, b) in zip(frame[:-1].iterrows(), frame[1:].iterrows(), strict=True):
        assert a.loss + a.alpha * a.norm <= b.loss + a.alpha * b.norm + 1e-6
        assert b.loss + b.alpha * b.norm <= a.loss + b.alpha * a.norm + 1e-6
    assert frame["iterations"].sum() == clf.n_iter_


@both_norms
def test_the_path_ends_before_more_features_than_asked_for(digits, norm):
    X, y = digits
    whole = MixedNormClassifier(norm, path=40).fit(X, y)
    clf = MixedNormClassifier(norm, path=40, n_features=12).fit(X, y)
    n = int(np.argmax(whole.path_.n_features > 12))
    assert clf.path_.stop_reason == StopReason.N_FEATURES
    for one, two in zip(clf.path_.steps[:n], whole.path_.steps[:n], strict=True):
        assert one.atoms == two.atoms
        assert np.array_equal(one.W, two.W)
    assert clf.path_.n_features.max() <= 12 < whole.path_.n_features[n]
    assert whole.path_.stop_reason == StopReason.LAST_ALPHA


@both_norms
@pytest.mark.parametrize("path", [2, 5, 30])
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
    assert np.array_equal(clf.coef_, MixedNormClassifier(alpha=0.05).fit(X, y).coef_)


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


def test_a_refit_follows_features_that_leave():
    """Sets of a path need not be nested: an atom that is gone takes its weights along."""
    X, y = random_problem(9, n=60, d=8, k=3)
    X[:, 0] = X[:, 1] + X[:, 2]
    clf = MixedNormClassifier("l21", path=20, refit=True).fit(X, y)
    sets = [set(step.atoms) for step in clf.path_]
    assert any(one - two for one, two in pairwise(sets))
    for step in clf.path_.steps[1:]:
        others = list(set(range(8)) - set(step.atoms))
        again = ShareBoostClassifier(8, alpha=0.0, tol=1e-6, exclude=others).fit(X, y)
        assert step.loss == pytest.approx(again.path_.losses[-1], abs=1e-6)


def evenly_redundant_blocks(n_blocks, n_classes, zeroed):
    """The second example of section 6 with all rows that may be drawn, weighted by chance."""
    whole, y = make_redundant_blocks(n_blocks, n_classes, n_samples=n_classes, zeroed=0.0)
    rows, weight = [whole], [np.full(n_classes, 1.0 - zeroed)]
    for lost in np.split(np.arange(whole.shape[1]), n_blocks):
        rows.append(whole.copy())
        rows[-1][:, lost] = 0.0
        weight.append(np.full(n_classes, zeroed / n_blocks))
    return np.vstack(rows), np.tile(y, n_blocks + 1), np.concatenate(weight)


@pytest.mark.parametrize("n_blocks", [2, 5, 10, 30])
def test_the_mixed_norm_spreads_over_all_blocks_where_shareboost_needs_one(n_blocks):
    """Section 6: by Jensen's inequality all blocks alike are better than any one of them."""
    bits = 3
    X, y, weight = evenly_redundant_blocks(n_blocks, 8, zeroed=0.1)
    clf = MixedNormClassifier(path=30, path_ratio=1e-3).fit(X, y, weight)
    for step in clf.path_.steps[1:]:
        assert len(step.atoms) == n_blocks * bits
        sizes = np.abs(step.W[:, 1:]).max(axis=0)
        assert np.allclose(sizes, sizes.mean(), rtol=0.05)
    share = ShareBoostClassifier(bits).fit(X, y, weight)
    assert sorted(share.selected_ % bits) == list(range(bits))  # every bit once
    # It tells all rows but those that lost its block, which it tells by half of their bits.
    assert 1 - share.score(X, y, weight) <= 0.1 / n_blocks
    assert clf.path_.losses[-1] < share.path_.losses[-1]


@pytest.mark.parametrize("n_blocks", [2, 5, 10])
def test_so_it_does_on_drawn_rows_at_every_alpha_that_fits_as_well_as_one_block(n_blocks):
    bits = 3
    X, y = make_redundant_blocks(n_blocks, 8, n_samples=2000, zeroed=0.1, random_state=0)
    clf = MixedNormClassifier(path=30, path_ratio=1e-3).fit(X, y)
    share = ShareBoostClassifier(bits).fit(X, y)
    fits = clf.path_.losses <= share.path_.losses[-1]
    assert fits.sum() >= 10
    assert (clf.path_.n_features[fits] == n_blocks * bits).all()
    assert len(share.selected_) == bits
    assert sorted(share.selected_ % bits) == list(range(bits))


@pytest.mark.parametrize("k", [4, 16, 64])
def test_the_mixed_norm_finds_the_shared_bits(k):
    """The first example of section 6: for some weight of the norm the bits alone are used."""
    X, y = make_shared_bits(k)
    bits = int(np.log2(k))
    clf = MixedNormClassifier(path=20, path_ratio=1e-2).fit(X, y)
    sets = [set(step.atoms) for step in clf.path_]
    place = sets.index(set(range(bits)))
    assert (list(clf.staged_predict(X))[place] == y).all()


@both_norms
@pytest.mark.parametrize("pool", ["columns", "products", Stumps(max_bins=8)], ids=str)
def test_results_are_the_same_bits_for_any_number_of_threads(norm, pool, digits, monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", 150)
    X, y = digits[0][:400], digits[1][:400]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(MixedNormClassifier(norm, pool=pool, path=4, path_ratio=0.3).fit(X, y))
    assert np.array_equal(found[0].coef_, found[1].coef_)
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
    assert np.array_equal(by_class.coef_, by_row.coef_)


@both_norms
def test_two_classes_have_weights_of_opposite_signs(problem, norm):
    X, y = problem
    clf = MixedNormClassifier(norm, path=6).fit(X, y > 1)
    assert np.allclose(clf.coef_[0], -clf.coef_[1], atol=1e-5)
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
    with pytest.warns(ConvergenceWarning, match=r"alpha=.* misses .*others. Raise max_iter=3"):
        clf = MixedNormClassifier(path=5, max_iter=3).fit(X, y)
    assert clf.path_.steps[-1].details["violation"] > 1e-6


def test_a_refit_that_is_not_finished_is_told_with_advice(problem, monkeypatch):
    from shareboost.rivals import norm_path

    monkeypatch.setattr(norm_path, "REFIT_TOL", 1e-30)
    with pytest.warns(ConvergenceWarning, match="refit without the penalty ended with a gradient"):
        MixedNormClassifier(path=3, refit=True).fit(*problem)


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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_columns_that_are_too_large_are_an_error(problem):
    X, y = problem
    with pytest.raises(FloatingPointError, match="too large"):
        MixedNormClassifier(pool=Columns("none"), path=5).fit(X * 1e306, y)


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


def test_a_pickled_classifier_predicts_the_same(problem):
    X, y = problem
    clf = MixedNormClassifier(path=6).fit(X, y)
    back = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(back.decision_function(X), clf.decision_function(X))
    assert clone(clf).get_params() == clf.get_params()


def test_pools_of_too_many_features_are_refused(problem, monkeypatch):
    monkeypatch.setattr(mixed_norm, "MOST_ATOMS", 66)
    message = r"pool has 66 features here: .* fewer than 66. ShareBoostClassifier takes any"
    with pytest.raises(ValueError, match=message):
        MixedNormClassifier(pool="products").fit(*problem)
    MixedNormClassifier(path=2).fit(*problem)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("norm", "l1"),
        ("pool", "none"),
        ("alpha", 0.0),
        ("alpha", -1.0),
        ("path", 1),
        ("path_ratio", 1.0),
        ("path_ratio", 0.0),
        ("n_features", 0),
        ("refit", "yes"),
        ("tol", 0.0),
        ("max_iter", 0),
        ("margin", -0.5),
    ],
)
def test_bad_parameters_are_named(problem, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of MixedNormClassifier"):
        MixedNormClassifier().set_params(**{name: value}).fit(*problem)


@pytest.mark.parametrize(
    "path", [[], [0.1, 0.0], [0.1, -1.0], [0.1, np.nan], [np.inf], [[0.1]], ["a", "b"]], ids=str
)
def test_paths_that_are_not_alphas_are_refused(problem, path):
    with pytest.raises(ValueError, match="path=.* is not valid"):
        MixedNormClassifier(path=path).fit(*problem)


def test_a_fit_shows_its_steps_where_asked(problem, capsys):
    MixedNormClassifier(path=3, verbose=1).fit(*problem)
    assert "rounds" in capsys.readouterr().err


def test_pieces_are_penalised_whole(digits):
    X, y = digits[0][:200], digits[1][:200]
    clf = MixedNormClassifier("l21", pool=Pieces(8, 3), path=4, path_ratio=0.5).fit(X, y)
    widths = clf.path_.features.widths
    assert clf.coef_.shape == (10, widths.sum())
    assert (widths == 65).all()
