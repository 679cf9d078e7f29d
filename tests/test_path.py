"""The curve of one run: any length of it, longer ones from it, and what an interrupt leaves."""

import pickle
import signal
import sys
from time import perf_counter

import numpy as np
import pytest
import scipy.sparse as sp
from ctrl_c import heeding_ctrl_c
from sklearn.datasets import load_wine

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason
from shareboost.penalties import Frobenius, SmoothL1
from shareboost.pools import Columns


def test_at_and_staged_come_from_the_one_run(digits):
    X, y = digits
    clf = ShareBoostClassifier(12).fit(X, y)
    staged = list(clf.staged_predict(X))
    decisions = list(clf.staged_decision_function(X))
    assert len(staged) == len(decisions) == 12
    for t in (1, 5, 12):
        shorter = clf.at(t)
        assert np.array_equal(shorter.selected_, clf.selected_[:t])
        assert np.array_equal(shorter.predict(X), staged[t - 1])
        assert np.allclose(shorter.decision_function(X), decisions[t - 1])
        assert np.allclose(clf.path_.at(t).scores(X), decisions[t - 1])
        assert len(shorter.path_) == t
        assert shorter.n_features == t
    assert np.allclose(decisions[-1], clf.decision_function(X))
    assert clf.n_features == 12


def test_the_first_and_the_last_refit_are_tight_and_those_between_follow_the_score(digits):
    clf = ShareBoostClassifier(8, tol=1e-3).fit(*digits)
    for round_ in (clf.path_.start, clf.path_.finish):
        assert round_.status.gradient <= round_.status.tolerance == pytest.approx(1e-4)
    for round_ in clf.path_.rounds:
        assert round_.status.gradient <= clf.refit_tol * round_.score


def test_seconds_are_those_since_the_fit_began_whether_in_one_run_or_two(digits):
    X, y = digits
    began = perf_counter()
    clf = ShareBoostClassifier(3, warm_start=True).fit(X, y)
    clf.set_params(n_features=6).fit(X, y)
    whole = perf_counter() - began
    path = clf.path_
    seconds = [step.seconds for step in (path.start, *path.rounds, path.finish)]
    assert seconds[0] > 0
    assert seconds == sorted(seconds)
    assert seconds[-1] < whole


def test_at_zero_is_the_intercept_alone(digits):
    X, y = digits
    clf = ShareBoostClassifier(3).fit(X, y)
    assert clf.path_.start.atom == -1
    assert clf.path_.start.atoms == ()
    none = clf.at(0)
    assert none.weights_.shape == (10, 0)
    assert np.allclose(none.decision_function(X), none.intercept_)


@pytest.mark.parametrize("t", [-1, 4, 1.5, "2"])
def test_at_refuses_what_is_not_on_the_path(digits, t):
    clf = ShareBoostClassifier(3).fit(*digits)
    with pytest.raises(ValueError, match=rf"t={t!r} is not valid .* from 0 to 3"):
        clf.at(t)


def test_the_path_is_a_frame(digits):
    clf = ShareBoostClassifier(4).fit(*digits)
    frame = clf.path_.to_frame()
    assert frame.index.tolist() == [1, 2, 3, 4]
    assert frame["atom"].tolist() == clf.selected_.tolist()
    assert (frame["seconds"].diff().dropna() > 0).all()
    assert frame["converged"].all()
    assert np.array_equal(frame["loss"], clf.path_.losses)


def test_without_pandas_the_frame_says_what_to_install(digits, monkeypatch):
    clf = ShareBoostClassifier(2).fit(*digits)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas.*shareboost\[pandas\]"):
        clf.path_.to_frame()


def test_early_models_are_close_to_those_of_a_shorter_run(digits):
    X, y = digits
    longer = ShareBoostClassifier(10).fit(X, y)
    shorter = ShareBoostClassifier(4).fit(X, y)
    assert np.array_equal(longer.selected_[:4], shorter.selected_)
    assert longer.path_.losses[3] == pytest.approx(shorter.path_.losses[3], rel=0.01)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_warm_start_chooses_what_one_longer_run_chooses(digits, make):
    X, y = make(digits[0]), digits[1]
    whole = ShareBoostClassifier(15).fit(X, y)
    parts = ShareBoostClassifier(4, warm_start=True).fit(X, y)
    for n_features in (5, 11, 15):
        parts.set_params(n_features=n_features).fit(X, y)
    assert np.array_equal(parts.selected_, whole.selected_)
    assert np.array_equal(parts.weights_, whole.weights_)
    assert np.array_equal(parts.path_.losses, whole.path_.losses)
    again = ShareBoostClassifier(15).fit(X, y).at(6).set_params(warm_start=True, n_features=15)
    assert np.array_equal(again.fit(X, y).weights_, whole.weights_)


