"""One-vs-rest against ShareBoost on every binary problem, peers, and its own laws."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_problem
from every_pool import POOLS_TO_TEST, every_pool
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import covering
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost.backends import numpy as host_module
from shareboost.losses import BinaryLogisticLoss
from shareboost.path import StopReason
from shareboost.pools import Columns, Pieces, Stumps
from shareboost.rivals import OneVsRestGreedyClassifier, one_vs_rest
from shareboost.rows import Rows

SPENDS = ["largest", "in_turn"]
both_spends = pytest.mark.parametrize("spend", SPENDS)

# Refits to the minimum, so that nothing depends on where they began.
EXACT = {"refit_tol": 1e-5, "tol": 1e-7, "max_iter": 5000}


def exact(n_features, **parameters):
    return OneVsRestGreedyClassifier(n_features, **{**EXACT, "alpha": 1e-3, **parameters})


def turns(clf):
    """The class and the atom of every step but the first."""
    return [(step.details["class"], step.details["atom"]) for step in list(clf.path_)[1:]]


def own_atoms(clf, q):
    """The atoms that a class added, in its order."""
    return [atom for class_, atom in turns(clf) if class_ == q]


def staged_scores(clf, X):
    """The scores of every step, (rows, classes)."""
    return [clf.path_.model(step).scores(X) for step in clf.path_]


def correlations(clf, X, y, scores, margin=1.0):
    """The gradient of every class's average loss in the weights of scaled columns."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    sign = np.where(y[:, None] == np.arange(len(clf.classes_)), 1.0, -1.0)
    return Z.T @ (-sign * expit(margin - sign * scores)) / len(y)


@covering(
    rule=["gradient", "newton", "line_search", "column", "refit"],
    spend=SPENDS,
    margin=[1.0, 0.0],
    intercept=[True, False],
    weighted=[False, True],
)
def test_every_class_is_shareboost_on_its_binary_problem(
    problem, rule, spend, margin, intercept, weighted
):
    """With weights w of one score, two of w/2 and -w/2 have half the sum of squares."""
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.2, 3, size=len(y)) if weighted else None
    alike = {"rule": rule, "shortlist": 4, "margin": margin, "fit_intercept": intercept}
    clf = exact(9, spend=spend, **alike).fit(X, y, sample_weight=weight)
    scores = staged_scores(clf, X)
    for q in range(4):
        atoms = own_atoms(clf, q)
        peer = ShareBoostClassifier(len(atoms), **{**EXACT, "alpha": 2e-3, "tol": 2e-7}, **alike)
        peer.fit(X, y == q, sample_weight=weight)
        assert peer.selected_.tolist() == atoms
        own = [step for step in clf.path_ if step.details["class"] == q]
        times = 2.0 if rule in ("gradient", "newton") else 1.0  # a norm over two scores
        found = [times * step.details["score"] for step in own]
        assert np.allclose(found, peer.path_.scores, rtol=1e-3)
        assert np.allclose(scores[-1][:, q], peer.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "newton"])
def test_without_a_margin_every_class_is_logistic_regression(problem, solver):
    X, y = problem
    alpha = 1e-2
    clf = exact(12, pool=Columns("none"), margin=0.0, alpha=alpha, solver=solver).fit(X, y)
    order = clf.selected_.argsort()
    sigmoids = []
    for q in range(4):
        assert sorted(own_atoms(clf, q)) == list(range(12))
        peer = LogisticRegression(C=1 / (2 * alpha * len(y)), tol=1e-10, max_iter=5000)
        peer.fit(X, y == q)
        assert np.allclose(clf.weights_[q, order], peer.coef_[0], atol=1e-4)
        assert clf.intercept_[q] == pytest.approx(peer.intercept_[0], abs=1e-4)
        sigmoids.append(peer.predict_proba(X)[:, 1])
    expected = np.array(sigmoids).T
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.allclose(clf.predict_proba(X), expected, atol=1e-4)
    assert np.allclose(clf.predict_log_proba(X), np.log(expected), atol=1e-3)
    assert clf.path_.stop_reason == StopReason.EXHAUSTED


def test_the_class_of_the_largest_score_adds_its_best_feature(problem):
    X, y = problem
    clf = exact(7, alpha=0.0).fit(X, y)
    scores = staged_scores(clf, X)
    used = {q: [] for q in range(4)}
    for step, before in zip(list(clf.path_)[1:], scores[:-1], strict=True):
        size = np.abs(correlations(clf, X, y, before))
        for q, atoms in used.items():
            size[atoms, q] = 0.0
        atom, q = np.unravel_index(size.argmax(), size.shape)
        assert step.details == {"class": q, "atom": atom, "score": pytest.approx(size.max())}
        used[q].append(atom)


