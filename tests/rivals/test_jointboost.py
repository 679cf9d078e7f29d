import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_jointboost import joint_boost
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from shareboost.path import StopReason
from shareboost.rivals import JointBoostClassifier
from shareboost.rivals.jointboost import Margins

SEARCHES = ["forward", "exhaustive"]


@st.composite
def problems(draw):
    """Few rows with few values, NaN among them, of 2 to 4 classes, and their weights."""
    k = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(k, 14))
    X = rng.integers(0, draw(st.integers(2, 6)), size=(n, 2)).astype(float)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    y = np.concatenate([np.arange(k), rng.integers(0, k, size=n - k)])
    weight = rng.integers(1, 4, size=n) if draw(st.booleans()) else np.ones(n)
    return X, y, weight.astype(float), k


def weights_of_round(round_, k):
    """What a round adds to the intercept and to the column of its stump, (k,) each."""
    shared = np.isin(np.arange(k), round_.classes)
    return (
        np.where(shared, round_.a, round_.constants),
        np.where(shared, round_.b - round_.a, 0.0),
    )


@given(problems(), st.sampled_from(SEARCHES))
@settings(max_examples=15)
def test_rounds_are_those_of_the_naive_reference(problem, search):
    X, y, weight, k = problem
    clf = JointBoostClassifier(search=search, max_bins=None, max_iter=3, tol=1e-9)
    clf.fit(X, y, weight)
    steps = clf.path_.steps
    if clf.path_.n_atoms == 0:
        assert len(steps) == 1
        return
    naive = joint_boost(X, y.tolist(), weight.tolist(), k, search, len(steps) - 1)
    loss = 1.0
    for before, step, (round_, H, naive_loss) in zip(steps, steps[1:], naive, strict=False):
        details = step.details
        assert (details["atom"], details["classes"]) == (round_.atom, round_.classes)
        assert np.isclose(details["gain"], 0.5 * loss * (1 - round_.error / round_.weight))
        constants, slopes = weights_of_round(round_, k)
        added = step.W.copy()
        added[:, : before.W.shape[1]] -= before.W
        expected = np.zeros_like(added)
        expected[:, 0] = constants
        expected[:, 1 + step.atoms.index(round_.atom)] = slopes
        assert np.allclose(added, expected, atol=1e-9)
        assert np.allclose(clf._scores(X), np.transpose(H), atol=1e-9) or step is not steps[-1]
        assert np.isclose(step.loss, naive_loss)
        loss = naive_loss


@pytest.mark.parametrize("search", SEARCHES)
def test_many_rounds_are_those_of_the_naive_reference(search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2)).round(1)
    y = (X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(25, 3))).argmax(axis=1)
    weight = rng.uniform(0.2, 1, size=25)
    naive = joint_boost(X, y.tolist(), weight.tolist(), 3, search, 15)
    clf = JointBoostClassifier(search=search, max_iter=15).fit(X, y, weight)
    found = [(step.details["atom"], step.details["classes"]) for step in clf.path_.steps[1:]]
    assert found == [(round_.atom, round_.classes) for round_, _, _ in naive]
    assert np.allclose(clf.path_.losses[1:], [loss for _, _, loss in naive])
    for scores, (_, H, _) in zip(list(clf._staged_scores(X))[1:], naive, strict=True):
        assert np.allclose(scores, np.transpose(H))


@given(problems(), st.sampled_from(SEARCHES))
@settings(max_examples=10)
def test_the_loss_falls_by_more_than_half_of_every_gain(problem, search):
    """A theorem of least squares: every h is within -1 and 1, where
    exp(-x) <= 1 - x + (e - 2) x^2, and the weighted means of z h and of h^2 are the same."""
    X, y, weight, _ = problem
    path = JointBoostClassifier(search=search, max_iter=30).fit(X, y, weight).path_
    gains = np.array([step.details["gain"] for step in path])[1:]
    assert (gains > 0).all()
    assert (np.diff(path.losses) <= -2 * (3 - np.e) * gains + 1e-12).all()


