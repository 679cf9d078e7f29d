from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import random_problem
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shareboost import ShareBoostClassifier, ShareBoostCV, selection_stability
from shareboost.inspection.stability import Stability
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
    with pytest.raises(TypeError, match="which has no path of models: it takes a ShareBoost"):
        selection_stability(other, *problem)


def test_labels_must_fit_the_rows_and_be_of_two_classes(problem):
    X, y = problem
    with pytest.raises(ValueError, match="X and y differ in length"):
        selection_stability(ShareBoostClassifier(2), X, y[1:])
    with pytest.raises(ValueError, match="y has only one class"):
        selection_stability(ShareBoostClassifier(2), X, np.zeros(150))


# How stable the sets are


def stability(selections):
    selections = np.asarray(selections, dtype=bool)
    return Stability(selections, np.array([f"x{j}" for j in range(selections.shape[1])]))


some_selections = arrays(bool, st.tuples(st.integers(2, 8), st.integers(1, 7)))


@given(some_selections)
def test_the_index_is_one_less_the_pairs_mean_disagreement_over_that_of_chance(Z):
    d = Z.shape[1]
    apart = [sum(a != b for a, b in zip(*pair, strict=True)) for pair in combinations(Z, 2)]
    q = sum(map(sum, Z)) / Z.size
    expected = 1 - np.mean(apart) / (2 * d * q * (1 - q)) if 0 < q < 1 else 1.0
    assert stability(Z).index == pytest.approx(expected)


def test_for_sets_of_one_size_the_index_is_the_mean_kuncheva_index_of_the_pairs():
    rng = np.random.default_rng(0)
    d, k = 12, 4
    sets = [set(rng.choice(d, k, replace=False).tolist()) for _ in range(9)]
    chance = k * k / d
    kuncheva = [(len(a & b) - chance) / (k - chance) for a, b in combinations(sets, 2)]
    Z = [[j in own for j in range(d)] for own in sets]
    assert stability(Z).index == pytest.approx(np.mean(kuncheva))


def test_two_sets_that_share_nothing_and_leave_nothing_have_the_lowest_index():
    assert stability([[1, 1, 0, 0], [0, 0, 1, 1]]).index == pytest.approx(-1)


def test_sets_drawn_at_random_have_an_index_of_about_zero():
    rng = np.random.default_rng(0)
    found = stability(rng.random((400, 50)) < 0.3)
    assert abs(found.index) < 0.01
    assert found.interval[0] < 0 < found.interval[1]


@pytest.mark.parametrize("one_set", [[0, 0, 0], [1, 1, 1], [1, 0, 1]])
def test_the_same_set_every_time_is_perfectly_stable_even_where_it_is_empty_or_full(one_set):
    found = stability([one_set] * 5)
    assert found.index == 1.0
    assert found.interval == (1.0, 1.0)


@given(some_selections)
def test_index_and_interval_are_numbers_in_order(Z):
    found = stability(Z)
    low, high = found.interval
    lowest = -1 / (len(Z) - 1)
    assert lowest - 1e-9 <= found.index <= 1
    assert low <= found.index <= high <= 1


def test_the_standard_error_is_that_of_a_numerical_delta_method():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, size=8)
    # Columns that go together, in sets of varying size.
    Z = rng.random((3000, 8)) < p * rng.uniform(0.5, 1.0, size=(3000, 1))
    M, h = len(Z), 1e-6

    def plug_in(frequencies):
        q = frequencies.mean()
        return 1 - (frequencies * (1 - frequencies)).mean() / (q * (1 - q))

    mean = Z.mean(axis=0)
    influence = [(plug_in(mean + h * (z - mean)) - plug_in(mean - h * (z - mean))) for z in Z]
    error = np.std(np.array(influence) / (2 * h)) / np.sqrt(M)
    low, high = stability(Z).interval
    assert (high - low) / 2 == pytest.approx(1.959964 * error, rel=2e-3)


def test_the_interval_of_three_selections_is_that_of_the_formula():
    """Of Nogueira, Sechidis and Brown (2018), theorem 7, written out, where n is small."""
    Z = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 1, 0, 0]])
    M, d = Z.shape
    p, k = Z.mean(axis=0), Z.sum(axis=1)
    q = k.mean() / d
    index = 1 - (M / (M - 1) * p * (1 - p)).mean() / (q * (1 - q))
    phi = [
        (np.mean(Z[i] * p) - k[i] * q / d + index / 2 * (2 * k[i] * q / d - k[i] / d - q + 1))
        / (q * (1 - q))
        for i in range(M)
    ]
    error = np.sqrt(4 / M**2 * np.sum((phi - np.mean(phi)) ** 2))
    found = stability(Z)
    assert found.index == pytest.approx(index)
    assert found.interval[0] == pytest.approx(index - 1.959964 * error)
    assert found.interval[1] == pytest.approx(min(1, index + 1.959964 * error))


def test_the_interval_covers_the_truth_in_95_percent_of_experiments():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=20) ** 2
    q = p.mean()
    truth = 1 - (p * (1 - p)).mean() / (q * (1 - q))
    intervals = [stability(rng.random((200, 20)) < p).interval for _ in range(1000)]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert 0.92 < covered < 0.97


def test_frequencies_and_sizes_count_the_selections():
    found = stability([[1, 0, 1], [1, 0, 0]])
    assert found.frequencies.tolist() == [1.0, 0.0, 0.5]
    assert found.n_features.tolist() == [2, 1]


def test_the_frame_has_the_most_frequent_first_and_ties_in_the_order_of_columns():
    frame = stability([[0, 1, 1, 0], [0, 1, 0, 1]]).to_frame()
    assert frame.index.tolist() == [1, 2, 3, 0]
    assert frame["feature"].tolist() == ["x1", "x2", "x3", "x0"]
    assert frame["frequency"].tolist() == [1.0, 0.5, 0.5, 0.0]


def test_it_shows_the_index_and_how_many_columns_were_chosen():
    shown = repr(stability([[1, 0, 0, 0, 0, 1]] * 3))
    assert "3 resamples" in shown
    assert "index 1.00 (1.00 to 1.00)" in shown
    assert "2.0 of 6 columns" in shown
