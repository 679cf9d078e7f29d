import os
import pickle
import signal
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason
from shareboost.penalties import SmoothLinf1
from shareboost.pools import Columns


@parametrize_with_checks(
    [ShareBoostClassifier(), ShareBoostClassifier(3, pool=Columns("maxabs"), solver="newton")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- what a fit gives


def test_scores_are_the_chosen_columns_times_coef(digits):
    X, y = digits
    clf = ShareBoostClassifier(8).fit(X, y)
    assert clf.coef_.shape == (10, 8)
    assert clf.intercept_.shape == (10,)
    scores = X[:, clf.selected_] @ clf.coef_.T + clf.intercept_
    assert np.allclose(clf.decision_function(X), scores)
    assert np.allclose(clf.transform(X) @ clf.coef_.T + clf.intercept_, scores)
    assert np.array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])
    probability = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert np.allclose(clf.predict_proba(X), probability)


def test_coef_speaks_of_the_users_units(digits):
    X, y = digits
    units = np.random.default_rng(0).uniform(0.01, 100, size=64)
    shift = np.random.default_rng(1).normal(size=64) * units
    plain = ShareBoostClassifier(6).fit(X, y)
    other = ShareBoostClassifier(6).fit(X * units + shift, y)
    assert np.array_equal(plain.selected_, other.selected_)
    assert np.allclose(plain.coef_, other.coef_ * units[other.selected_], rtol=1e-4, atol=1e-6)
    assert np.allclose(plain.decision_function(X), other.decision_function(X * units + shift))


def test_without_a_margin_it_is_multinomial_logistic_regression(problem):
    X, y = problem
    alpha = 1e-2
    clf = ShareBoostClassifier(12, pool=Columns("none"), margin=0.0, alpha=alpha, tol=1e-7)
    clf.fit(X, y)
    peer = LogisticRegression(C=1 / (2 * alpha * len(y)), tol=1e-10, max_iter=5000).fit(X, y)
    assert len(clf.selected_) == 12
    assert np.allclose(clf.coef_[:, clf.selected_.argsort()], peer.coef_, atol=1e-4)
    assert np.allclose(clf.predict_proba(X), peer.predict_proba(X), atol=1e-4)


def test_two_classes_give_one_decision_value():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], np.array(["a", "b"])[y[y > 0] - 1]
    clf = ShareBoostClassifier(2).fit(X, y)
    decision = clf.decision_function(X)
    assert decision.shape == (100,)
    assert np.array_equal(clf.predict(X), np.where(decision > 0, "b", "a"))
    assert clf.coef_.shape == (2, 2)
    assert all(d.shape == (100,) for d in clf.staged_decision_function(X))


def test_the_model_keeps_no_training_data(digits):
    X, y = np.tile(digits[0], (20, 1)), np.tile(digits[1], 20)
    clf = ShareBoostClassifier(5).fit(X, y)
    assert len(pickle.dumps(clf)) < 20_000


@pytest.mark.parametrize("penalty", ["frobenius", "l1", "linf1", SmoothLinf1(beta=20.0)])
def test_a_penalty_shrinks_the_weights_but_not_the_intercept(problem, penalty):
    X, y = problem
    y = np.where(y == 0, 0, 1)
    weak = ShareBoostClassifier(4, penalty=penalty, alpha=1e-6).fit(X, y)
    strong = ShareBoostClassifier(4, penalty=penalty, alpha=10.0, tol=1e-6).fit(X, y)
    assert np.abs(strong.coef_).max() < 0.05 * np.abs(weak.coef_).max()
    share = (y == 1).mean()
    strong_plain = clone(strong).set_params(margin=0.0).fit(X, y)
    assert np.allclose(strong_plain.predict_proba(X)[:, 1], share, atol=0.02)


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "newton"])
def test_solvers_give_the_same_classifier(digits, solver):
    X, y = digits
    clf = ShareBoostClassifier(5, solver=solver, refit_tol=1e-3, tol=1e-6).fit(X, y)
    base = ShareBoostClassifier(5, refit_tol=1e-3, tol=1e-6).fit(X, y)
    assert np.array_equal(clf.selected_, base.selected_)
    assert np.allclose(clf.decision_function(X), base.decision_function(X), atol=1e-2)


# ---------------------------------------------------------------- the whole curve


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


