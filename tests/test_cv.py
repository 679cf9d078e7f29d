import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.progress import RoundsBar

FITTED = ("classes_", "weights_", "intercept_", "selected_", "n_iter_", "n_features_in_")


def naive_curves(clf, X, y, splits, scorer, weight=None):
    """The scores of every fold and number of features, one classifier at a time."""
    curves = []
    for train, test in splits:
        fold = clone(clf).fit(X[train], y[train], None if weight is None else weight[train])
        weights = {} if weight is None else {"sample_weight": weight[test]}
        rounds = range(1, len(fold.path_) + 1)
        curves.append([scorer(fold.at(t), X[test], y[test], **weights) for t in rounds])
    return curves


def curves_of(clf):
    return [clf.cv_results_[f"split{place}_test_score"] for place in range(clf.n_splits_)]


def right_answers(estimator, X, y):
    return float((estimator.predict(X) == y).sum())


def test_its_own_parameters_are_those_of_the_estimator_where_none_are_given(problem):
    X, y = problem
    estimator = ShareBoostClassifier(5, alpha=0.01, swap=True)
    found = ShareBoostCV(estimator, cv=3).fit(X, y)
    same = ShareBoostCV(ShareBoostClassifier(swap=True), n_features=5, alpha=0.01, cv=3).fit(X, y)
    for name in ("mean_test_score", "alpha", "n_features"):
        assert np.array_equal(found.cv_results_[name], same.cv_results_[name])
    assert np.array_equal(found.weights_, same.weights_)
    assert ShareBoostCV(cv=2).fit(X, y).cv_results_["n_features"][-1] == X.shape[1]


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", right_answers])
def test_the_curves_are_those_of_a_loop_over_folds_and_features(problem, scoring):
    X, y = problem
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    clf = ShareBoostCV(n_features=6, cv=folds, scoring=scoring).fit(X, y)
    scorer = scoring if callable(scoring) else get_scorer(scoring or "accuracy")
    truth = naive_curves(ShareBoostClassifier(6), X, y, folds.split(X, y), scorer)
    results = clf.cv_results_
    assert results["n_features"].tolist() == [1, 2, 3, 4, 5, 6]
    assert np.allclose(curves_of(clf), truth)
    assert np.allclose(results["mean_test_score"], np.mean(truth, axis=0))
    assert np.allclose(results["std_test_score"], np.std(truth, axis=0))
    assert clf.best_n_features_ == np.argmax(np.mean(truth, axis=0)) + 1
    assert clf.best_score_ == pytest.approx(np.mean(truth, axis=0).max())
    assert (np.diff(results["mean_fit_time"]) > 0).all()


@pytest.mark.parametrize(
    "parameters", [{"swap": True, "pool": "products"}, {"pool": "pieces", "margin": 0.0}]
)
def test_the_folds_are_run_as_the_parameters_say(problem, parameters):
    X, y = problem
    folds = StratifiedKFold(2)
    fold, scorer = ShareBoostClassifier(4, **parameters), get_scorer("neg_log_loss")
    clf = ShareBoostCV(fold, cv=folds, scoring="neg_log_loss").fit(X, y)
    assert np.allclose(curves_of(clf), naive_curves(fold, X, y, folds.split(X, y), scorer))


def test_the_last_score_is_that_of_a_plain_run(problem):
    X, y = problem
    clf = ShareBoostCV(n_features=4, cv=3).fit(X, y)
    plain = cross_val_score(ShareBoostClassifier(4), X, y, cv=3)
    assert np.allclose([curve[-1] for curve in curves_of(clf)], plain)


