import numpy as np
import pandas as pd
import pytest
from conftest import random_problem
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold

from shareboost import ShareBoostClassifier
from shareboost.cv_folds import FoldClassifier, Split, checked_splits, curve
from shareboost.dataset import GivenSample
from shareboost.model import Model, ModelPath

ACCURACY = get_scorer("accuracy")


def every_third(n):
    """Every third row held out."""
    test = np.arange(n) % 3 == 0
    return Split(np.flatnonzero(~test), np.flatnonzero(test))


@pytest.fixture
def rows(problem):
    return GivenSample(*problem, None)


# A fold's curve


def test_the_curve_is_as_long_as_the_run():
    X, y = random_problem(1, n=60, d=6)
    X[:, 2:] = 0.0  # only two columns vary
    split = every_third(60)
    found = curve(FoldClassifier(20), GivenSample(X, y, None), split, ACCURACY)
    plain = ShareBoostClassifier(20).fit(X[split.train], y[split.train])
    held_out = X[split.test], y[split.test]
    assert found.scores.tolist() == [plain.at(t).score(*held_out) for t in (1, 2)]
    assert found.seconds.shape == (2,)
    assert found.owned == 0


def test_times_are_those_of_the_whole_fit(rows, monkeypatch):
    clock = iter([100.0, 107.0])  # before the fit and after it
    monkeypatch.setattr("shareboost.cv_folds.perf_counter", lambda: next(clock))
    seconds = np.array([0.5, 1.5, 4.0])
    monkeypatch.setattr(ModelPath, "seconds", property(lambda path: seconds))
    found = curve(FoldClassifier(3), rows, every_third(150), ACCURACY)
    # Three of the seven seconds passed before the first round.
    assert found.seconds.tolist() == [3.5, 4.5, 7.0]


def test_no_number_of_features_computes_the_scores_again(rows, monkeypatch):
    split = every_third(150)
    truth = curve(FoldClassifier(4), rows, split, ACCURACY).scores
    monkeypatch.setattr(Model, "scores", None)
    monkeypatch.setattr(Model, "best", None)
    assert np.array_equal(curve(FoldClassifier(4), rows, split, ACCURACY).scores, truth)


def test_the_classifier_stays_as_it_is(rows):
    clf = FoldClassifier(2)
    before = dict(vars(clf))
    curve(clf, rows, every_third(150), ACCURACY)
    assert vars(clf) == before


def test_a_scorer_is_given_a_whole_classifier_and_the_rows_as_they_were():
    X, y = load_iris(return_X_y=True, as_frame=True)
    seen = []

    def scorer(clf, held_out, labels):
        assert isinstance(clf, ShareBoostClassifier)
        assert isinstance(held_out, pd.DataFrame)
        assert len(clf.selected_) == clf.n_features == len(clf.path_)
        assert set(clf.get_feature_names_out()) <= set(X.columns)
        assert clf.transform(held_out).shape == (len(held_out), clf.n_features)
        seen.append(clf.n_features)
        return clf.score(held_out, labels)

    curve(FoldClassifier(3), GivenSample(X, y.to_numpy(), None), every_third(150), scorer)
    assert seen == [1, 2, 3]


@pytest.mark.parametrize(
    "method", ["decision_function", "predict", "predict_proba", "predict_log_proba"]
)
def test_a_scorer_may_ask_for_other_rows_fewer_features_or_another_fit(rows, method):
    def scorer(clf, X, y):
        answers = getattr(clf, method)(X)
        assert np.allclose(answers, getattr(clf, method)(X.copy()))
        assert np.allclose(answers[::2], getattr(clf, method)(X[::2]))
        fewer = clf.at(clf.n_features - 1)
        assert np.allclose(getattr(fewer, method)(X), getattr(fewer, method)(X.copy()))
        again = clf.fit(X, y)
        assert np.array_equal(getattr(again, method)(X), getattr(clone(clf).fit(X, y), method)(X))
        return 0.0

    curve(FoldClassifier(2), rows, every_third(150), scorer)


def test_weights_go_to_scorers_that_take_them(rows):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
    weighted, split = rows._replace(weight=weight), every_third(150)
    given = []

    def takes_weights(clf, X, y, sample_weight=None):
        given.append(sample_weight)
        return accuracy_score(y, clf.predict(X), sample_weight=sample_weight)

    def takes_none(clf, X, y):
        return float((clf.predict(X) == y).sum())

    truth = curve(FoldClassifier(1), weighted, split, ACCURACY).scores
    assert np.allclose(curve(FoldClassifier(1), weighted, split, takes_weights).scores, truth)
    assert np.array_equal(given[0], weight[split.test])
    assert curve(FoldClassifier(1), weighted, split, takes_none).scores[0] % 1 == 0
    curve(FoldClassifier(1), rows, split, takes_weights)
    assert given[1] is None


def test_a_scorer_must_give_a_number(rows):
    message = r"scoring gave .* fold of 50 rows .*one finite number"
    for score in (np.nan, np.inf, "good", None, {"a": 1.0}, np.ones(2)):
        with pytest.raises(ValueError, match=message):
            curve(FoldClassifier(2), rows, every_third(150), lambda clf, X, y, s=score: s)


# Splits


def test_splits_are_stratified_where_only_their_number_is_given(rows):
    found = checked_splits(3, rows, None)
    truth = StratifiedKFold(3).split(rows.X, rows.y)
    for split, (train, test) in zip(found, truth, strict=True):
        assert np.array_equal(split.train, train)
        assert np.array_equal(split.test, test)


def test_splits_may_be_masks_or_lists(rows):
    train, test = every_third(150)
    held_out = np.arange(150) % 3 == 0
    splits = checked_splits([(~held_out, held_out), (train.tolist(), test.tolist())], rows, None)
    by_mask, by_list = (curve(FoldClassifier(3), rows, split, ACCURACY) for split in splits)
    assert np.array_equal(by_mask.scores, by_list.scores)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (151, "cv cannot split the 150 rows: .*n_splits=151"),
        ([1, 2], "cv cannot split the 150 rows: .*unpack"),
        ([(np.arange(150), np.arange(150, 200))], "cannot split the 150 rows: .*out of bounds"),
        ([(["a"], ["b"])], "cannot split the 150 rows: .*indices"),
        (GroupKFold(2), "cv cannot split .*'groups' parameter should not be None"),
    ],
)
def test_bad_splits_are_told(rows, cv, message):
    with pytest.raises(ValueError, match=message):
        checked_splits(cv, rows, None)


def test_only_rows_of_positive_weight_count(rows):
    split, weight = every_third(150), np.ones(150)
    weight[split.test] = 0.0
    with pytest.raises(ValueError, match="must contain at least one non-zero"):
        curve(FoldClassifier(1), rows._replace(weight=weight), split, ACCURACY)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        curve(FoldClassifier(1), rows._replace(weight=1.0 - weight), split, ACCURACY)


def test_there_is_a_group_for_each_row(rows):
    with pytest.raises(ValueError, match=r"cannot split the 150 rows: .*\[150, 150, 3\]"):
        checked_splits(GroupKFold(2), rows, [0, 1, 1])
