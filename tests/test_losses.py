import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import expit

from shareboost.losses import BinaryLogisticLoss, LogisticLoss


def scores_and_labels(seed, k=5, n=7, size=3.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, n)) * size, rng.integers(k, size=n), rng.uniform(0.5, 2, size=n)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 1.0]), st.integers(2, 9))
def test_value_and_residual_equal_the_formula(seed, margin, k):
    S, y, weight = scores_and_labels(seed, k=k)
    work = S.copy()
    value = LogisticLoss(margin).value_and_residual(work, y, weight)
    truth = naive.average_loss(S.T, y, weight, margin) * weight.sum()
    assert value == pytest.approx(truth, rel=1e-12)
    assert np.allclose(work, weight * naive.residual(S.T, y, margin).T, atol=1e-14)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_residual_is_the_gradient_of_the_value(margin):
    S, y, weight = scores_and_labels(1)
    loss = LogisticLoss(margin)
    numeric = approx_fprime(
        S.ravel(), lambda s: loss.value_and_residual(s.reshape(S.shape).copy(), y, weight), 1e-7
    )
    work = S.copy()
    loss.value_and_residual(work, y, weight)
    assert np.allclose(work.ravel(), numeric, atol=1e-5)


def test_curvature_product_is_the_derivative_of_the_residual():
    S, y, weight = scores_and_labels(2)
    loss = LogisticLoss()
    V = np.random.default_rng(3).normal(size=S.shape)

    def residual(at):
        work = at.copy()
        loss.value_and_residual(work, y, weight)
        return work

    numeric = (residual(S + 1e-6 * V) - residual(S - 1e-6 * V)) / 2e-6
    assert np.allclose(loss.curvature_product(residual(S), y, weight, V), numeric, atol=1e-7)


def test_rho_is_a_distribution_over_classes():
    S, y, weight = scores_and_labels(4)
    expected = np.array([naive.example_rho(s, q, 1.0) for s, q in zip(S.T, y, strict=True)]).T
    LogisticLoss().value_and_residual(S, y, weight)
    rho = LogisticLoss.rho(S, y, weight)
    assert np.allclose(rho, expected)


def test_total_curvature_is_the_trace_of_the_hessian():
    S, y, weight = scores_and_labels(5)
    LogisticLoss().value_and_residual(S, y, weight)
    diagonal = [
        LogisticLoss().curvature_product(S, y, weight, np.eye(len(S))[:, [q]] + 0 * S)[q]
        for q in range(len(S))
    ]
    assert np.isclose(LogisticLoss().total_curvature(S, y, weight), np.sum(diagonal))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, 100.0, 1e4])