def test_all_rows_are_fitted_as_the_classifier_fits_them(problem):
    X, y = problem
    estimator = ShareBoostClassifier(8, alpha=1e-3, margin=0.5)
    clf = ShareBoostCV(estimator, cv=3, choice="one_se").fit(X, y)
    plain = clone(estimator).set_params(n_features=clf.best_n_features_).fit(X, y)
    for name in FITTED:
        assert np.array_equal(getattr(clf, name), getattr(plain, name))
    assert np.array_equal(clf.predict_proba(X), plain.predict_proba(X))
    assert np.array_equal(clf.transform(X), plain.transform(X))
    for t in range(clf.best_n_features_ + 1):
        assert np.array_equal(clf.at(t).predict(X), plain.at(t).predict(X))
    assert (estimator.n_features, clf.n_features) == (8, None)
    assert not hasattr(estimator, "path_")


def test_one_standard_error_takes_no_more_features_than_best(digits):
    X, y = digits[0][:200], digits[1][:200]
    best = ShareBoostCV(n_features=8, cv=3).fit(X, y)
    frugal = ShareBoostCV(n_features=8, cv=3, choice="one_se").fit(X, y)
    assert frugal.best_n_features_ <= best.best_n_features_
    assert frugal.best_score_ <= best.best_score_
    place = frugal.best_n_features_ - 1
    assert frugal.best_score_ == best.cv_results_["mean_test_score"][place]


def test_groups_of_rows_go_to_the_splitter(problem):
    X, y = problem
    groups = np.arange(len(y)) % 5
    clf = ShareBoostCV(n_features=3, cv=GroupKFold(5)).fit(X, y, groups=groups)
    splits = GroupKFold(5).split(X, y, groups)
    truth = naive_curves(ShareBoostClassifier(3), X, y, splits, get_scorer("accuracy"))
    assert np.allclose(curves_of(clf), truth)


def test_groups_of_columns_go_to_the_classifier(problem):
    X, y = problem
    columns = np.repeat(["a", "b", "c", "d"], 3)
    clf = ShareBoostCV(ShareBoostClassifier(3, groups=columns), cv=GroupKFold(3))
    clf.fit(X, y, groups=np.arange(len(y)) % 3)
    assert clf.groups_.tolist() == ["a", "b", "c", "d"]
    assert clf.weights_.shape == (4, 3 * clf.best_n_features_)


def test_any_iterable_of_splits_will_do(problem):
    X, y = problem
    splits = list(TimeSeriesSplit(3).split(X))
    clf = ShareBoostCV(n_features=3, cv=iter(splits)).fit(X, y)
    truth = naive_curves(ShareBoostClassifier(3), X, y, splits, get_scorer("accuracy"))
    assert clf.n_splits_ == 3
    assert np.allclose(curves_of(clf), truth)


def test_there_are_five_folds_by_default(problem):
    assert ShareBoostCV(n_features=1).fit(*problem).n_splits_ == 5


def test_a_fold_may_lack_a_class_in_training(problem):
    X, y = problem
    y = np.array(["w", "x", "y", "z"])[y]
    lacks = np.flatnonzero(y == "x")
    others = np.setdiff1d(np.arange(len(y)), lacks)
    splits = [(others[::2], np.r_[others[1::2], lacks]), (others[1::2], others[::2])]
    clf = ShareBoostCV(n_features=3, cv=splits).fit(X, y)
    truth = naive_curves(ShareBoostClassifier(3), X, y, splits, get_scorer("accuracy"))
    assert np.allclose(curves_of(clf), truth)
    assert clf.classes_.tolist() == ["w", "x", "y", "z"]


def test_columns_that_never_vary_give_the_classifier_of_no_feature():
    X, y = np.ones((27, 2)), np.arange(27) % 3
    clf = ShareBoostCV(n_features=2, cv=3).fit(X, y)
    assert clf.cv_results_["n_features"].tolist() == [1]
    assert clf.best_score_ == pytest.approx(1 / 3)
    assert len(clf.selected_) == 0


def test_a_budget_alone_may_end_the_rounds(problem):
    X, y = problem
    clf = ShareBoostCV(ShareBoostClassifier(None, budget=4.0), cv=3).fit(X, y)
    assert clf.cv_results_["n_features"].tolist() == [1, 2, 3, 4]