def test_classes_take_turns_and_one_without_gain_is_passed_over():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 8)), np.arange(300) % 3
    X[:, 5] = np.where(y == 1, 9.0, -9.0) + rng.uniform(-1, 1, 300)  # all that class 1 needs
    clf = OneVsRestGreedyClassifier(6, spend="in_turn", tol=1e-3).fit(X, y)
    classes = [q for q, _ in turns(clf)]
    assert classes[:3] == [0, 1, 2]
    assert 1 not in classes[3:]
    assert classes[3:] == [0, 2] * (len(classes[3:]) // 2) + [0] * (len(classes[3:]) % 2)
    assert own_atoms(clf, 1) == [5]
    assert (np.delete(clf.weights_[1], clf.selected_ == 5) == 0).all()


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 9), st.sampled_from(SPENDS))
def test_the_budget_is_spent_exactly_and_never_exceeded(seed, k, n_features, spend):
    X, y = random_problem(seed, n=120, d=8, k=k)
    clf = OneVsRestGreedyClassifier(n_features, spend=spend, tol=1e-2, alpha=1e-3).fit(X, y)
    path = clf.path_
    numbers = path.n_features
    assert numbers[0] == 0
    assert set(np.diff(numbers)) <= {0, 1}
    first = list(dict.fromkeys(atom for _, atom in turns(clf)))
    assert clf.selected_.tolist() == first
    assert (path.stop_reason == StopReason.N_FEATURES) <= (numbers[-1] == n_features)
    assert numbers[-1] <= min(n_features, 8)
    longer = clone(clf).set_params(n_features=n_features + 1).fit(X, y)
    assert turns(longer)[: len(turns(clf))] == turns(clf)
    if path.stop_reason == StopReason.N_FEATURES:  # the next turn would have brought a new one
        assert turns(longer)[len(turns(clf))][1] not in first
    for q in range(k):
        assert len(own_atoms(clf, q)) == len(set(own_atoms(clf, q)))
        assert set(clf.selected_[clf.weights_[q] != 0]) <= set(own_atoms(clf, q))


@both_spends
def test_what_another_class_uses_already_costs_nothing(spend):
    X, y = random_problem(0, k=2)
    clf = OneVsRestGreedyClassifier(1, spend=spend).fit(X, y)
    best = clf.selected_[0]
    assert turns(clf) == [(0, best), (1, best)]
    assert clf.path_.n_features.tolist() == [0, 1, 1]
    assert clf.path_.stop_reason == StopReason.N_FEATURES


def test_two_classes_mirror_each_other(problem):
    X, y = problem
    clf = OneVsRestGreedyClassifier(4).fit(X, y > 1)
    assert own_atoms(clf, 0) == own_atoms(clf, 1)
    assert np.array_equal(clf.weights_[0], -clf.weights_[1])
    decision = clf.decision_function(X)
    assert decision.shape == (150,)
    assert np.allclose(clf.predict_proba(X)[:, 1], expit(decision / 2))


def test_the_loss_is_the_mean_of_the_binary_ones(problem):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.2, 3, size=len(y))
    clf = OneVsRestGreedyClassifier(6).fit(X, y, sample_weight=weight)
    sign = np.where(y[:, None] == np.arange(4), 1.0, -1.0)
    for step, scores in zip(clf.path_, staged_scores(clf, X), strict=True):
        losses = weight @ np.logaddexp(0.0, 1.0 - sign * scores) / weight.sum()
        assert step.loss == pytest.approx(losses.mean())


def test_all_classes_are_refit_tightly_in_the_last_step_alone(problem):
    X, y = problem
    clf = OneVsRestGreedyClassifier(6, alpha=0.0, refit_tol=0.5).fit(X, y)
    left = []
    for t, scores in enumerate(staged_scores(clf, X)[1:], start=1):
        slopes = np.abs(correlations(clf, X, y, scores))
        left.append(max(slopes[atom, q] for q, atom in turns(clf)[:t]))
    assert left[-1] <= 1.01e-5
    assert min(left[:-1]) > 1e-3


@both_spends
def test_losses_fall_with_every_step(digits, spend):
    clf = OneVsRestGreedyClassifier(12, spend=spend).fit(*digits)
    assert (np.diff(clf.path_.losses) < 0).all()


def test_the_smooth_norms_are_one_norm_for_one_class(problem):
    X, y = problem
    one, two = (exact(5, penalty=penalty).fit(X, y) for penalty in ("l1", "linf1"))
    assert turns(one) == turns(two)
    assert np.allclose(one.weights_, two.weights_, atol=1e-4)