@pytest.mark.filterwarnings("error")
def test_large_scores_are_exact_and_raise_no_warning(dtype, size):
    rng = np.random.default_rng(0)
    S = np.round(rng.uniform(-size, size, size=(6, 400))).astype(dtype)
    y = rng.integers(6, size=400)
    weight = np.ones(400, dtype)
    with np.errstate(all="raise"):
        work = S.copy()
        value = LogisticLoss().value_and_residual(work, y, weight)
    truth = naive.average_loss(S.T.astype(float), y, np.ones(400), 1.0) * 400
    assert work.dtype == dtype
    assert value == pytest.approx(truth, rel=10 * float(np.finfo(dtype).eps))
    expected = naive.residual(S.T.astype(float), y, 1.0).T
    assert np.allclose(work, expected, atol=10 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_confident_example_keeps_its_small_loss_and_residual(dtype):
    S = np.array([[40.0], [0.0], [1.0]], dtype)
    work = S.copy()
    value = LogisticLoss(0.0).value_and_residual(work, np.array([0]), np.ones(1, dtype))
    rest = np.exp(-40.0) + np.exp(-39.0)
    assert value == pytest.approx(rest, rel=1e-5, abs=0)
    assert work[:, 0] == pytest.approx([-rest, np.exp(-40.0), np.exp(-39.0)], rel=1e-5, abs=0)


def test_the_loss_bounds_the_zero_one_loss():
    S, y, weight = scores_and_labels(6, n=200)
    wrong = S.argmax(axis=0) != y
    assert LogisticLoss(1.0).value_and_residual(S, y, weight) >= (weight * wrong).sum()


def margins_and_labels(seed, n=9, size=3.0):
    """Scores of one class against the rest, (1, n), labels and weights."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(1, n)) * size, rng.integers(2, size=n), rng.uniform(0.5, 2, size=n)


def binary_residual(S, y, weight, margin=1.0):
    work = S.copy()
    BinaryLogisticLoss(margin).value_and_residual(work, y, weight)
    return work


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.1, 30.0))
def test_the_binary_loss_is_that_of_two_classes_whose_scores_differ_so(seed, margin, size):
    S, y, weight = margins_and_labels(seed, size=size)
    first = np.random.default_rng(seed).normal(size=S.shape)
    both = np.concatenate([first, first + S])
    one = BinaryLogisticLoss(margin).value_and_residual(S, y, weight)
    assert one == pytest.approx(LogisticLoss(margin).value_and_residual(both, y, weight), rel=1e-9)
    assert np.allclose(S[0], both[1], rtol=1e-9, atol=1e-300)
    assert np.allclose(
        BinaryLogisticLoss().curvatures(S, y, weight)[0],
        LogisticLoss().curvatures(both, y, weight)[1],
        rtol=1e-6,
        atol=1e-14,
    )


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_binary_derivatives_are_those_of_the_value(margin):
    S, y, weight = margins_and_labels(1)
    loss = BinaryLogisticLoss(margin)
    numeric = approx_fprime(
        S.ravel(), lambda s: loss.value_and_residual(s[None].copy(), y, weight), 1e-7
    )
    residual = binary_residual(S, y, weight, margin)
    assert np.allclose(residual[0], numeric, atol=1e-5)
    V = np.random.default_rng(3).normal(size=S.shape)
    ahead, behind = (binary_residual(S + h * V, y, weight, margin) for h in (1e-6, -1e-6))
    product = loss.curvature_product(residual, y, weight, V)
    assert np.allclose(product, (ahead - behind) / 2e-6, atol=1e-7)
    diagonal = loss.curvature_product(residual, y, weight, np.ones_like(S))
    assert np.isclose(loss.total_curvature(residual, y, weight), diagonal.sum(), rtol=1e-12)
    assert np.allclose(loss.curvatures(residual, y, weight), diagonal, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, 50.0, 1e4])
def test_large_binary_scores_are_exact_both_ways_and_raise_no_warning(dtype, size):
    rng = np.random.default_rng(0)
    S = np.round(rng.uniform(-size, size, size=(1, 400))).astype(dtype)
    y = rng.integers(2, size=400)
    weight = np.ones(400, dtype)
    with np.errstate(all="raise"):
        work = S.copy()
        value = BinaryLogisticLoss().value_and_residual(work, y, weight)
    short = 1.0 - (2 * y - 1) * S[0].astype(np.float64)
    rounding = 10 * float(np.finfo(dtype).eps)
    assert work.dtype == dtype
    assert value == pytest.approx(np.logaddexp(0.0, short).sum(), rel=rounding)
    least = 10 * float(np.finfo(dtype).tiny)  # below, float32 has fewer digits
    assert np.allclose(work[0], -(2 * y - 1) * expit(short), rtol=rounding, atol=least)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("y", [0, 1])
def test_a_confident_binary_example_keeps_its_small_loss_residual_and_curvature(dtype, y):
    weight, labels = np.ones(1, dtype), np.array([y])
    work = np.array([[40.0 if y else -40.0]], dtype)
    value = BinaryLogisticLoss(0.0).value_and_residual(work, labels, weight)
    rest = np.exp(-40.0)
    assert value == pytest.approx(rest, rel=1e-5, abs=0)
    assert work[0, 0] == pytest.approx(-rest if y else rest, rel=1e-5, abs=0)
    curvature = BinaryLogisticLoss().total_curvature(work, labels, weight)
    assert curvature == pytest.approx(rest, rel=1e-5, abs=0)