def test_included_features_are_in_every_number_tried(problem):
    X, y = problem
    estimator = ShareBoostClassifier(5, include=[3, 7, 3])
    clf = ShareBoostCV(estimator, cv=3).fit(X, y)
    assert clf.cv_results_["n_features"].tolist() == [2, 3, 4, 5]
    assert {3, 7} <= set(clf.selected_.tolist())
    noise = np.random.default_rng(0).permutation(y)
    assert ShareBoostCV(estimator, cv=3, choice="one_se").fit(X, noise).selected_.size >= 2


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_weights_count_in_training_and_in_scoring(problem, scoring):
    X, y = problem
    weight = np.random.default_rng(0).integers(0, 4, size=len(y)).astype(float)
    folds = StratifiedKFold(3)
    clf = ShareBoostCV(n_features=4, cv=folds, scoring=scoring).fit(X, y, weight)
    scorer = get_scorer(scoring or "accuracy")
    truth = naive_curves(ShareBoostClassifier(4), X, y, folds.split(X, y), scorer, weight)
    assert np.allclose(curves_of(clf), truth)
    plain = ShareBoostClassifier(clf.best_n_features_).fit(X, y, weight)
    assert np.array_equal(clf.weights_, plain.weights_)


def test_every_kind_of_input_gives_the_same(problem):
    X, y = problem
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    names = [f"f{j}" for j in range(X.shape[1])]
    search = ShareBoostCV(ShareBoostClassifier(3, tol=1e-6), cv=2)
    truth = clone(search).fit(X, y)
    inputs = [
        X.tolist(),
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        sp.csr_matrix(X),
        sp.csc_array(X),
        sp.coo_array(X),
    ]
    for given in inputs:
        clf = clone(search).fit(given, y.tolist())
        assert np.allclose(curves_of(clf), curves_of(truth))
        assert np.array_equal(clf.selected_, truth.selected_)


def test_stumps_take_gaps(problem):
    X, y = problem
    X[::7, 2] = np.nan
    clf = ShareBoostCV(ShareBoostClassifier(4, pool="stumps"), cv=3).fit(X, y)
    assert clf.predict(X).shape == y.shape
    with pytest.raises(ValueError, match="NaN, which this pool does not take"):
        ShareBoostCV(n_features=4, cv=3).fit(X, y)


def test_two_classes(problem):
    X, y = problem
    clf = ShareBoostCV(n_features=4, cv=3, scoring="roc_auc").fit(X, y > 1)
    assert clf.decision_function(X).shape == y.shape
    assert clf.best_score_ > 0.6


def test_folds_may_hold_rows_out_of_their_own(problem):
    X, y = problem
    folds = StratifiedKFold(3)
    drawn = np.random.RandomState(0)  # of which every fold begins with a copy
    fold = ShareBoostClassifier(4, validation_fraction=0.3, random_state=drawn)
    clf = ShareBoostCV(fold, cv=folds).fit(X, y)
    truth = naive_curves(fold, X, y, folds.split(X, y), get_scorer("accuracy"))
    assert np.allclose(curves_of(clf), truth)
    assert np.isfinite(clf.path_.validation_scores).all()


def test_the_checkpoint_is_that_of_the_fit_to_all_rows(problem, tmp_path):
    X, y = problem
    fold = ShareBoostClassifier(4, checkpoint=tmp_path / "run", warm_start=True)
    first = ShareBoostCV(fold, cv=3).fit(X, y)
    again = ShareBoostCV(fold, cv=3).fit(X, y)
    # The rounds were not run anew, but for the last refit.
    assert np.array_equal(first.path_.seconds[:-1], again.path_.seconds[:-1])
    assert np.array_equal(first.weights_, ShareBoostCV(n_features=4, cv=3).fit(X, y).weights_)