def test_warm_start_with_nothing_to_add_changes_nothing(digits):
    clf = ShareBoostClassifier(4, warm_start=True).fit(*digits)
    coef = clf.weights_
    assert np.array_equal(clf.fit(*digits).weights_, coef)


def test_warm_start_refuses_other_data(digits):
    X, y = digits
    clf = ShareBoostClassifier(4, warm_start=True).fit(X, y)
    before = pickle.dumps(clf)
    clf.set_params(n_features=6)
    with pytest.raises(ValueError, match="warm_start=True goes on from a fit on 64 columns"):
        clf.fit(X[:, 1:], y)
    with pytest.raises(ValueError, match="warm_start=True .* classes"):
        clf.fit(X[y > 0], y[y > 0])
    with pytest.raises(ValueError, match="warm_start=True .* other means, scales or losses"):
        clf.fit(X**2, y)
    with pytest.raises(ValueError, match="warm_start=True .* other means, scales or losses"):
        clf.fit(X, y[::-1])
    with pytest.raises(ValueError, match="n_features=3 is below the 4 features already chosen"):
        clf.set_params(n_features=3).fit(X, y)
    assert pickle.dumps(clf.set_params(n_features=4)) == before


def test_warm_start_refuses_data_that_have_fewer_thresholds(digits):
    X, y = digits
    clf = ShareBoostClassifier(4, pool="stumps", warm_start=True).fit(X, y)
    for other in (np.minimum(X, 1.0), X // 4):
        with pytest.raises(ValueError, match="warm_start=True .* other means, scales or losses"):
            clf.set_params(n_features=6).fit(other, y)


def test_warm_start_goes_on_from_a_run_that_found_nothing_to_choose(problem):
    _, y = problem
    X = np.ones((len(y), 1))
    clf = ShareBoostClassifier(1, warm_start=True).fit(X, y)
    assert len(clf.path_) == 0
    assert clf.path_.finish is None
    intercept = clf.intercept_
    assert np.array_equal(clf.fit(X, y).intercept_, intercept)


def test_an_interrupted_fit_leaves_its_finished_rounds(digits, monkeypatch):
    X, y = digits
    whole = ShareBoostClassifier(10).fit(X, y)
    original, calls = Columns.stats, []

    def interrupted(self, *arguments):
        calls.append(None)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(Columns, "stats", interrupted)
    clf = ShareBoostClassifier(10)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    monkeypatch.undo()
    assert len(clf.path_) == 5
    assert clf.path_.stop_reason == StopReason.INTERRUPTED
    assert np.array_equal(clf.selected_, whole.selected_[:5])
    assert np.array_equal(clf.at(3).predict(X), whole.at(3).predict(X))
    assert clf.predict(X).shape == y.shape
    clf.set_params(warm_start=True).fit(X, y)
    assert np.array_equal(clf.weights_, whole.weights_)


class AfterRound:
    """A callback that calls a function after a given round."""

    def __init__(self, n_rounds, function):
        self.rounds_left, self.function = n_rounds, function

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.rounds_left -= 1
        if self.rounds_left == 0:
            self.function()


def send_ctrl_c():
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    "method",
    [
        None,
        (Columns, "stats"),
        (Columns, "columns"),
        (Frobenius, "value_and_gradient"),
    ],
    ids=["between rounds", "in a score", "as a column is read", "in a refit"],
)
def test_a_real_ctrl_c_leaves_finished_rounds_that_can_go_on(digits, method, monkeypatch):
    X, y = digits
    clf = ShareBoostClassifier(60)
    with heeding_ctrl_c(), monkeypatch.context() as patch:

        def send_ctrl_c_at_the_next_call():
            original = getattr(*method)

            def interrupted(*arguments):
                send_ctrl_c()
                return original(*arguments)

            patch.setattr(*method, interrupted)

        at_once = method is None
        clf.set_callbacks(AfterRound(3, send_ctrl_c if at_once else send_ctrl_c_at_the_next_call))
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X, y)
    assert len(clf.path_) == 3
    assert clf.path_.stop_reason == StopReason.INTERRUPTED
    assert clf.at(2).predict(X).shape == y.shape
    assert len(list(clf.staged_predict(X[:5]))) == 3
    clf.set_callbacks().set_params(warm_start=True, n_features=5).fit(X, y)
    assert np.array_equal(clf.selected_, ShareBoostClassifier(5).fit(X, y).selected_)


