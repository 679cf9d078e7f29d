"""In pipelines, of scikit-learn and of imbalanced-learn, with frames in and out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from imblearn.under_sampling import RandomUnderSampler
from numpy.testing import assert_allclose
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shareboost import ShareBoostClassifier
from shareboost.rivals import OneVsRestGreedyClassifier


@pytest.fixture(scope="module")
def mixed():
    """Rows whose label hangs on a colour and on a number, among others."""
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], 300), rng.normal(size=300)
    frame = pd.DataFrame({"size": 100 * size, "age": rng.uniform(20, 80, 300), "colour": colour})
    return frame, np.where(colour == "red", "stop", np.where(size > 0, "go", "wait"))


def test_columns_are_chosen_among_those_that_a_column_transformer_makes(mixed):
    frame, y = mixed
    columns = ColumnTransformer(
        [("scaled", StandardScaler(), ["size", "age"]), ("is", OneHotEncoder(), ["colour"])]
    )
    pipe = make_pipeline(columns, ShareBoostClassifier(2)).fit(frame, y)
    assert set(pipe.get_feature_names_out()) == {"scaled__size", "is__colour_red"}
    assert pipe.score(frame, y) > 0.95
    by_hand = np.column_stack(
        [
            StandardScaler().fit_transform(frame[["size", "age"]]),
            *(frame["colour"] == colour for colour in ("blue", "green", "red")),
        ]
    )
    alone = ShareBoostClassifier(2).fit(by_hand, y)
    assert_allclose(pipe.predict_proba(frame), alone.predict_proba(by_hand))


def test_names_reach_the_classifier_where_steps_give_frames(named):
    frame, y = named
    pipe = make_pipeline(StandardScaler(), ShareBoostClassifier(2))
    pipe.set_output(transform="pandas").fit(frame, y)
    assert pipe[-1].feature_names_in_.tolist() == list("abcdefgh")
    found = pipe.transform(frame)
    assert set(found.columns) == {"c", "f"}
    pd.testing.assert_frame_equal(found, pipe[0].transform(frame)[found.columns])


def test_a_pipeline_can_go_on_from_the_chosen_columns(shifted):
    X, y = shifted
    pipe = make_pipeline(ShareBoostClassifier(2), LogisticRegression()).fit(X, y)
    chosen = [int(name.removeprefix("x")) for name in pipe[:-1].get_feature_names_out()]
    assert sorted(chosen) == [2, 5]
    by_hand = LogisticRegression().fit(X[:, chosen], y)
    assert_allclose(pipe.predict_proba(X), by_hand.predict_proba(X[:, chosen]))


@pytest.mark.parametrize("kind", [ShareBoostClassifier, OneVsRestGreedyClassifier])
def test_frames_of_pandas_keep_their_index(kind, named):
    frame, y = named
    clf = kind(2).set_output(transform="pandas")
    found = clf.fit(frame, y).transform(frame)
    pd.testing.assert_frame_equal(found, frame[clf.get_feature_names_out()])


def test_frames_of_polars_have_the_names_of_the_features(named):
    frame, y = named
    rows = pl.from_pandas(frame)
    clf = ShareBoostClassifier(3, pool="stumps").set_output(transform="polars").fit(rows, y)
    found = clf.transform(rows)
    assert found.columns == clf.get_feature_names_out().tolist()
    features = clf.path_.features
    for name, column, threshold in zip(
        found.columns, features.column, features.threshold, strict=True
    ):
        by_hand = rows[:, int(column)].to_numpy() <= threshold
        assert np.array_equal(found[name].to_numpy(), by_hand), name


def test_a_frozen_classifier_is_not_fitted_again(shifted):
    X, y = shifted
    clf = ShareBoostClassifier(2).fit(X, y)
    frozen = make_pipeline(FrozenEstimator(clf)).fit(X[::-1], np.arange(240) % 2)
    assert frozen[0].estimator is clf
    assert np.array_equal(frozen.predict(X), ShareBoostClassifier(2).fit(X, y).predict(X))


def test_imbalanced_learn_samples_training_rows_alone(two_classes):
    X, y = two_classes
    sampler = RandomUnderSampler(random_state=0)
    pipe = make_imblearn_pipeline(StandardScaler(), sampler, ShareBoostClassifier(1)).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    rows, labels = sampler.fit_resample(scaled, y)
    assert np.bincount(labels).tolist() == [y.sum()] * 2
    by_hand = ShareBoostClassifier(1).fit(rows, labels)
    assert by_hand.selected_.tolist() == [4]
    assert_allclose(pipe.predict_proba(X), by_hand.predict_proba(scaled))