def test_the_loss_is_the_average_exponential_loss(digits):
    X, y = digits
    weight = np.random.default_rng(0).uniform(0.5, 1, size=len(y))
    clf = JointBoostClassifier(8).fit(X, y, weight)
    z = np.where(y[:, None] == np.arange(10), 1.0, -1.0)
    for scores, loss in zip(clf._staged_scores(X), clf.path_.losses, strict=True):
        assert np.isclose(np.average(np.exp(-z * scores).mean(axis=1), weights=weight), loss)


def test_digits_are_told_apart(digits):
    X_train, X_test, y_train, y_test = train_test_split(*digits, random_state=0)
    clf = JointBoostClassifier(100).fit(X_train, y_train)
    assert len(clf.selected_) == 100
    assert clf.score(X_test, y_test) > 0.88


def test_the_exhaustive_search_is_at_least_as_good_in_the_first_round(digits):
    X, y = digits
    both = [JointBoostClassifier(search=search, max_iter=1).fit(X, y) for search in SEARCHES]
    forward, exhaustive = (clf.path_.steps[1].details["gain"] for clf in both)
    assert exhaustive >= forward - 1e-12


@pytest.mark.parametrize("search", SEARCHES)
def test_classes_that_look_alike_share_a_stump(search):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 30)
    X = rng.normal(size=(150, 6))
    X[:, 4] = np.where(np.isin(y, [0, 3]), 1.0, -1.0) + 0.1 * rng.normal(size=150)
    clf = JointBoostClassifier(search=search, max_iter=1).fit(X, y)
    assert clf.path_.steps[-1].details["classes"] == (0, 3)
    assert clf.columns_.tolist() == [4]
    assert len(np.unique(clf.weights_)) == 2  # the column has the form of the paper's section 2


@pytest.mark.parametrize("search", SEARCHES)
def test_a_column_that_is_a_copy_of_an_earlier_one_is_never_chosen(digits, search):
    X, y = digits
    X, y = X[y < 4], y[y < 4]
    clf = JointBoostClassifier(6, search=search).fit(X, y)
    twice = clone(clf).fit(np.hstack([X, X, -X]), y)
    assert np.array_equal(twice.columns_, clf.columns_)
    assert np.array_equal(twice.weights_, clf.weights_)


def test_sparse_input_gives_what_dense_does(digits):
    X, y = (part[:300] for part in digits)
    dense = JointBoostClassifier(8).fit(X, y)
    for kind in (sp.csr_array, sp.csc_matrix):
        sparse = JointBoostClassifier(8).fit(kind(X), y)
        assert np.array_equal(sparse.selected_, dense.selected_)
        assert np.allclose(sparse.weights_, dense.weights_, atol=1e-9)
        assert np.array_equal(sparse.predict(kind(X)), dense.predict(X))


def test_a_weight_equals_repeated_rows(digits):
    X, y = (part[:400] for part in digits)
    weight = np.random.default_rng(0).integers(0, 4, size=400)
    weighted = JointBoostClassifier(20, max_bins=6).fit(X, y, weight)
    repeated = JointBoostClassifier(20, max_bins=6).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert np.array_equal(weighted.selected_, repeated.selected_)
    assert np.allclose(weighted.weights_, repeated.weights_, atol=1e-9)
    assert np.allclose(weighted.intercept_, repeated.intercept_, atol=1e-9)


def test_a_class_of_no_weight_is_known_and_never_predicted(digits):
    X, y = digits
    clf = JointBoostClassifier(20).fit(X, y, y != 3)
    assert clf.classes_.tolist() == list(range(10))
    assert 3 not in clf.predict(X)
    assert (clf.decision_function(X)[:, 3] < 0).all()


def test_class_weights_count_as_weights(digits):
    X, y = digits
    by_class = JointBoostClassifier(5, class_weight={0: 3.0}).fit(X, y)
    by_row = JointBoostClassifier(5).fit(X, y, np.where(y == 0, 3.0, 1.0))
    assert np.array_equal(by_class.weights_, by_row.weights_)


def test_nan_lies_above_all_thresholds(digits):
    X, y = digits
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    clf = JointBoostClassifier(20).fit(gaps, y)
    high = JointBoostClassifier(20).fit(np.where(np.isnan(gaps), 1e3, gaps), y)
    assert np.array_equal(clf.predict(gaps), high.predict(np.where(np.isnan(gaps), 1e3, gaps)))
    assert clf.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.quiet