def test_at_zero_is_the_intercept_alone(digits):
    X, y = digits
    none = ShareBoostClassifier(3).fit(X, y).at(0)
    assert none.coef_.shape == (10, 0)
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


# ---------------------------------------------------------------- warm start


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_warm_start_chooses_what_one_longer_run_chooses(digits, make):
    X, y = make(digits[0]), digits[1]
    whole = ShareBoostClassifier(15).fit(X, y)
    parts = ShareBoostClassifier(4, warm_start=True).fit(X, y)
    for n_features in (5, 11, 15):
        parts.set_params(n_features=n_features).fit(X, y)
    assert np.array_equal(parts.selected_, whole.selected_)
    assert np.array_equal(parts.coef_, whole.coef_)
    assert np.array_equal(parts.path_.losses, whole.path_.losses)
    again = ShareBoostClassifier(15).fit(X, y).at(6).set_params(warm_start=True, n_features=15)
    assert np.array_equal(again.fit(X, y).coef_, whole.coef_)


def test_warm_start_with_nothing_to_add_changes_nothing(digits):
    clf = ShareBoostClassifier(4, warm_start=True).fit(*digits)
    coef = clf.coef_
    assert np.array_equal(clf.fit(*digits).coef_, coef)


def test_warm_start_refuses_other_data(digits):
    X, y = digits
    clf = ShareBoostClassifier(4, warm_start=True).fit(X, y)
    before = pickle.dumps(clf)
    clf.set_params(n_features=6)
    with pytest.raises(ValueError, match="warm_start=True goes on from a fit on 64 columns"):
        clf.fit(X[:, 1:], y)
    with pytest.raises(ValueError, match="warm_start=True .* classes"):
        clf.fit(X[y > 0], y[y > 0])
    with pytest.raises(ValueError, match="warm_start=True .* other means or scales"):
        clf.fit(X**2, y)
    with pytest.raises(ValueError, match="n_features=3 is below the 4 features already chosen"):
        clf.set_params(n_features=3).fit(X, y)
    assert pickle.dumps(clf.set_params(n_features=4)) == before


# ---------------------------------------------------------------- kinds of input


@pytest.mark.parametrize("format_", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.filterwarnings("ignore:Constructing a DIA")
def test_sparse_input_of_any_format_equals_dense(digits, format_, container):
    X, y = digits
    make = sp.coo_array if container == "array" else sp.coo_matrix
    S = make(X).asformat(format_)
    dense = ShareBoostClassifier(8).fit(X, y)
    clf = ShareBoostClassifier(8).fit(S, y)
    assert np.array_equal(clf.selected_, dense.selected_)
    assert np.allclose(clf.path_.losses, dense.path_.losses)
    assert np.allclose(clf.decision_function(S), dense.decision_function(X), atol=1e-6)
    assert np.array_equal(np.array(list(clf.staged_predict(S))), list(clf.staged_predict(X)))
    assert sp.issparse(clf.transform(S))


def test_sparse_input_is_never_densified(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((500, 3000), density=0.01, rng=rng, format="csr")
    y = rng.integers(3, size=500)

    def guard(original):
        def small_only(self, *args, **kwargs):
            assert np.prod(self.shape) <= 500 * 20, f"densified {self.shape}"
            return original(self, *args, **kwargs)

        return small_only

    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(kind, method, guard(getattr(kind, method)))
    clf = ShareBoostClassifier(5).fit(X, y)
    clf.predict(X)
    list(clf.staged_predict(X))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16])
def test_integers_and_half_floats_equal_float64(digits, dtype):
    X, y = digits
    plain = ShareBoostClassifier(8, refit_tol=1e-3).fit(X, y)
    clf = ShareBoostClassifier(8, refit_tol=1e-3).fit(X.astype(dtype), y)
    assert np.array_equal(clf.selected_, plain.selected_)
    assert np.allclose(clf.path_.losses, plain.path_.losses, rtol=1e-4)


def test_float32_equals_float64(digits):
    X, y = digits
    plain = ShareBoostClassifier(8, refit_tol=1e-3).fit(X, y)
    clf = ShareBoostClassifier(8, refit_tol=1e-3).fit(X.astype(np.float32), y)
    assert np.array_equal(clf.selected_, plain.selected_)
    assert np.allclose(clf.path_.losses, plain.path_.losses, rtol=1e-4)


