import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from shareboost.penalties import PENALTIES, Frobenius, SmoothL1, SmoothLinf1

ALL = [Frobenius(), SmoothL1(beta=3.0), SmoothLinf1(beta=3.0), SmoothLinf1(beta=50.0)]


@pytest.fixture
def W():
    return np.random.default_rng(0).normal(size=(4, 6))


@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_gradient_agrees_with_finite_differences(penalty, W):
    value = lambda w: penalty.value_and_gradient(w.reshape(W.shape))[0]  # noqa: E731
    numeric = approx_fprime(W.ravel(), value, 1e-7).reshape(W.shape)
    assert np.allclose(penalty.value_and_gradient(W)[1], numeric, atol=1e-4)


@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_curvature_product_agrees_with_finite_differences(penalty, W):
    V = np.random.default_rng(1).normal(size=W.shape)
    gradient = lambda at: penalty.value_and_gradient(at)[1]  # noqa: E731
    numeric = (gradient(W + 1e-6 * V) - gradient(W - 1e-6 * V)) / 2e-6
    assert np.allclose(penalty.curvature_product(W, V), numeric, atol=1e-5)


@pytest.mark.parametrize("n_classes", [4, 1])
@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_mean_curvature_is_the_mean_diagonal(penalty, n_classes, W):
    W = W[:n_classes]
    diagonal = np.empty_like(W)
    for q, j in np.ndindex(W.shape):
        unit = np.zeros_like(W)
        unit[q, j] = 1
        diagonal[q, j] = penalty.curvature_product(W, unit)[q, j]
    assert np.allclose(penalty.mean_curvature(W), diagonal.mean(axis=0))


@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_a_zero_column_costs_nothing_and_has_no_slope(penalty):
    value, gradient = penalty.value_and_gradient(np.zeros((4, 3)))
    assert value == pytest.approx(0.0, abs=1e-12)
    assert np.allclose(gradient, 0.0)


@given(st.integers(0, 1000), st.floats(1, 1000), st.floats(0.01, 1e4))
def test_smooth_norms_lie_within_their_stated_distance(seed, beta, size):
    W = np.random.default_rng(seed).normal(size=(5, 3)) * size
    value, _ = SmoothL1(beta).value_and_gradient(W)
    l1 = np.abs(W).sum()
    assert l1 - W.size * np.log(2) / beta - 1e-9 * l1 <= value <= l1 * (1 + 1e-9)
    value, _ = SmoothLinf1(beta).value_and_gradient(W)
    linf1 = np.abs(W).max(axis=0).sum()
    assert linf1 - W.shape[1] * np.log(2 * 5) / beta - 1e-9 * linf1 <= value
    assert value <= linf1 * (1 + 1e-9)


def test_linf1_is_the_formula_of_the_paper_less_its_value_at_zero(W):
    beta = 7.0
    formula = np.log((np.exp(beta * W) + np.exp(-beta * W)).sum(axis=0)).sum() / beta
    offset = W.shape[1] * np.log(2 * W.shape[0]) / beta
    assert SmoothLinf1(beta).value_and_gradient(W)[0] == pytest.approx(formula - offset)


@pytest.mark.parametrize("kind", [SmoothL1, SmoothLinf1])
def test_beta_below_one_is_refused(kind):
    for beta in (0.5, -1, np.inf, np.nan, None, "2"):
        with pytest.raises(ValueError, match=rf"beta={beta!r} .*at least 1"):
            kind(beta)


def test_every_named_penalty_can_be_made_without_arguments():
    assert all(make().value_and_gradient(np.ones((2, 1)))[0] > 0 for make in PENALTIES.values())
    assert SmoothL1().beta == SmoothLinf1().beta == 100.0