@every_pool
def test_every_pool_gives_models_of_its_columns(name, digits):
    X, y = digits[0][:200], digits[1][:200]
    clf = OneVsRestGreedyClassifier(6, pool=POOLS_TO_TEST[name], alpha=1e-3, tol=1e-3).fit(X, y)
    assert len(clf.selected_) == 6
    columns = clf._model().features.columns(X)
    assert columns.shape[1] == clf.weights_.shape[1] == len(clf.get_feature_names_out())
    scores = clf.decision_function(X)
    assert np.allclose(scores, columns @ clf.weights_.T + clf.intercept_, rtol=1e-3, atol=1e-3)
    sign = np.where(y[:, None] == clf.classes_, 1.0, -1.0)
    loss = np.logaddexp(0.0, 1.0 - sign * scores).mean()
    assert clf.path_.losses[-1] == pytest.approx(loss, rel=1e-3)
    assert len(set(turns(clf))) == len(turns(clf))


@pytest.mark.quiet
@pytest.mark.parametrize("pool", ["columns", Stumps(max_bins=16), Pieces(12, 6)], ids=str)
def test_results_are_the_same_bits_for_any_number_of_threads(pool, digits, monkeypatch):
    monkeypatch.setattr(host_module, "BLOCK_ROWS", 150)
    X, y = digits[0][:600], digits[1][:600]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            clf = OneVsRestGreedyClassifier(5, pool=pool, alpha=1e-3, tol=1e-3)
            found.append(clf.fit(X, y))
    assert turns(found[0]) == turns(found[1])
    assert np.array_equal(found[0].weights_, found[1].weights_)
    assert np.array_equal(found[0].intercept_, found[1].intercept_)


@pytest.mark.parametrize(("spend", "make"), [("largest", sp.csr_array), ("in_turn", sp.csc_array)])
def test_sparse_rows_give_what_dense_rows_give(problem, spend, make):
    X, y = problem
    X = np.where(np.abs(X) < 0.4, 0.0, X)
    dense = OneVsRestGreedyClassifier(5, spend=spend).fit(X, y)
    sparse = OneVsRestGreedyClassifier(5, spend=spend).fit(make(X), y)
    assert turns(dense) == turns(sparse)
    assert np.allclose(dense.decision_function(X), sparse.decision_function(make(X)))


@both_spends
def test_a_class_without_weight_is_known_and_adds_nothing(problem, spend):
    X, y = problem
    weight = np.where(y == 2, 0.0, 1.0)
    clf = OneVsRestGreedyClassifier(5, spend=spend).fit(X, y, sample_weight=weight)
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    assert own_atoms(clf, 2) == []
    assert (clf.weights_[2] == 0).all()
    assert 2 not in clf.predict(X)
    without = OneVsRestGreedyClassifier(5, spend=spend).fit(X[y != 2], y[y != 2])
    assert clf.selected_.tolist() == without.selected_.tolist()
    assert np.allclose(clf.weights_[[0, 1, 3]], without.weights_)


def test_without_an_intercept_a_class_without_weight_is_still_never_predicted(problem):
    X, y = problem
    weight = np.where(y == 2, 0.0, 1.0)
    clf = OneVsRestGreedyClassifier(9, fit_intercept=False).fit(X + 1.0, y, sample_weight=weight)
    assert (clf.intercept_ == 0).all()
    assert 2 not in clf.predict(X + 1.0)


def test_stumps_take_gaps(problem):
    X, y = problem
    X = np.where(X > 0.8, np.nan, X)
    clf = OneVsRestGreedyClassifier(8, pool="stumps").fit(X, y)
    assert clf.score(X, y) > np.bincount(y).max() / len(y)


def test_class_weights_are_weights_of_rows(problem):
    X, y = problem
    of_class = {0: 1.0, 1: 3.0, 2: 0.5, 3: 2.0}
    one = exact(5, class_weight=of_class).fit(X, y)
    two = exact(5).fit(X, y, sample_weight=[of_class[label] for label in y])
    assert turns(one) == turns(two)
    assert np.allclose(one.weights_, two.weights_)


def test_whole_weights_are_repeats(problem):
    X, y = problem
    times = np.random.default_rng(0).integers(1, 4, size=len(y))
    weighted = exact(5).fit(X, y, sample_weight=times)
    repeated = exact(5).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert turns(weighted) == turns(repeated)
    assert np.allclose(weighted.weights_, repeated.weights_, atol=1e-4)


def test_without_candidates_that_vary_the_majority_is_left(problem):
    _, y = problem
    clf = OneVsRestGreedyClassifier().fit(np.ones((len(y), 2)), y)
    assert len(clf.path_) == 1
    assert set(clf.predict(np.ones((3, 2)))) == {np.bincount(y).argmax()}
    assert clf.path_.stop_reason == StopReason.EXHAUSTED