def test_booleans_are_features_too():
    rng = np.random.default_rng(0)
    X = rng.random((300, 10)) < 0.5
    y = 2 * X[:, 3] + X[:, 8]
    clf = ShareBoostClassifier(2).fit(X, y)
    assert set(clf.selected_) == {3, 8}
    assert clf.score(X, y) == 1.0


def test_fortran_order_equals_c_order(digits):
    X, y = digits
    a = ShareBoostClassifier(8).fit(X, y)
    b = ShareBoostClassifier(8).fit(np.asfortranarray(X), y)
    assert np.array_equal(a.selected_, b.selected_)
    assert np.allclose(a.path_.losses, b.path_.losses)


def test_results_do_not_depend_on_the_number_of_threads(digits):
    X, y = np.tile(digits[0], (6, 1)), np.tile(digits[1], 6)
    for data in (X, X.astype(np.float32), sp.csr_array(X)):
        found = []
        for threads in (1, 2, 4):
            with threadpool_limits(threads):
                found.append(ShareBoostClassifier(6).fit(data, y))
        for clf in found[1:]:
            assert np.array_equal(clf.selected_, found[0].selected_)
            assert np.array_equal(clf.coef_, found[0].coef_)


def test_pandas_frames_carry_their_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = ShareBoostClassifier(2).fit(X, y)
    assert clf.feature_names_in_.tolist() == X.columns.tolist()
    assert clf.get_feature_names_out().tolist() == X.columns[clf.selected_].tolist()
    out = clf.set_output(transform="pandas").transform(X)
    assert isinstance(out, pd.DataFrame)
    pd.testing.assert_frame_equal(out, X[clf.get_feature_names_out()])
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(X[X.columns[::-1]])


def test_polars_frames_carry_their_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = pl.DataFrame(X.to_dict("list"))
    clf = ShareBoostClassifier(2).fit(frame, pl.Series(y.tolist()))
    assert clf.get_feature_names_out().tolist() == X.columns[clf.selected_].tolist()
    out = clf.set_output(transform="polars").transform(frame)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == list(clf.get_feature_names_out())


def test_a_refit_without_names_forgets_the_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = ShareBoostClassifier(2).fit(X, y).fit(X.to_numpy(), y)
    assert not hasattr(clf, "feature_names_in_")
    assert clf.get_feature_names_out().tolist() == [f"x{j}" for j in clf.selected_]


def test_text_labels(digits):
    X, y = digits
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "9"])
    clf = ShareBoostClassifier(5).fit(X, names[y])
    assert set(clf.predict(X)) <= set(names)
    base = ShareBoostClassifier(5).fit(X, y)
    assert set(clf.selected_) == set(base.selected_)


# ---------------------------------------------------------------- weights


def test_integer_weights_equal_repeated_rows(problem):
    X, y = problem
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    a = ShareBoostClassifier(5, refit_tol=1e-3).fit(X, y, sample_weight=weight)
    b = ShareBoostClassifier(5, refit_tol=1e-3).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert np.array_equal(a.selected_, b.selected_)
    assert np.allclose(a.path_.losses, b.path_.losses, rtol=1e-6)


def test_class_weights_multiply_sample_weights(problem):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    table = {0: 1.0, 1: 3.0, 2: 0.5, 3: 2.0}
    a = ShareBoostClassifier(5, class_weight=table).fit(X, y, sample_weight=weight)
    b = ShareBoostClassifier(5).fit(X, y, sample_weight=weight * np.vectorize(table.get)(y))
    assert np.array_equal(a.selected_, b.selected_)
    assert np.allclose(a.coef_, b.coef_)


def test_balanced_classes_have_equal_say(digits):
    X, y = digits
    rows = np.flatnonzero((y != 3) | (np.arange(len(y)) % 10 == 0))
    X, y = X[rows], y[rows]
    clf = ShareBoostClassifier(3, class_weight="balanced", margin=0.0).fit(X, y)
    counts = np.bincount(y)
    share = (clf.predict_proba(X) / counts[y][:, None]).sum(axis=0)
    assert np.allclose(share, share.mean(), rtol=0.01)


# ---------------------------------------------------------------- manners


