import pickle

import numpy as np
import pytest
import sklearn
from pairs import covering
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shareboost import ShareBoostClassifier
from shareboost.penalties import SmoothLinf1
from shareboost.pools import Columns


def test_without_a_margin_it_is_multinomial_logistic_regression(problem):
    X, y = problem
    alpha = 1e-2
    clf = ShareBoostClassifier(12, pool=Columns("none"), margin=0.0, alpha=alpha, tol=1e-7)
    clf.fit(X, y)
    peer = LogisticRegression(C=1 / (2 * alpha * len(y)), tol=1e-10, max_iter=5000).fit(X, y)
    assert len(clf.selected_) == 12
    assert np.allclose(clf.weights_[:, clf.selected_.argsort()], peer.coef_, atol=1e-4)
    assert np.allclose(clf.predict_proba(X), peer.predict_proba(X), atol=1e-4)


def test_two_classes_give_one_decision_value():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], np.array(["a", "b"])[y[y > 0] - 1]
    clf = ShareBoostClassifier(2).fit(X, y)
    decision = clf.decision_function(X)
    assert decision.shape == (100,)
    assert np.array_equal(clf.predict(X), np.where(decision > 0, "b", "a"))
    assert clf.weights_.shape == (2, 2)
    assert all(d.shape == (100,) for d in clf.staged_decision_function(X))


@pytest.mark.parametrize("penalty", ["frobenius", "l1", "linf1", SmoothLinf1(beta=20.0)])
def test_a_penalty_shrinks_the_weights_but_not_the_intercept(problem, penalty):
    X, y = problem
    y = np.where(y == 0, 0, 1)
    weak = ShareBoostClassifier(4, penalty=penalty, alpha=1e-6).fit(X, y)
    strong = ShareBoostClassifier(4, penalty=penalty, alpha=10.0, tol=1e-6).fit(X, y)
    assert np.abs(strong.weights_).max() < 0.05 * np.abs(weak.weights_).max()
    share = (y == 1).mean()
    strong_plain = clone(strong).set_params(margin=0.0).fit(X, y)
    assert np.allclose(strong_plain.predict_proba(X)[:, 1], share, atol=0.02)


@pytest.mark.parametrize("solver", ["nesterov", "newton"])
def test_solvers_give_the_same_classifier(digits, solver):
    X, y = (part[:600] for part in digits)
    clf = ShareBoostClassifier(5, rule="gradient", solver=solver, refit_tol=1e-3, tol=1e-6).fit(
        X, y
    )
    base = ShareBoostClassifier(5, rule="gradient", refit_tol=1e-3, tol=1e-6).fit(X, y)
    assert np.array_equal(clf.selected_, base.selected_)
    assert np.allclose(clf.decision_function(X), base.decision_function(X), atol=1e-2)


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
    assert np.allclose(pipe[-1].weights_, direct.weights_)


def test_non_convergence_names_the_round_the_gradient_and_the_remedy(digits):
    clf = ShareBoostClassifier(5, max_iter=1, refit_tol=0.01)
    with pytest.warns(ConvergenceWarning) as caught:
        clf.fit(*digits)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "refit of round 5 ended with a gradient of " in message
    assert "Rounds that ended so too: [0, 1, 2, 3, 4]" in message
    assert "Raise max_iter=1 " in message
    assert caught[0].filename == __file__


def test_a_warning_made_an_error_leaves_the_earlier_fit(digits):
    X, y = digits
    clf = ShareBoostClassifier(2).fit(X, y)
    before = clf.weights_
    with pytest.raises(ConvergenceWarning):  # warnings are errors in this suite
        clf.set_params(n_features=5, max_iter=1).fit(X, y)
    assert clf.weights_ is before


def test_a_tolerance_below_rounding_ends_with_advice(digits):
    X, y = digits
    clf = ShareBoostClassifier(3, tol=1e-12)
    with pytest.warns(
        ConvergenceWarning, match="Rounding allows no better .*float32.* X in float64"
    ):
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


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "newton"])
@pytest.mark.parametrize(
    ("parameters", "dtype"),
    [
        ({"alpha": 1e306}, np.float64),
        ({"margin": 1e306}, np.float64),
        ({"alpha": 0.0, "tol": 1e-12, "max_iter": 300}, np.float32),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_extreme_parameters_give_finite_weights_or_one_error(solver, parameters, dtype):
    X, y = load_wine(return_X_y=True)
    clf = ShareBoostClassifier(3, solver=solver, **parameters)
    try:
        clf.fit(X.astype(dtype), y)
    except FloatingPointError:
        return
    assert np.isfinite(clf.weights_).all()
    assert np.isfinite(clf.intercept_).all()


def test_a_loss_beyond_all_numbers_is_one_clear_error(digits):
    X, y = digits
    with pytest.raises(FloatingPointError, match=r"loss is .*margin=1e\+308.* too large"):
        ShareBoostClassifier(3, margin=1e308).fit(X * 1e5, y)


@covering(solver=["nesterov", "newton"], penalty=["l1", "linf1"], alpha=[1e-3, 1e-1])
def test_every_solver_copes_with_every_smooth_norm(digits, solver, penalty, alpha):
    X, y = (part[:600] for part in digits)
    clf = ShareBoostClassifier(6, solver=solver, penalty=penalty, alpha=alpha, tol=1e-3)
    base = ShareBoostClassifier(6, penalty=penalty, alpha=alpha, tol=1e-3).fit(X, y)
    assert clf.fit(X, y).path_.losses[-1] == pytest.approx(base.path_.losses[-1], rel=0.05)


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "newton"])
@pytest.mark.parametrize("seed", range(2))
def test_classes_of_most_uneven_sizes_are_refit_too(solver, seed):
    """Confidently wrong examples have slopes and no curvature: steps must shrink far."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [5000, 62, 13])
    X = 0.01 * rng.normal(size=(len(y), 2)) + rng.normal(size=(3, 2))[y]
    clf = ShareBoostClassifier(2, solver=solver).fit(X, y)
    assert clf.path_.losses[-1] < 0.1 * clf.path_.start.loss
    assert clf.score(X, y) > 0.99


@pytest.mark.parametrize(
    ("counts", "margin"), [([198, 1, 1], 5.0), ([990, 5, 5], 1.0), ([500, 499, 1], 5.0)]
)
def test_solvers_agree_on_the_intercept_of_rare_classes(counts, margin):
    y = np.repeat(np.arange(3), counts)
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    losses = [
        ShareBoostClassifier(1, solver=solver, margin=margin).fit(X, y).path_.start.loss
        for solver in ("lbfgs", "nesterov", "newton")
    ]
    assert np.ptp(losses) < 1e-4 * losses[0]


def test_without_an_intercept_the_deviation_is_about_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)) + np.array([0.0, 10.0, 1e6, 0.0])
    y = (X[:, 0] > 0) + (X[:, 3] > 0).astype(int)
    clf = ShareBoostClassifier(4, fit_intercept=False).fit(X, y)
    assert set(clf.selected_[:3]) >= {0, 3}
    assert all(round_.status.converged for round_ in clf.path_)