@pytest.mark.quiet
def test_jobs_change_nothing(problem):
    X, y = problem
    one = ShareBoostCV(n_features=4, cv=3, n_jobs=1).fit(X, y)
    for backend in ("loky", "threading"):
        with parallel_config(backend):
            two = ShareBoostCV(n_features=4, cv=3, n_jobs=2).fit(X, y)
        assert np.array_equal(curves_of(one), curves_of(two))
        assert np.array_equal(one.weights_, two.weights_)


def test_verbose_shows_folds_then_the_rounds_of_the_last_fit(problem, capsys):
    clf = ShareBoostCV(ShareBoostClassifier(3, verbose=1), cv=4).fit(*problem)
    shown = capsys.readouterr().err
    assert "folds" in shown
    assert "4/4" in shown
    assert shown.count("rounds") == 1
    assert f"{clf.best_n_features_}/{clf.best_n_features_}" in shown
    ShareBoostCV(n_features=3, cv=3).fit(*problem)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_it_clones_and_pickles_and_nests(problem):
    X, y = problem
    clf = ShareBoostCV(n_features=4, cv=3, choice="one_se").fit(X, y)
    assert clone(clf).get_params() == clf.get_params()
    again = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(again.predict(X), clf.predict(X))
    assert again.cv_results_.keys() == clf.cv_results_.keys()
    search = GridSearchCV(ShareBoostCV(n_features=3, cv=2), {"alpha": [1e-4, 1.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.best_n_features_ <= 3


def test_rows_groups_and_weights_are_routed(problem):
    X, y = problem
    groups = np.arange(len(y)) % 3
    weight = 1.0 + groups
    with sklearn.config_context(enable_metadata_routing=True):
        clf = ShareBoostCV(n_features=3, cv=GroupKFold(3)).set_fit_request(
            groups=True, sample_weight=True
        )
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, clf).fit(X, y, groups=groups, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    direct = ShareBoostCV(n_features=3, cv=GroupKFold(3)).fit(scaled, y, weight, groups=groups)
    assert np.array_equal(pipe[-1].weights_, direct.weights_)


def test_a_failed_fit_leaves_the_earlier_one():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = ShareBoostCV(n_features=3, cv=3).fit(X, y)
    before = dict(vars(clf))

    def fails_late(estimator, rows, labels):
        return 1.0 if estimator.n_features < 2 else np.nan

    bad = [
        {"scoring": fails_late},
        {"choice": "one_se", "cv": ShuffleSplit(1)},
        {"estimator": ShareBoostClassifier(max_iter=1)},
    ]
    for parameters in bad:
        with pytest.raises((ValueError, ConvergenceWarning)):
            clf.set_params(**parameters).fit(X.to_numpy()[:, :2], y)
        clf.set_params(**{name: before[name] for name in parameters})
        assert vars(clf) == before
    with pytest.raises(ValueError, match="inconsistent|differ in length"):
        clf.fit(X, y[:-1])
    assert vars(clf) == before
    clf.fit(X.to_numpy(), y)
    assert not hasattr(clf, "feature_names_in_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scoring": "accurate"}, "'scoring' parameter .*'accurate'"),
        ({"scoring": accuracy_score}, "metric function rather than a scorer"),
        ({"cv": 1.5}, "'cv' parameter"),
        ({"cv": 1}, "'cv' parameter .*Got 1"),
        ({"cv": 151}, "cv cannot split the 150 rows: .*n_splits=151"),
        ({"cv": []}, "cv has 0 folds"),
        ({"cv": ShuffleSplit(1, random_state=0), "choice": "one_se"}, "cv has 1 folds.*one_se"),
        ({"cv": [([0], [1])]}, "y has only one class"),
        ({"choice": "most"}, "'choice' parameter"),
        ({"n_features": 0}, "'n_features' parameter"),
        ({"n_features": None, "estimator__n_features": None}, "n_features=None takes a budget"),
        ({"estimator__include": [1, 2], "n_features": 1}, "include names 2 features"),
        ({"estimator__class_weight": {9: 1.0}}, "are not in class_weight"),
        ({"estimator__rule": "best"}, "'rule' parameter of ShareBoostClassifier"),
        (
            {"estimator": LogisticRegression()},
            "'estimator' parameter .*ShareBoostClassifier' or None. Got L",
        ),
        ({"n_jobs": "all"}, "'n_jobs' parameter"),
    ],
)
def test_bad_parameters_are_told(problem, parameters, message):
    clf = ShareBoostCV(ShareBoostClassifier(), n_features=2, cv=2).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        clf.fit(*problem)