def test_it_clones_and_pickles_and_searches(digits):
    X, y = digits[0][:500], digits[1][:500]
    clf = ShareBoostClassifier(4, pool=Columns("maxabs")).fit(X, y)
    assert clone(clf).get_params()["pool"].scale == "maxabs"
    assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict(X), clf.predict(X))
    grid = {"n_features": [2, 8], "pool__scale": ["maxabs", "deviation"]}
    search = GridSearchCV(clone(clf), grid, cv=2).fit(X, y)
    assert search.best_params_["n_features"] == 8
    assert cross_val_score(make_pipeline(StandardScaler(), clone(clf)), X, y, cv=2).min() > 0.3
    selected = make_pipeline(clone(clf), LogisticRegression(max_iter=2000)).fit(X, y)
    assert selected[-1].coef_.shape == (10, 4)


def test_a_pool_given_as_an_object_is_left_untouched(digits):
    pool = Columns("maxabs")
    ShareBoostClassifier(2, pool=pool).fit(*digits)
    assert vars(pool) == {"scale": "maxabs"}


def test_sample_weight_is_routed(problem):
    X, y = problem
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        clf = ShareBoostClassifier(3).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, clf).fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    direct = ShareBoostClassifier(3).fit(scaled, y, sample_weight=weight)
    assert np.allclose(pipe[-1].coef_, direct.coef_)


def test_non_convergence_names_the_round_the_gradient_and_the_remedy(digits):
    clf = ShareBoostClassifier(5, max_iter=1, refit_tol=0.01)
    with pytest.warns(ConvergenceWarning) as caught:
        clf.fit(*digits)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "refit of round 5 ended with a gradient of " in message
    assert "Raise max_iter=1" in message
    assert caught[0].filename == __file__


def test_a_tolerance_below_rounding_ends_with_advice(digits):
    X, y = digits
    clf = ShareBoostClassifier(3, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="Rounding allows no better.* X in float64"):
        clf.fit(X.astype(np.float32), y)
    assert clf.n_iter_ < 2000
    assert clf.score(X, y) > 0.3


def test_an_unfitted_classifier_says_so(digits):
    clf = ShareBoostClassifier()
    calls = [clf.predict, clf.transform, clf.predict_proba, clf.decision_function]
    for call in [*calls, lambda X: next(clf.staged_predict(X)), lambda X: clf.at(1)]:
        with pytest.raises(NotFittedError):
            call(digits[0])
    with pytest.raises(NotFittedError):
        clf.get_feature_names_out()


def test_an_interrupted_fit_leaves_its_finished_rounds(digits, monkeypatch):
    X, y = digits
    whole = ShareBoostClassifier(10).fit(X, y)
    original, calls = Columns.stats, []

    def interrupted(self, data, residual):
        calls.append(None)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return original(self, data, residual)

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
    assert np.array_equal(clf.coef_, whole.coef_)


class InterruptSoonAfter:
    """A callback that sends this process a real Ctrl-C a moment after a given round."""

    def __init__(self, n_rounds, delay):
        self.left, self.delay = n_rounds, delay

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.left -= 1
        if self.left == 0:
            threading.Timer(self.delay, os.kill, (os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.01, 0.05])
def test_a_real_ctrl_c_leaves_finished_rounds_that_can_go_on(delay):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 60))
    y = (X @ rng.normal(size=(60, 8)) + rng.gumbel(size=(10_000, 8))).argmax(axis=1)
    clf = ShareBoostClassifier(60).set_callbacks(InterruptSoonAfter(3, delay))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert 3 <= len(clf.path_) < 60
    assert clf.path_.stop_reason == StopReason.INTERRUPTED
    assert clf.at(2).predict(X).shape == y.shape
    assert len(list(clf.staged_predict(X[:5]))) == len(clf.path_)
    n_features = len(clf.path_) + 2
    clf.set_callbacks().set_params(warm_start=True, n_features=n_features).fit(X, y)
    assert np.array_equal(clf.selected_, ShareBoostClassifier(n_features).fit(X, y).selected_)


def test_an_interrupt_before_the_first_round_leaves_the_earlier_fit(digits, monkeypatch):
    clf = ShareBoostClassifier(2).fit(*digits)
    before = pickle.dumps(clf)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Columns, "stats", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(digits[0] * 2, digits[1])
    assert pickle.dumps(clf) == before
