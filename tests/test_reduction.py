"""Rows with the columns that a classifier reads alone: reduced classifiers, and frames by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from every_pool import POOLS_TO_TEST, classifier, some_digits
from model_files import assert_same_answers, assert_same_bits
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from shareboost import ShareBoostClassifier, ShareBoostCV, load_model
from shareboost.export import to_c, to_js
from shareboost.pools import Groups
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

X, Y, _, _ = some_digits()
NAMES = np.array([f"pixel {j}" for j in range(X.shape[1])], dtype=object)
FRAME = pd.DataFrame(X, columns=NAMES)
RIVALS = {
    "one-vs-rest": OneVsRestGreedyClassifier(4),
    "mixed norm": MixedNormClassifier(n_features=5),
    "jointboost": JointBoostClassifier(6, max_bins=8),
}
ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")


def reads_all(clf):
    return clf.columns_.size == clf.n_features_in_


@pytest.mark.parametrize("name", POOLS_TO_TEST)
def test_a_reduced_classifier_of_any_pool_answers_alike_to_the_last_bit(name, tmp_path):
    clf = classifier(4, name).fit(X, Y)
    small = clf.reduced()
    assert small.n_features_in_ == clf.columns_.size
    for make in (np.asarray, np.asfortranarray, np.float32, sp.csr_array, sp.csc_array):
        rows = make(X)
        few = rows if reads_all(clf) else make(X[:, clf.columns_])
        for answer in ANSWERS:
            one, two = getattr(clf, answer)(rows), getattr(small, answer)(few)
            dense = [a.toarray() if sp.issparse(a) else a for a in (one, two)]
            assert_same_bits(*dense)
        assert_same_bits(clf.explain(rows), small.explain(few))
        assert_same_bits(clf.predict(rows[:1]), small.predict(few[:1]))
    importances = clf.feature_importances_[clf.columns_]
    assert np.allclose(small.feature_importances_, importances, rtol=1e-12, atol=0.0)
    assert small.reduced().n_features_in_ == small.n_features_in_
    small.save(tmp_path / "small.json")
    loaded = load_model(tmp_path / "small.json")
    assert_same_answers(small, loaded, X[:, clf.columns_])
    if not reads_all(clf):
        assert len(to_js(small)) < len(to_js(clf))
        assert len(to_c(small)) <= len(to_c(clf))


@pytest.mark.parametrize("clf", RIVALS.values(), ids=RIVALS)
def test_reduced_and_loaded_rivals_answer_alike_to_the_last_bit(clf, tmp_path):
    clf = clone(clf).fit(FRAME, Y)
    clf.save(tmp_path / "model.json")
    loaded, small = load_model(tmp_path / "model.json"), clf.reduced()
    assert type(loaded) is type(small) is type(clf)
    assert loaded.get_params() == clf.get_params()
    assert_same_answers(clf, loaded, FRAME)
    assert loaded.path_.losses.tolist() == clf.path_.losses.tolist()
    assert loaded.path_.stop_reason == clf.path_.stop_reason
    assert_same_answers(clf, small, FRAME[NAMES[clf.columns_]])
    small.save(tmp_path / "small.json")
    assert_same_answers(small, load_model(tmp_path / "small.json"), FRAME[NAMES[clf.columns_]])
    with pytest.raises(ValueError, match="is reduced or was saved without its path"):
        small.at(1)


def test_names_groups_and_parameters_are_those_of_the_columns_that_are_left():
    groups = np.arange(X.shape[1]) // 8
    clf = ShareBoostClassifier(2, groups=groups, costs=[1.0] * 8, exclude=[0]).fit(FRAME, Y)
    small = clf.reduced()
    assert small.feature_names_in_.tolist() == NAMES[clf.columns_].tolist()
    assert small.groups_[small.selected_].tolist() == clf.groups_[clf.selected_].tolist()
    assert small.groups_.tolist() == np.sort(clf.selected_).tolist()
    assert small.groups is small.costs is small.exclude is None
    assert (small.n_features, small.cost_, small.n_iter_) == (2, clf.cost_, clf.n_iter_)
    assert small.path_.names(small.selected_) == clf.path_.names(clf.selected_)
    again = clone(small).fit(FRAME[small.feature_names_in_], Y)
    assert again.n_features_in_ == small.n_features_in_
    assert clf.groups is groups
    assert clf.n_features_in_ == 64


def test_the_classifier_of_fewer_features_and_that_of_cross_validation_are_reduced_too():
    clf = ShareBoostCV(n_features=4, cv=2).fit(X, Y)
    two = clf.at(2).reduced()
    assert two.n_features_in_ == 2
    assert np.array_equal(two.predict(X[:, clf.at(2).columns_]), clf.at(2).predict(X))
    small = clf.reduced()
    assert type(small) is ShareBoostCV
    assert small.best_n_features_ == clf.best_n_features_
    with pytest.raises(ValueError, match=f"takes t={len(clf.selected_)}, "):
        small.at(1)
    with pytest.raises(ValueError, match="X has 64 features, but ShareBoostCV is expecting"):
        small.predict(X)


def test_the_estimator_of_cross_validation_forgets_the_other_columns_on_a_copy():
    estimator = ShareBoostClassifier(3, exclude=[0, 20], costs=np.ones(64))
    clf = ShareBoostCV(estimator, cv=2).fit(X, Y)
    small = clf.reduced()
    assert small.estimator.exclude is small.estimator.costs is None
    assert clf.estimator is estimator
    assert estimator.exclude == [0, 20]
    again = clone(small).fit(X[:, clf.columns_], Y)
    assert again.n_features_in_ == clf.columns_.size


def test_a_classifier_of_no_feature_keeps_the_first_column():
    clf = ShareBoostClassifier(2).fit(FRAME, Y).at(0)
    small = clf.reduced()
    assert small.feature_names_in_.tolist() == ["pixel 0"]
    assert np.array_equal(small.predict(FRAME[["pixel 0"]]), clf.predict(FRAME))


@pytest.mark.parametrize("name", POOLS_TO_TEST)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_are_read_by_name_in_any_order_whatever_else_they_have(name, library):
    clf = classifier(4, name).fit(FRAME, Y)
    needed = np.random.default_rng(0).permutation(NAMES[clf.columns_]).tolist()
    frame = library({"label": ["text"] * len(X)} | {column: FRAME[column] for column in needed})
    for answer in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert_same_bits(getattr(clf, answer)(frame), getattr(clf, answer)(FRAME))
    assert_same_bits(clf.transform(frame), clf.transform(FRAME))
    assert_same_bits(clf._contributions(frame), clf._contributions(FRAME))
    assert clf.score(frame, Y) == clf.score(FRAME, Y)
    staged = zip(clf.staged_predict(frame), clf.staged_predict(FRAME), strict=True)
    assert all(np.array_equal(one, two) for one, two in staged)


@pytest.mark.parametrize("clf", RIVALS.values(), ids=RIVALS)
def test_rivals_read_frames_by_name_too(clf):
    clf = clone(clf).fit(FRAME, Y)
    frame = FRAME[NAMES[clf.columns_][::-1]]
    assert_same_bits(clf.predict_proba(frame), clf.predict_proba(FRAME))


def test_the_columns_that_transform_names_are_enough():
    clf = ShareBoostClassifier(5).fit(FRAME, Y)
    found = clf.set_output(transform="pandas").transform(FRAME)
    assert np.array_equal(clf.predict(found), clf.predict(FRAME))
    assert np.array_equal(clf.predict(FRAME[clf.get_feature_names_out()]), clf.predict(FRAME))


def test_columns_that_are_missing_are_listed():
    clf = ShareBoostClassifier(4).fit(FRAME, Y)
    names = NAMES[clf.columns_].tolist()
    expected = (
        "The feature names should match those that were passed during fit.(.|\n)*yet now missing"
        f"(.|\n)*reads 4 of the columns, and X lacks 2 of these: {names[1]}, {names[3]}"
    )
    with pytest.raises(ValueError, match=expected):
        clf.predict(FRAME[[names[2], names[0]]])


def test_a_frame_with_the_names_of_the_fit_has_their_order():
    clf = ShareBoostClassifier(4).fit(FRAME, Y)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        clf.predict(FRAME[NAMES[::-1]])


def test_gaps_in_columns_that_are_not_read_do_not_matter():
    clf = ShareBoostClassifier(4).fit(FRAME, Y)
    frame = FRAME.drop(columns=np.setdiff1d(NAMES, NAMES[clf.columns_])[0])
    frame[np.setdiff1d(NAMES, NAMES[clf.columns_])[1]] = np.nan
    assert np.array_equal(clf.predict(frame), clf.predict(FRAME))


def test_groups_of_rivals_are_reduced_too():
    pool = Groups(np.arange(64) // 8)
    for clf in (
        OneVsRestGreedyClassifier(2, pool=pool),
        MixedNormClassifier(n_features=3, pool=pool),
    ):
        clf.fit(X, Y)
        small = clf.reduced()
        assert_same_bits(clf.predict_proba(X), small.predict_proba(X[:, clf.columns_]))


def test_a_rival_is_cut_at_numbers_of_features_that_its_path_skips():
    clf = MixedNormClassifier(n_features=20).fit(X, Y)
    numbers = clf.path_.n_features
    skipped = next(t for t in range(1, 20) if t not in numbers)
    fewer = clf.at(skipped)
    assert fewer.selected_.size == numbers[numbers <= skipped].max()
    small = fewer.reduced()
    assert small.n_features_in_ == max(1, fewer.columns_.size)


@pytest.mark.parametrize(
    "clf", [ShareBoostClassifier(), ShareBoostCV(), *RIVALS.values()], ids=lambda clf: repr(clf)[:9]
)
def test_an_unfitted_classifier_is_not_reduced(clf):
    with pytest.raises(NotFittedError):
        clone(clf).reduced()