@pytest.mark.parametrize("search", SEARCHES)
def test_threads_do_not_matter(digits, search):
    X, y = digits
    X = np.vstack([X] * 3)  # two blocks of rows
    y = np.concatenate([y] * 3)
    X, y = (X, y) if search == "forward" else (X[y < 5], y[y < 5])
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(JointBoostClassifier(12, search=search).fit(X, y))
    one, two = fits
    assert np.array_equal(one.weights_, two.weights_)
    assert np.array_equal(one.intercept_, two.intercept_)
    assert one.path_.losses.tolist() == two.path_.losses.tolist()


def test_probabilities_are_normalised_sigmoids_of_twice_the_scores():
    X, y = load_iris(return_X_y=True)
    clf = JointBoostClassifier(5).fit(X, y)
    sigmoids = expit(2 * clf.decision_function(X))
    proba = clf.predict_proba(X)
    assert np.allclose(proba, sigmoids / sigmoids.sum(axis=1, keepdims=True))
    assert np.allclose(np.exp(clf.predict_log_proba(X)), proba)


def test_probabilities_of_two_classes_are_the_sigmoid_of_the_decision_function(problem):
    X, y = problem
    clf = JointBoostClassifier(5).fit(X, y > 1)
    assert np.allclose(clf.predict_proba(X)[:, 1], expit(clf.decision_function(X)))


