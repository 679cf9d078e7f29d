"""Cross-validation, stability, curves and reports on rows of Dask; and what takes none."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cluster_parity import assert_alike, spread

from shareboost import ShareBoostClassifier, ShareBoostCV, selection_stability
from shareboost.inspection.comparison import error_curve
from shareboost.inspection.report import report_data
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier


@pytest.fixture(scope="module")
def three(data):
    X, y = data
    return X, y % 3


def named(X):
    return pd.DataFrame(X).rename(columns=lambda column: f"pixel {column}")


def in_partitions(values):
    return dd.from_pandas(values, npartitions=3)


def search():
    return ShareBoostCV(ShareBoostClassifier(2, include=["pixel 7"]), cv=2, alpha=1e-2)


@pytest.fixture(scope="module")
def local(three):
    X, y = three
    return search().fit(named(X), y)


def test_folds_of_arrays_score_as_locally(client, three):
    X, y = three
    weight = np.random.default_rng(0).uniform(size=y.size)
    local = ShareBoostCV(n_features=2, cv=2, alpha=1e-2).fit(X, y, weight)
    for labels, own in ((spread(y), spread(weight)), (y, weight)):
        clf = ShareBoostCV(n_features=2, cv=2, alpha=1e-2).fit(spread(X), labels, own)
        assert_alike(clf, local)
        assert clf.best_n_features_ == local.best_n_features_
        for name in ("mean_test_score", "split1_test_score"):
            assert np.allclose(clf.cv_results_[name], local.cv_results_[name])


@pytest.mark.parametrize("lazy", [True, False])
def test_folds_of_frames_keep_the_names(client, three, local, lazy):
    X, y = three
    labels = in_partitions(pd.Series(y)) if lazy else y
    clf = search().fit(in_partitions(named(X)), labels)
    assert_alike(clf, local)
    assert clf.best_n_features_ == local.best_n_features_
    assert np.allclose(clf.cv_results_["mean_test_score"], local.cv_results_["mean_test_score"])
    assert np.array_equal(clf.feature_names_in_, local.feature_names_in_)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_fits_to_rows_of_dask_run_one_at_a_time(client, three, n_jobs):
    X, y = map(spread, three)
    with pytest.raises(ValueError, match=f"n_jobs={n_jobs} .* takes None or 1"):
        ShareBoostCV(n_features=2, n_jobs=n_jobs).fit(X, y)
    with pytest.raises(ValueError, match=f"n_jobs={n_jobs} .* takes None or 1"):
        selection_stability(ShareBoostClassifier(2), X, y, n_jobs=n_jobs)


def test_resamples_choose_as_locally(client, three):
    X, y = three
    clf = ShareBoostClassifier(2, alpha=1e-2)
    local = selection_stability(clf, X, y, n_resamples=2)
    found = selection_stability(clf, spread(X), spread(y), n_resamples=2)
    assert np.array_equal(found.selections, local.selections)
    draws = {"n_resamples": 2, "replace": True, "fraction": 1.0}
    local = selection_stability(clf, X, y, **draws)
    found = selection_stability(clf, in_partitions(named(X)), y, **draws)
    assert np.array_equal(found.selections, local.selections)
    assert found.names[3] == "pixel 3"


@pytest.mark.parametrize(
    "rival", [JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier]
)
def test_rivals_say_that_they_compute_in_numpy(client, three, rival):
    with pytest.raises(ValueError, match=rf"{rival.__name__} computes in NumPy: give X.compute"):
        rival().fit(*map(spread, three))


def test_curves_and_reports_read_rows_of_dask_once(three):
    X, y = three
    read = []

    def reading(block):
        read.append(len(block))
        return block

    clf = ShareBoostClassifier(3, alpha=1e-2).fit(X, y)
    rows = spread(X).map_blocks(reading, meta=np.empty((0, 0)))
    assert np.array_equal(error_curve(clf, rows, spread(y)).errors, error_curve(clf, X, y).errors)
    assert sum(read) == 300
    assert report_data(clf, rows, spread(y)) == report_data(clf, X, y)
    assert sum(read) == 600


def test_wrong_images_of_dask_are_drawn(client, three):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from shareboost.inspection.plots import plot_errors

    X, y = three
    clf = ShareBoostClassifier(3, alpha=1e-2).fit(X, y)
    drawn = [
        [picture.get_array() for picture in plot_errors(clf, rows, y, n_images=4).images]
        for rows in (X, spread(X))
    ]
    assert len(drawn[0]) == 4
    assert np.array_equal(*drawn)
    matplotlib.pyplot.close("all")