def test_the_steps_end_where_no_class_has_anything_to_gain(problem):
    X, y = problem
    clf = OneVsRestGreedyClassifier(12, tol=0.05).fit(X, y)
    assert clf.path_.stop_reason == StopReason.NO_GAIN
    assert min(step.details["score"] for step in list(clf.path_)[1:]) >= 0.05
    size = np.abs(correlations(clf, X, y, staged_scores(clf, X)[-1]))
    assert size.max() < 0.051


def test_the_frame_tells_whose_turn_it_was(problem):
    X, y = problem
    clf = OneVsRestGreedyClassifier(4, spend="in_turn").fit(X, y)
    frame = clf.path_.to_frame()
    assert frame["class"].tolist() == [-1, *(q for q, _ in turns(clf))]
    assert frame["atom"].tolist() == [-1, *(atom for _, atom in turns(clf))]
    assert np.isnan(frame["score"][0])
    assert frame["name"].tolist() == ["", *(f"x{atom}" for _, atom in turns(clf))]
    assert frame["iterations"].sum() == clf.n_iter_
    assert clf.cost_ == 4.0
    shorter = clf.at(2)
    assert len(shorter.selected_) == 2
    assert len(shorter.path_) == (frame["n_features"] <= 2).sum()
    assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict(X), clf.predict(X))


@pytest.mark.parametrize("method", ["add", "finish"])
def test_an_interrupt_keeps_the_finished_steps(problem, monkeypatch, method):
    X, y = problem
    whole = OneVsRestGreedyClassifier(5).fit(X, y)
    n_turns = len(turns(whole))
    calls = []
    proper = getattr(one_vs_rest.OneClass, method)

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return proper(*arguments)

    monkeypatch.setattr(one_vs_rest.OneClass, method, interrupted)
    clf = OneVsRestGreedyClassifier(5)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert turns(clf) == turns(whole)[: 3 if method == "add" else n_turns]
    assert clf.path_.stop_reason == StopReason.INTERRUPTED
    assert clf.predict(X).shape == (150,)
    for one, two in zip(list(clf.path_)[:-1], whole.path_, strict=False):
        assert np.array_equal(one.W, two.W)


def test_a_refit_that_did_not_converge_is_told_with_advice(problem):
    X, y = problem
    with pytest.warns(ConvergenceWarning, match=r"class \d.* features ended .*Raise max_iter=2"):
        OneVsRestGreedyClassifier(4, max_iter=2).fit(X, y)


def test_bad_parameters_are_named(problem):
    bad = {"n_features": 0, "spend": "all", "pool": "none", "rule": "best", "penalty": "l2"}
    bad |= {"alpha": -1.0, "margin": -0.5, "tol": 0.0, "refit_tol": 1.0, "max_iter": 0}
    for name, value in {**bad, "solver": "sgd"}.items():
        with pytest.raises(ValueError, match=f"'{name}' parameter of OneVsRestGreedyClassifier"):
            OneVsRestGreedyClassifier(**{name: value}).fit(*problem)


def test_a_fit_shows_its_steps_where_asked(problem, capsys):
    OneVsRestGreedyClassifier(3, verbose=1).fit(*problem)
    assert "rounds" in capsys.readouterr().err


@pytest.mark.parametrize("intercept", [True, False])
def test_relabelled_rows_are_rows_made_with_those_labels(problem, intercept, monkeypatch):
    monkeypatch.setattr(host_module, "BLOCK_ROWS", 40)
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    pool = Columns("maxabs").fit(X, weight)
    labels = [(y == q).astype(np.intp) for q in (1, 2)]
    evaluated = []
    with (
        Rows(X, labels[0], weight, pool, 1, intercept) as rows,
        Rows(X, labels[1], weight, pool, 1, intercept) as anew,
    ):
        rows.append(5)
        for each in (one_vs_rest.relabelled(rows, labels[1]), anew):
            each.append(3)
            each.append(0)
            W = np.random.default_rng(1).normal(size=(1, each.n_columns))
            value, gradient = each.evaluate(W, BinaryLogisticLoss())
            sums = each._prepare(True)
            prepared = np.hstack([block.prepared for block in each.shard.blocks])
            columns = np.hstack([block.columns[: each.n_columns] for block in each.shard.blocks])
            evaluated.append((value, gradient, sums, prepared, columns, each.gram.matrix))
        assert np.array_equal(np.concatenate([block.y for block in rows.shard.blocks]), labels[0])
    for one, two in zip(*evaluated, strict=True):
        assert np.array_equal(one, two)