def test_probabilities_of_one_stump_are_the_frequencies_on_its_sides():
    """Rounds on one binary column go to H = log(p / (1 - p)) / 2 on either side of it."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 1))
    y = np.where(rng.random(300) < 0.2, rng.integers(0, 2, size=300), X[:, 0])
    clf = JointBoostClassifier(max_iter=50, tol=1e-15).fit(X, y)
    for value in (0, 1):
        share = y[X[:, 0] == value].mean()
        assert np.isclose(clf.predict_proba([[value]])[0, 1], share, atol=1e-6)


def test_stumps_that_come_again_are_free(digits):
    clf = JointBoostClassifier(4).fit(*digits)
    path = clf.path_
    assert path.stop_reason == StopReason.N_FEATURES
    assert len(clf.selected_) == clf.cost_ == 4
    assert (np.diff(path.n_features) >= 0).all()
    stumps = [step.details["atom"] for step in path][1:]
    assert list(dict.fromkeys(stumps)) == clf.selected_.tolist()
    binary = JointBoostClassifier(1, max_iter=9, tol=0.0).fit([[0], [1], [1]], [0, 1, 0])
    assert binary.path_.n_features.tolist() == [0] + [1] * 9


def test_more_stumps_do_not_change_the_earlier_rounds(digits):
    X, y = digits
    short, long = (JointBoostClassifier(n).fit(X, y) for n in (5, 12))
    part = long.at(5)
    assert np.array_equal(part.weights_, short.weights_)
    assert np.array_equal(part.intercept_, short.intercept_)
    assert part.path_.stop_reason == short.path_.stop_reason == StopReason.N_FEATURES
    assert part.path_.losses.tolist() == short.path_.losses.tolist()


def test_max_iter_ends_the_rounds(digits):
    clf = JointBoostClassifier(max_iter=7).fit(*digits)
    assert clf.n_iter_ == 7
    assert len(clf.path_) == 8
    assert clf.path_.stop_reason == "reached max_iter"


def test_the_rounds_end_where_nothing_is_left_to_gain():
    X, y = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    clf = JointBoostClassifier().fit(X, y)
    assert clf.path_.stop_reason == StopReason.NO_GAIN
    assert clf.selected_.tolist() == [2]
    assert clf.score(X, y) == 1.0
    # Opposite signs share no stump: two rounds, of h = z for one class each, take a factor e.
    losses = clf.path_.losses
    assert np.allclose(losses[::2], np.exp(-np.arange((len(losses) + 1) // 2)))
    # What two classes lose to second order is half of the loss, so a round gains a quarter.
    gains = np.array([step.details["gain"] for step in clf.path_])[1:]
    assert np.allclose(gains[::2], losses[:-1:2] / 4)
    assert (gains > clf.tol).all()


def test_without_a_tolerance_rounds_go_on_to_the_last_bit():
    clf = JointBoostClassifier(tol=0.0).fit(np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1])
    assert clf.n_iter_ > 700
    assert np.isfinite(clf.decision_function([[0.0], [5.0]])).all()


def test_constant_columns_leave_the_start_alone():
    clf = JointBoostClassifier().fit(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])
    assert clf.path_.stop_reason == StopReason.EXHAUSTED
    assert len(clf.path_) == 1
    assert clf.weights_.shape == (2, 0)
    assert clf.columns_.size == 0
    assert np.allclose(clf.predict_proba(np.ones((3, 2))), 0.5)


def test_a_constant_column_beside_others_is_never_read(digits):
    X, y = digits
    with_constants = np.hstack([np.zeros((len(y), 1)), X])
    clf = JointBoostClassifier(10).fit(with_constants, y)
    assert np.array_equal(clf.columns_, JointBoostClassifier(10).fit(X, y).columns_ + 1)


def test_the_path_tells_of_every_round(digits):
    X, y = digits
    clf = JointBoostClassifier(6).fit(X, y)
    frame = clf.path_.to_frame()
    assert frame["atom"].iloc[0] == -1
    assert frame["classes"].iloc[0] == ()
    assert frame["iterations"].tolist() == [0] + [1] * clf.n_iter_
    assert frame["n_features"].iloc[-1] == 6
    assert (np.diff(frame["seconds"]) > 0).all()
    scores = list(clf.staged_decision_function(X))
    assert len(scores) == len(clf.path_)
    assert np.allclose(scores[0], 0.0)
    assert np.array_equal(list(clf.staged_predict(X))[-1], clf.predict(X))
    for t in (0, 3, 6):
        assert np.allclose(
            clf.path_.at(t).scores(X), scores[np.flatnonzero(clf.path_.n_features <= t)[-1]]
        )


def test_a_pickled_classifier_predicts_the_same(digits):
    X, y = digits
    clf = JointBoostClassifier(10).fit(X, y)
    back = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(back.decision_function(X), clf.decision_function(X))
    assert np.array_equal(back.at(4).weights_, clf.at(4).weights_)


def test_an_interrupt_leaves_the_finished_rounds(digits, monkeypatch):
    X, y = digits
    whole = JointBoostClassifier(10).fit(X, y)
    add, rounds = Margins.add, []

    def interrupted(self, fit):
        if len(rounds) == 4:
            raise KeyboardInterrupt
        rounds.append(fit)
        add(self, fit)

    monkeypatch.setattr(Margins, "add", interrupted)
    clf = JointBoostClassifier(10)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert clf.path_.stop_reason == StopReason.INTERRUPTED
    assert clf.n_iter_ == 4
    assert clf.path_.losses.tolist() == whole.path_.losses[:5].tolist()
    assert np.array_equal(clf.path_.steps[-1].W, whole.path_.steps[4].W)


def test_the_exhaustive_search_is_refused_for_many_classes():
    X, y = np.arange(13.0)[:, None], np.arange(13)
    with pytest.raises(ValueError, match=r"search='exhaustive'.*13 classes.*12.*'forward'"):
        JointBoostClassifier(search="exhaustive").fit(X, y)
    JointBoostClassifier(search="forward", max_iter=2).fit(X, y)
    JointBoostClassifier(search="exhaustive", max_iter=1).fit(X[:12], y[:12])


def test_bad_parameters_are_named():
    bad = {"n_features": 0, "search": "best", "max_bins": 1, "max_iter": 0, "tol": -1.0}
    for name, value in {**bad, "class_weight": "equal", "verbose": "loud"}.items():
        with pytest.raises(ValueError, match=f"'{name}' parameter of JointBoostClassifier"):
            JointBoostClassifier(**{name: value}).fit([[0.0], [1.0]], [0, 1])


def test_a_bar_shows_the_rounds(digits, capsys):
    JointBoostClassifier(3, verbose=1).fit(*digits)
    assert "rounds" in capsys.readouterr().err


def test_numba_is_imported_when_first_used():
    code = "import sys, shareboost.datasets, shareboost.rivals; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