def test_an_interrupt_before_the_first_round_leaves_the_earlier_fit(digits, monkeypatch):
    clf = ShareBoostClassifier(2).fit(*digits)
    before = pickle.dumps(clf)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Columns, "stats", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(digits[0] * 2, digits[1])
    assert pickle.dumps(clf) == before


def test_an_interrupt_while_a_path_is_taken_up_again_leaves_it_as_it_was(digits, monkeypatch):
    clf = ShareBoostClassifier(3, warm_start=True).fit(*digits)
    before = pickle.dumps(clf)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Columns, "columns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.set_params(n_features=5).fit(*digits)
    assert pickle.dumps(clf.set_params(n_features=3)) == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"alpha": 1e-2}, "alpha"),
        ({"exclude": [1]}, "exclude"),
        ({"costs": np.arange(1.0, 65.0)}, "costs"),
        ({"rule": "newton", "swap": True}, "rule, swap"),
        ({"solver": "newton"}, "solver"),
        ({"pool": Columns("maxabs")}, "the pool"),
    ],
)
def test_a_warm_start_refuses_what_would_have_made_other_rounds(digits, change, named):
    clf = ShareBoostClassifier(3, warm_start=True).fit(*digits)
    before = clf.selected_
    with pytest.raises(ValueError, match=f"what shaped its rounds changed: {named}"):
        clf.set_params(n_features=5, **change).fit(*digits)
    assert np.array_equal(clf.selected_, before)


def test_a_warm_start_goes_on_with_a_larger_budget_and_not_with_a_smaller(digits):
    X, y = digits
    clf = ShareBoostClassifier(None, budget=3, warm_start=True).fit(X, y)
    clf.set_params(budget=5).fit(X, y)
    assert np.array_equal(clf.selected_, ShareBoostClassifier(5).fit(X, y).selected_)
    with pytest.raises(ValueError, match="budget=4 is below what the fitted path has spent, 5"):
        clf.set_params(budget=4).fit(X, y)


def test_the_frame_has_names():
    X, y = load_wine(return_X_y=True, as_frame=True)
    frame = ShareBoostClassifier(3).fit(X, y).path_.to_frame()
    assert frame["name"].tolist() == [X.columns[atom] for atom in frame["atom"]]
    stumps = ShareBoostClassifier(3, pool="stumps").fit(X, y)
    assert stumps.path_.to_frame()["name"].tolist() == stumps.get_feature_names_out().tolist()


def test_a_warm_start_takes_another_way_of_saying_the_same(digits):
    X, y = digits
    clf = ShareBoostClassifier(2, alpha=0, penalty="l1", warm_start=True, include=[3]).fit(X, y)
    clf.set_params(n_features=3, alpha=0.0, penalty=SmoothL1(), include=np.array([3]))
    clf.set_params(pool=Columns(), verbose=0, max_iter=900).fit(X, y)
    assert clf.selected_.size == 3


def test_arrivals_are_the_atoms_that_each_round_is_the_first_to_use():
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(150, 3))
    y = (Z @ rng.normal(size=(3, 4))).argmax(axis=1)
    X = np.c_[Z[:, 0] + Z[:, 1], Z, Z[:, 1] + Z[:, 2], Z.sum(axis=1), rng.normal(size=(150, 2))]
    path = ShareBoostClassifier(5, swap=True).fit(X, y).path_
    steps = list(path)
    assert any(step.atom not in step.atoms for step in steps)  # swapped out at once
    first = {
        atom: min(i for i, step in enumerate(steps) if atom in step.atoms)
        for atom in range(8)
        if any(atom in step.atoms for step in steps)
    }
    found = {atom: i for i, atoms in enumerate(path.arrivals()) for atom in atoms}
    assert found == first
