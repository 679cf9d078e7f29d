import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import random_problem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shareboost import ShareBoostClassifier, ShareBoostCV, selection_stability
from shareboost.pools import Columns, Pieces, Products, Union


def clear_problem(seed=0, n=200, d=10, informative=(2, 5, 7), k=3):
    """Rows whose class only the informative columns tell, each another class of three."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.normal(size=(n, d))
    for label, column in enumerate(informative):
        X[:, column] += 3.0 * (y == label)
    return X, y


class Recorder(ShareBoostClassifier):
    """Keeps what every fit was given."""

    seen = ()

    def fit(self, X, y, sample_weight=None):
        type(self).seen = (*self.seen, (X, y, sample_weight, self.get_params()))
        return super().fit(X, y, sample_weight)


@pytest.fixture
def recorder():
    yield Recorder
    Recorder.seen = ()


# Resampling a classifier


def test_columns_that_clearly_tell_the_class_are_always_chosen():
    found = selection_stability(ShareBoostClassifier(3), *clear_problem(), n_resamples=12)
    assert np.flatnonzero(found.frequencies == 1).tolist() == [2, 5, 7]
    assert found.index == 1.0
    assert found.n_features.tolist() == [3] * 12


def test_of_two_columns_that_tell_the_same_each_is_chosen_about_half_the_time():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 5))
    X[:, 3:] *= 0.3
    X[:, 3:] += rng.normal(size=(100, 1)) + 2.0 * y[:, np.newaxis]
    # Every row once more with the two exchanged: neither has more to tell.
    X, y = np.vstack([X, X[:, [0, 1, 2, 4, 3]]]), np.tile(y, 2)
    found = selection_stability(ShareBoostClassifier(1), X, y, n_resamples=30)
    assert 0.25 < found.frequencies[3] < 0.75
    assert found.frequencies[3] + found.frequencies[4] == 1


def test_labels_that_nothing_tells_give_an_index_of_about_zero():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), np.arange(60) % 2
    # Larger parts of one sample share more of its accidents.
    found = selection_stability(ShareBoostClassifier(3), X, y, n_resamples=20, fraction=0.2)
    assert abs(found.index) < 0.1


@pytest.mark.quiet
def test_the_result_does_not_depend_on_the_number_of_processes(problem):
    clf = ShareBoostClassifier(4, validation_fraction=0.3, n_iter_no_change=2)  # an open seed
    one, two = (
        selection_stability(clf, *problem, n_resamples=5, random_state=3, n_jobs=n_jobs)
        for n_jobs in (None, 2)
    )
    assert np.array_equal(one.selections, two.selections)
    assert not np.array_equal(
        one.selections,
        selection_stability(clf, *problem, n_resamples=5, random_state=4).selections,
    )


def test_a_resample_holds_its_fraction_of_every_class_and_at_least_a_row(recorder):
    X, _ = random_problem(0, n=101)
    y = np.repeat(["a", "b", "c"], [60, 40, 1])
    selection_stability(recorder(2), X, y, n_resamples=3, fraction=0.2)
    for seen, labels, _, _ in recorder.seen:
        assert np.unique(labels, return_counts=True)[1].tolist() == [12, 8, 1]
        assert len(np.unique(seen, axis=0)) == 21
    assert not np.array_equal(recorder.seen[0][0], recorder.seen[1][0])


def test_the_bootstrap_draws_rows_again(recorder):
    X, y = random_problem(0)
    selection_stability(recorder(2), X, y, n_resamples=2, fraction=1, replace=True)
    for seen, labels, _, _ in recorder.seen:
        assert np.bincount(labels).tolist() == np.bincount(y).tolist()
        assert len(np.unique(seen, axis=0)) < 0.75 * len(X)


def test_rows_and_labels_and_weights_stay_together(recorder):
    X, y = random_problem(0)
    weight = np.arange(1.0, len(y) + 1)
    selection_stability(recorder(2), X, y, n_resamples=2, sample_weight=weight)
    where = {row.tobytes(): place for place, row in enumerate(X)}
    for seen, labels, weights, _ in recorder.seen:
        rows = [where[row.tobytes()] for row in seen]
        assert np.array_equal(labels, y[rows])
        assert np.array_equal(weights, weight[rows])


def test_a_weight_of_zero_equals_leaving_the_row_out(problem):
    X, y = problem
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    clf = ShareBoostClassifier(3)
    some = weight > 0
    found = selection_stability(clf, X, y, n_resamples=4, sample_weight=weight)
    without = selection_stability(clf, X[some], y[some], n_resamples=4, sample_weight=weight[some])
    assert np.array_equal(found.selections, without.selections)


def test_every_resample_starts_afresh_and_the_classifier_stays_as_it_is(recorder, tmp_path):
    X, y = random_problem(0)
    file = tmp_path / "run"
    clf = recorder(3, checkpoint=file, warm_start=True, random_state=7).fit(X, y)
    saved, path = file.read_bytes(), clf.path_
    recorder.seen = ()
    selection_stability(clf, X, y, n_resamples=3)
    for *_, parameters in recorder.seen:
        assert parameters["checkpoint"] is None
        assert parameters["warm_start"] is False
        assert parameters["random_state"] == 7
    assert file.read_bytes() == saved
    assert clf.path_ is path
    assert clf.checkpoint == file


def test_open_seeds_are_set_another_for_each_resample(recorder):
    selection_stability(recorder(2), *random_problem(0), n_resamples=3)
    assert len({parameters["random_state"] for *_, parameters in recorder.seen}) == 3


def test_a_fitted_classifier_of_fewer_features_is_resampled_as_such():
    X, y = clear_problem()
    clf = ShareBoostClassifier(6).fit(X, y).at(2)
    assert selection_stability(clf, X, y, n_resamples=3).n_features.tolist() == [2, 2, 2]


def test_cross_validation_within_every_resample_gives_sets_of_its_own_sizes():
    X, y = clear_problem(d=8)
    clf = ShareBoostCV(n_features=5, cv=2, choice="one_se")
    found = selection_stability(clf, X, y, n_resamples=3)
    assert found.n_features.shape == (3,)
    assert 2 <= found.n_features.min() <= found.n_features.max() <= 5


def test_the_bar_counts_resamples_alone(problem, capsys):
    clf = ShareBoostClassifier(2, verbose=1)
    selection_stability(clf, *problem, n_resamples=3, verbose=1)
    shown = capsys.readouterr().err
    assert "resamples" in shown
    assert "3/3" in shown
    assert "rounds" not in shown
    selection_stability(clf, *problem, n_resamples=3)
    assert capsys.readouterr().err == ""


# What is counted


def test_stumps_count_the_column_they_cut_once():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 5))
    y = (np.abs(X[:, 3]) < 0.5).astype(int)  # both thresholds are on one column
    found = selection_stability(ShareBoostClassifier(2, pool="stumps"), X, y, n_resamples=4)
    assert found.frequencies.tolist() == [0, 0, 0, 1, 0]


def test_products_count_both_factors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 1] * X[:, 4] > 0).astype(int)
    for pool in ("products", Products(squares=True, linear=True)):
        found = selection_stability(ShareBoostClassifier(1, pool=pool), X, y, n_resamples=4)
        assert found.frequencies.tolist() == [0, 1, 0, 0, 1]


def test_groups_count_all_of_their_columns():
    X, y = clear_problem(d=8)
    groups = [0, 0, 1, 1, 1, 2, 2, 2]
    found = selection_stability(ShareBoostClassifier(1, groups=groups), X, y, n_resamples=4)
    assert found.frequencies.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


def test_pools_whose_features_read_every_column_are_refused_at_the_first_fit(problem, recorder):
    clf = recorder(1, pool=Pieces(4, 2), alpha=1e-2)
    with pytest.raises(
        ValueError, match=r"pool=Pieces.*read every column of X: there is no choice"
    ):
        selection_stability(clf, *problem)
    assert len(recorder.seen) == 1


def test_a_union_counts_what_its_chosen_features_read(problem):
    X, y = problem
    clf = ShareBoostClassifier(2, pool=Union([Columns(), Products()]))
    found = selection_stability(clf, X, y, n_resamples=3)
    assert set(found.n_features.tolist()) <= {2, 3, 4}


# Input


def test_sparse_rows_of_any_format_give_the_same(problem):
    X, y = problem
    X = np.where(np.abs(X) < 0.5, 0, X)
    clf = ShareBoostClassifier(3)
    dense = selection_stability(clf, X, y, n_resamples=3)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        found = selection_stability(clf, kind(X), y, n_resamples=3)
        assert np.array_equal(found.selections, dense.selections)


def test_a_frame_gives_its_names_and_columns_may_be_named(problem):
    X, y = problem
    names = [f"gene {j}" for j in range(12)]
    frame = pd.DataFrame(X, columns=names)
    clf = ShareBoostClassifier(3, include=["gene 11"], exclude=["gene 0"])
    found = selection_stability(clf, frame, pd.Series(y).map("abcd".__getitem__), n_resamples=3)
    assert found.names.tolist() == names
    assert found.frequencies[11] == 1
    assert found.frequencies[0] == 0
    by_place = selection_stability(clf.set_params(include=[11], exclude=[0]), X, y, n_resamples=3)
    assert by_place.names.tolist() == [f"x{j}" for j in range(12)]
    assert np.array_equal(by_place.selections, found.selections)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_resamples": 1}, r"n_resamples=1 .*at least 2"),
        ({"n_resamples": 2.5}, r"n_resamples=2.5 .*integer"),
        ({"fraction": 0}, r"fraction=0 .*above 0 and up to 1"),
        ({"fraction": 1.5}, r"fraction=1.5 .*above 0 and up to 1"),
        ({"fraction": "half"}, r"fraction='half' .*above 0"),
        ({"fraction": 1.0}, r"fraction=1.0 without replacement .*replace=True"),
        ({"fraction": 0.999}, r"fraction=0.999 without replacement .*every row"),
        ({"sample_weight": [1.0]}, r"sample_weight"),
    ],
)
def test_bad_arguments_are_named(problem, arguments, message):
    with pytest.raises(ValueError, match=message):
        selection_stability(ShareBoostClassifier(2), *problem, **arguments)


@pytest.mark.parametrize(
    "other",
    [
        LogisticRegression(),
        ShareBoostClassifier,
        make_pipeline(StandardScaler(), ShareBoostClassifier()),
    ],
)
def test_other_estimators_are_refused(problem, other):
    with pytest.raises(TypeError, match=r"is not valid for selection_stability: .*shareboost"):
        selection_stability(other, *problem)


def test_labels_must_fit_the_rows_and_be_of_two_classes(problem):
    X, y = problem
    with pytest.raises(ValueError, match="X and y differ in length"):
        selection_stability(ShareBoostClassifier(2), X, y[1:])
    with pytest.raises(ValueError, match="y has only one class"):
        selection_stability(ShareBoostClassifier(2), X, np.zeros(150))
