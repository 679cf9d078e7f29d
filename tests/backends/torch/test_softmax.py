"""The logistic loss of tensors, against that of NumPy's arrays."""

import numpy as np
import pytest

from shareboost.losses import LogisticLoss

torch = pytest.importorskip("torch")

types = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f4", "f8"])


def problem(dtype, scale=1.0, k=4, n=50):
    rng = np.random.default_rng(0)
    scores = (scale * rng.normal(size=(k, n))).astype(dtype)
    return scores, rng.integers(k, size=n), rng.uniform(0.1, 2.0, size=n).astype(dtype)


def both(loss, scores, y, weight, device):
    """The loss and the residual of NumPy, in float64, and those of the device."""
    truth = scores.astype(np.float64)
    value = loss.value_and_residual(truth, y, weight.astype(np.float64))
    found, labels, weights = (torch.tensor(part, device=device) for part in (scores, y, weight))
    own = loss.value_and_residual(found, labels, weights)
    assert found.dtype == weights.dtype
    assert np.array_equal(weights.cpu().numpy(), weight)
    return (value, truth), (float(own), found.cpu().numpy())


@types
@pytest.mark.parametrize(("scale", "margin"), [(1.0, 2.5), (30.0, 0.0)])
def test_values_and_residuals_are_those_of_numpy(scale, margin, dtype, device):
    scores, y, weight = problem(dtype, scale)
    truth, found = both(LogisticLoss(margin), scores, y, weight, device)
    precision = 2e-5 if dtype == np.float32 else 1e-12
    assert found[0] == pytest.approx(truth[0], rel=precision)
    assert np.allclose(found[1], truth[1], rtol=100 * precision, atol=precision)


@pytest.mark.parametrize(
    ("lead", "margin", "dtype"), [(20.0, 0.0, "f8"), (20.0, 2.5, "f4"), (60.0, 2.5, "f4")]
)
def test_confident_examples_are_not_rounded_away(lead, margin, dtype, device):
    """Of an example that is right by far, the loss and the residual are small and not zero."""
    scores = np.zeros((3, 2), dtype=dtype)
    scores[1] = lead
    y, weight = np.array([1, 1]), np.array([1.0, 0.5], dtype=dtype)
    truth, found = both(LogisticLoss(margin), scores, y, weight, device)
    assert truth[0] > 0
    assert found[0] == pytest.approx(truth[0], rel=1e-4)
    assert np.allclose(found[1], truth[1], rtol=1e-4, atol=0.0)
    assert found[1].sum(axis=0) == pytest.approx(0.0, abs=1e-6 * np.exp(-lead + margin))


@types
def test_extreme_scores_neither_overflow_nor_become_nan(dtype, device):
    y, weight = np.array([0, 0, 0]), np.ones(3, dtype=dtype)
    for size in (1e3, 1e30):
        scores = np.array([[size, -size, 0.0], [-size, size, 0.0], [0.0, 0.0, size]], dtype=dtype)
        truth, found = both(LogisticLoss(1.0), scores, y, weight, device)
        assert np.isfinite(found[0])
        assert found[0] == pytest.approx(truth[0], rel=1e-5)
        assert np.allclose(found[1], truth[1], atol=1e-6)


@types
def test_curvatures_are_those_of_numpy(dtype, device):
    scores, y, weight = problem(dtype)
    loss = LogisticLoss(1.0)
    loss.value_and_residual(scores, y, weight)
    tensors = [torch.tensor(part, device=device) for part in (scores, y, weight)]
    residual, labels, weights = tensors
    direction = np.random.default_rng(1).normal(size=scores.shape).astype(dtype)
    rho = loss.rho(scores, y, weight)
    own = loss.rho(residual, labels, weights)
    assert np.allclose(own.cpu().numpy(), rho, atol=1e-6)
    assert np.allclose(own.cpu().numpy().sum(axis=0), 1.0, atol=1e-5)
    there = torch.tensor(direction, device=device)
    product = loss.curvature_product(residual, labels, weights, there)
    expected = loss.curvature_product(scores, y, weight, direction)
    assert np.allclose(product.cpu().numpy(), expected, atol=1e-5)
    curvatures = loss.curvatures(residual, labels, weights)
    assert np.allclose(curvatures.cpu().numpy(), loss.curvatures(scores, y, weight), atol=1e-6)
    assert float(loss.total_curvature(residual, labels, weights)) == pytest.approx(
        float(curvatures.double().sum()), rel=1e-5
    )
