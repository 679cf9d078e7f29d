"""Weights, prices, held-out rows, checkpoints and the rest of a fit's options, as locally."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cluster_parity import as_local, assert_alike, spread
from sklearn.base import clone

from shareboost import ShareBoostClassifier, load_model
from shareboost.io.checkpoint import Checkpoint
from shareboost.path import StopReason
from shareboost.pools import Templates

both_refits = pytest.mark.parametrize("mode", ["gathered", "summed"])


@pytest.fixture(scope="module")
def three(data):
    X, y = data
    return X, y % 3


def new(n_features=2, **parameters):
    return ShareBoostClassifier(n_features, **{"alpha": 1e-2, **parameters})


def some_weights():
    """Weights of which a third, and all of the first block, are zero."""
    weight = np.random.default_rng(0).uniform(size=300)
    weight[::3] = 0.0
    weight[:120] = 0.0
    return weight


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 2: 0.5}, {0: 0.0}], ids=str)
def test_rows_are_weighted_as_locally(client, three, class_weight):
    clf = new(class_weight=class_weight)
    as_local(clf, *three, sample_weight=some_weights())
    as_local(clf, *three)


def test_weighted_gradients_are_summed_on_the_cluster(client, three, refitting):
    with refitting("summed"):
        clf = new(class_weight="balanced")
        as_local(clf, *three, mode="summed", sample_weight=some_weights())


def test_weights_may_be_here_one_number_or_too_small_to_count(client, three):
    X, y = three
    as_local(new(), X, y, sample_weight=some_weights(), spread_weight=False)
    as_local(new(), X, y, sample_weight=2.0, spread_weight=False)
    as_local(new(), X, y, sample_weight=np.where(np.arange(300) % 3, 1e-60, 1.0))


@pytest.mark.parametrize("pool", ["columns", "stumps", "products"])
def test_the_form_of_the_paper_is_that_of_a_local_fit(client, three, pool):
    X, y = three
    local, fitted = as_local(ShareBoostClassifier.as_published(4, pool=pool), X / 16, y)
    assert np.allclose(fitted.path_.losses, local.path_.losses, rtol=0, atol=1e-8)


def test_the_form_of_the_paper_refuses_columns_that_are_not_bounded(client, three):
    X, y = map(spread, three)
    with pytest.raises(ValueError, match="the paper.s form, takes columns in"):
        ShareBoostClassifier.as_published(4).fit(X, y)


def price_of_stumps(features):
    return 1.0 + features.column % 3


@pytest.mark.parametrize(
    "parameters",
    [
        {"costs": 1.0 + np.arange(64) % 5, "budget": 7.0, "include": [3], "exclude": [20, 46]},
        {"groups": np.arange(64) % 9},
        {"groups": np.arange(64) % 9, "group_choice": "mean", "include": [4]},
        {
            "groups": np.arange(64) % 9,
            "group_choice": "each",
            "pool": "stumps",
            "costs": 1.0 + np.arange(9),
        },
        {"pool": "stumps", "costs": price_of_stumps},
        {"n_features": None, "budget": 3.0},
    ],
    ids=["costs", "groups", "groups by mean", "groups that share a price", "a function", "budget"],
)
def test_prices_groups_and_wishes_count_as_locally(client, three, parameters):
    as_local(new(**{"n_features": 3, **parameters}), *three)


@both_refits
def test_the_same_rows_are_held_out_as_locally(client, three, refitting, mode):
    clf = new(3, validation_fraction=0.2, n_iter_no_change=1, random_state=3)
    clf.set_params(class_weight="balanced")
    with refitting(mode):
        local, fitted = as_local(clf, *three, mode=mode, sample_weight=some_weights())
    assert np.allclose(fitted.path_.validation_scores, local.path_.validation_scores)


def test_held_out_rows_may_be_lazy_or_here(client, three):
    X, y = three
    here, weight = (X[:100], y[:100]), some_weights()[50:150]
    lazy = da.from_array(X[:100], chunks=(30, -1)), da.from_array(y[:100], chunks=30)
    local = new(4, n_iter_no_change=1).fit(X, y, eval_set=(*here, weight))
    for held_out in ((*here, weight), (*lazy, weight), (*lazy, da.from_array(weight, chunks=30))):
        fitted = new(4, n_iter_no_change=1).fit(spread(X), spread(y), eval_set=held_out)
        assert_alike(fitted, local)
        assert np.allclose(fitted.path_.validation_scores, local.path_.validation_scores)
    with pytest.raises(ValueError, match="eval_set is Dask's, and X is not"):
        new().fit(X, y, eval_set=lazy)
    with pytest.raises(ValueError, match="eval_set has the label 3, which y does not hold"):
        new().fit(spread(X), spread(y), eval_set=(lazy[0], lazy[1] + 1))
    with pytest.raises(ValueError, match="eval_set is not valid: Input X contains NaN"):
        new().fit(spread(X), spread(y), eval_set=(lazy[0] * np.nan, lazy[1]))


def test_held_out_rows_may_be_of_one_class(client, three):
    X, y = three
    here = X[y == 1][:40], y[y == 1][:40]
    lazy = da.from_array(here[0], chunks=(30, -1)), da.from_array(here[1], chunks=30)
    local = new(3, n_iter_no_change=1).fit(X, y, eval_set=here)
    fitted = new(3, n_iter_no_change=1).fit(spread(X), spread(y), eval_set=lazy)
    assert np.allclose(fitted.path_.validation_scores, local.path_.validation_scores)


@both_refits
def test_a_warm_start_goes_on_from_earlier_rounds(client, three, refitting, mode):
    X, y = map(spread, three)
    with refitting(mode):
        clf = new(1, warm_start=True).fit(X, y)
        clf.set_params(n_features=3).fit(X, y)
        assert_alike(clf, new(3).fit(*three), 2e-5)


class CutError(Exception):
    """Ends a run in the middle."""


@pytest.mark.parametrize("mode", ["gathered", "summed, made anew"])
def test_an_interrupted_run_goes_on_to_the_same_end(
    client, three, refitting, mode, tmp_path, monkeypatch
):
    X, y = map(spread, three)
    clf = new(2, checkpoint=tmp_path / "run", validation_fraction=0.2, random_state=0)
    save = Checkpoint.save

    def save_and_cut(self, path):
        save(self, path)
        if len(path) == 1:
            raise CutError

    with refitting(mode):
        whole = clone(clf).set_params(checkpoint=None).fit(X, y)
        with monkeypatch.context() as patched:
            patched.setattr(Checkpoint, "save", save_and_cut)
            with pytest.raises(CutError):
                clf.fit(X, y)
        clf.fit(X, y)
        assert np.array_equal(clf.weights_, whole.weights_)
        assert np.array_equal(clf.path_.losses, whole.path_.losses)
        assert np.array_equal(clf.path_.validation_scores, whole.path_.validation_scores)
        with pytest.raises(ValueError, match="X"):
            clf.fit(X + 1.0, y)
        with pytest.raises(ValueError, match="device"):
            clf.fit(*three)


class Stopper:
    """A callback that asks to stop after two rounds, and keeps their classifiers."""

    def __init__(self):
        self.fitted = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.fitted.append(fitted_estimator)
        return context.task_name == "round" and len(self.fitted) == 2


def test_a_callback_sees_the_rounds_and_may_end_them(client, three):
    stopper = Stopper()
    clf = new(5).set_callbacks(stopper).fit(*map(spread, three))
    assert clf.path_.stop_reason == StopReason.CALLBACK
    assert [fitted.selected_.size for fitted in stopper.fitted] == [1, 2, 2]


def test_bars_are_shown_here(client, three, capsys):
    new(2, verbose=1).fit(*map(spread, three))
    assert "2" in capsys.readouterr().err


def test_frames_teach_the_names_of_columns(client, three):
    X, y = three
    local_X = pd.DataFrame(X).rename(columns=lambda column: f"pixel {column}")
    frame = dd.from_pandas(local_X, npartitions=3)
    labels = dd.from_pandas(pd.Series(y), npartitions=3)
    clf = new(3, include=["pixel 7"], exclude=["pixel 46"])
    local = clone(clf).fit(local_X, y)
    for given in (labels, labels.to_dask_array(), y):
        fitted = clone(clf).fit(frame, given)
        assert_alike(fitted, local)
        assert np.array_equal(fitted.feature_names_in_, local.feature_names_in_)
        assert list(fitted.get_feature_names_out()) == list(local.get_feature_names_out())


def test_rows_and_labels_may_be_columns_of_one_frame(client, three):
    X, y = three
    local = pd.DataFrame(X).rename(columns=str).assign(label=y, weight=some_weights())
    frame = dd.from_pandas(local, npartitions=3)
    frame, local = frame[frame["10"] > 2], local[local["10"] > 2]
    names = [str(column) for column in range(64)]
    fitted = new().fit(frame[names], frame["label"], frame["weight"])
    assert_alike(fitted, new().fit(local[names], local["label"], local["weight"]))


def test_a_fitted_classifier_holds_nothing_of_dask(client, three, tmp_path):
    X, y = three
    clf = new(3, pool="stumps", validation_fraction=0.2, random_state=0)
    clf.fit(spread(X), spread(y))
    packed = pickle.dumps(clf)
    assert b"dask" not in packed
    assert b"distributed" not in packed
    assert np.array_equal(pickle.loads(packed).predict(X), clf.predict(X))
    clf.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict(X), clf.predict(X))


def test_random_pools_draw_as_locally(client, data):
    X, y = data
    for seed in (0, 1):
        as_local(new(pool=Templates(4, patch_size=3, masks=2, sigma=2.0, random_state=seed)), X, y)


def test_a_checkpoint_of_refits_elsewhere_is_refused(client, three, refitting, tmp_path):
    X, y = three
    file = tmp_path / "run"
    new(2, checkpoint=file).fit(spread(X), spread(y))
    with refitting("summed"), pytest.raises(ValueError, match="with other refit"):
        new(2, checkpoint=file).fit(spread(X), spread(y))


def test_a_checkpoint_of_weights_in_another_unit_is_refused(client, three, tmp_path):
    X, y = three
    weight, file = np.ones(len(y)), tmp_path / "run"
    new(2, alpha="auto", checkpoint=file).fit(spread(X), spread(y), spread(weight))
    with pytest.raises(ValueError, match="with other sample_weight"):
        new(2, alpha="auto", checkpoint=file).fit(spread(X), spread(y), spread(3.0 * weight))
