import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareboost.bounds import corollary, generalization_gap, sparsity_rounds


def test_sparsity_rounds_is_theorem_2():
    W = np.array([[1.0, 0.0, -0.5], [-2.0, 0.0, 0.25]])  # the norm is 2 + 0 + 0.5
    assert sparsity_rounds(W, 0.1) == math.ceil(4 * 2.5**2 / 0.1) == 250
    assert sparsity_rounds(np.zeros((3, 2)), 0.1) == 0


@given(st.floats(0.01, 10), st.floats(0.01, 1), st.integers(1, 20))
def test_the_corollary_is_theorem_2_for_the_worst_matrix(c, epsilon, r):
    assert abs(corollary(r, c, epsilon) - sparsity_rounds(np.full((3, r), c), epsilon)) <= 1


def test_generalization_gap_is_theorem_1_with_constant_one():
    T, k, d, m, delta = 20, 10, 784, 60_000, 0.01
    inside = T * k * math.log(T * k) * math.log(k) + T * math.log(d) + math.log(1 / delta)
    assert generalization_gap(T, k, d, m, delta) == pytest.approx(math.sqrt(inside / m))
    assert generalization_gap(T, k, d, m) == generalization_gap(T, k, d, m, delta=0.05)


@given(st.integers(1, 50), st.integers(2, 50), st.integers(1, 10**6), st.integers(100, 10**6))
def test_the_gap_grows_with_rounds_classes_and_columns_and_falls_with_rows(T, k, d, m):
    gap = generalization_gap(T, k, d, m)
    assert generalization_gap(T + 1, k, d, m) > gap
    assert generalization_gap(T, k + 1, d, m) > gap
    assert generalization_gap(T, k, d + 1, m) > gap
    assert generalization_gap(T, k, d, 4 * m) == pytest.approx(gap / 2)
    assert generalization_gap(T, k, d, m, delta=0.01) > gap


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sparsity_rounds([[1.0]], 0.0), "epsilon=0.0 .* above 0"),
        (lambda: sparsity_rounds([1.0, 2.0], 0.1), r"W_star has shape \(2,\)"),
        (lambda: sparsity_rounds([[np.nan]], 0.1), "W_star has entries that are NaN"),
        (lambda: sparsity_rounds([[1.0]], "a"), "epsilon='a' .* above 0"),
        (lambda: generalization_gap(1, "a", 10, 10), "n_classes='a'"),
        (lambda: generalization_gap(0, 3, 10, 10), "n_rounds=0"),
        (lambda: generalization_gap(1, 1, 10, 10), "n_classes=1 .* at least 2"),
        (lambda: generalization_gap(1, 2, 0, 10), "n_columns=0"),
        (lambda: generalization_gap(1, 2, 10, -5), "n_samples=-5"),
        (lambda: generalization_gap(1, 2, 10, 10, 1.5), "delta=1.5 .* between 0 and 1"),
        (lambda: corollary(0, 1.0, 0.1), "n_columns=0"),
        (lambda: corollary(1, -1.0, 0.1), "largest_weight=-1.0"),
        (lambda: corollary(1, 1.0, math.inf), "epsilon=inf"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