def test_bad_groups_and_weights_are_told(problem):
    X, y = problem
    clf = ShareBoostCV(n_features=2, cv=GroupKFold(2))
    with pytest.raises(ValueError, match=r"cannot split the 150 rows: .*\[150, 150, 3\]"):
        clf.fit(X, y, groups=[0, 1, 1])
    with pytest.raises(ValueError, match="sample_weight has negative"):
        clf.fit(X, y, -np.ones(150), groups=y)


def test_an_interrupt_after_the_folds_leaves_the_finished_rounds(problem, monkeypatch):
    done = RoundsBar.advance

    def advance(bar, step):
        done(bar, step)
        if len(step.atoms) == 2:
            raise KeyboardInterrupt

    folds = ShareBoostCV._curves

    def curves(search, *arguments):
        found = folds(search, *arguments)
        monkeypatch.setattr(RoundsBar, "advance", advance)
        return found

    monkeypatch.setattr(ShareBoostCV, "_curves", curves)
    search = ShareBoostCV(n_features=6, cv=3)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*problem)
    monkeypatch.undo()
    assert search.best_n_features_ > 2
    assert search.selected_.size == len(search.path_) == 2
    whole = ShareBoostClassifier(2).fit(*problem)
    assert search.selected_.tolist() == whole.selected_.tolist()
    assert search.predict(problem[0]).shape == (150,)


def test_the_weight_of_the_penalty_is_chosen_with_the_number_of_features(digits):
    X, y = digits[0][:300], digits[1][:300]
    alphas = ["0.2*auto", "auto", 0.05]
    clf = ShareBoostCV(n_features=8, cv=3, alpha=alphas).fit(X, y)
    alone = [ShareBoostCV(n_features=8, cv=3, alpha=alpha).fit(X, y) for alpha in alphas]
    means = np.concatenate([one.cv_results_["mean_test_score"] for one in alone])
    assert np.array_equal(clf.cv_results_["mean_test_score"], means)
    assert clf.cv_results_["alpha"].tolist() == np.repeat(alphas, 8).tolist()[:16] + [0.05] * 8
    assert clf.best_score_ == means.max() == max(one.best_score_ for one in alone)
    same = alone[alphas.index(clf.best_alpha_)]
    assert clf.best_n_features_ <= same.best_n_features_
    fitted = ShareBoostClassifier(clf.best_n_features_, alpha=clf.best_alpha_).fit(X, y)
    assert np.array_equal(clf.weights_, fitted.weights_)


@pytest.mark.parametrize("alpha", ["auto", ["auto"], 0.1, np.array(0.1), np.array([0.1])])
def test_one_weight_is_named_in_the_table_too(problem, alpha):
    clf = ShareBoostCV(n_features=3, cv=2, alpha=alpha).fit(*problem)
    assert clf.best_alpha_ == ("auto" if alpha in ("auto", ["auto"]) else 0.1)
    assert clf.cv_results_["alpha"].tolist() == 3 * [clf.best_alpha_]


@pytest.mark.parametrize("alpha", [[], [0.1, -1.0], ["auto", "half"], [None], [np.inf], "2auto"])
def test_weights_that_are_none_are_refused(alpha, problem):
    with pytest.raises(ValueError, match=r"alpha.* it takes (a number of at least 0|at least one)"):
        ShareBoostCV(n_features=3, alpha=alpha).fit(*problem)
