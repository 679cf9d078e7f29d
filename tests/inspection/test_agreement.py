from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shareboost.inspection.agreement import Stability


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


def test_it_shows_the_index_and_the_most_frequent_columns():
    shown = repr(stability([[1, 0, 0, 0, 0, 1]] * 3))
    assert "3 resamples" in shown
    assert "index 1.00 (1.00 to 1.00)" in shown
    assert "2.0 of 6 columns" in shown
    assert "x0 1.00, x5 1.00" in shown
    assert "x4" not in shown
