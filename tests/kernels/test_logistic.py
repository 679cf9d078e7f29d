import numpy as np
import pytest
from scipy.special import softmax

from shareboost.kernels.logistic import BITS, CHUNK, evaluate


def value_and_residual(scores, y, weight, margin):
    """Return the loss at scores, which are overwritten with the residual."""
    empty = np.empty((len(scores), 0), scores.dtype)
    bits = BITS[scores.dtype.char]
    return evaluate(empty, scores[:0], y, weight, margin, bits, scores, empty)


@pytest.mark.parametrize(("n", "k"), [(1, 3), (40, 2), (CHUNK, 10), (2 * CHUNK + 5, 70)])
def test_the_residual_is_that_of_a_softmax(n, k):
    rng = np.random.default_rng(n + k)
    scores, y = 3.0 * rng.normal(size=(k, n)), rng.integers(k, size=n)
    weight = rng.uniform(0.5, 2.0, size=n)
    hot = np.eye(k)[y].T
    rho = softmax(scores + 1.5 * (1.0 - hot), axis=0)
    work = scores.copy()
    loss = value_and_residual(work, y, weight, 1.5)
    assert np.allclose(work, weight * (rho - hot), rtol=1e-12)
    gap = 1.5 * (1.0 - hot) + scores - scores[y, np.arange(n)]
    assert loss == pytest.approx(weight @ np.log(np.exp(gap).sum(axis=0)), rel=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("c", "wanted"), [(0, 2), (1, 1), (9, 4), (21, 30)])
def test_an_evaluation_equals_its_steps(dtype, c, wanted):
    rng = np.random.default_rng(c)
    k, n = 7, CHUNK + 9
    columns, W = rng.normal(size=(32, n)).astype(dtype), rng.normal(size=(k, c)).astype(dtype)
    y, weight = rng.integers(k, size=n), rng.uniform(0.5, 2.0, size=n).astype(dtype)
    residual, gradient = np.full((k, n), 7, dtype), np.zeros((k, wanted), dtype)
    bits = BITS[np.dtype(dtype).char]
    loss = evaluate(W, columns, y, weight, 1.0, bits, residual, gradient)
    work = W.astype(float) @ columns[:c].astype(float)
    truth = value_and_residual(work, y, weight.astype(float), 1.0)
    close = {"rtol": 0, "atol": 30 * float(np.finfo(dtype).eps)}
    assert loss == pytest.approx(truth, rel=close["atol"])
    assert np.allclose(residual, work, **close)
    slope = work @ columns[:wanted].astype(float).T
    assert np.allclose(gradient, slope, rtol=0, atol=n * close["atol"])


@pytest.mark.parametrize(("dtype", "end"), [(np.float32, -87.3), (np.float64, -708.3)])
def test_exponentials_are_right_to_the_last_digits(dtype, end):
    x = np.concatenate([np.linspace(end, -1e-3, 9973), -(10.0 ** np.arange(-20, 0))]).astype(dtype)
    scores, y = np.stack([np.zeros(x.size, dtype), x]), np.zeros(x.size, np.intp)
    value_and_residual(scores, y, np.ones(x.size, dtype), 0.0)
    exact = np.exp(x.astype(np.longdouble))
    assert np.max(np.abs(scores[1] / (exact / (1 + exact)) - 1)) < 4 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_score_far_below_the_largest_adds_nothing(dtype):
    scores = np.array([[0.0, 0.0], [-1e4, np.finfo(dtype).min], [1.0, 1.0]], dtype)
    two = scores[[0, 2]]
    both = value_and_residual(scores, np.zeros(2, np.intp), np.ones(2, dtype), 0.0)
    assert both == value_and_residual(two, np.zeros(2, np.intp), np.ones(2, dtype), 0.0)
    assert np.array_equal(scores[1], [0.0, 0.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_score_that_is_not_finite_reaches_the_loss_and_the_residual(place, bad):
    scores, y = np.zeros((3, 4)), np.array([0, 1, 2, 0])
    scores[place, 2] = bad
    with np.errstate(invalid="ignore"):
        loss = value_and_residual(scores, y, np.ones(4), 1.0)
    assert not np.isfinite(loss)
    assert np.isnan(scores).any(axis=0).tolist() == [False, False, True, False]


def test_sums_over_thousands_of_classes_are_as_exact_as_float32_allows():
    k, n = 5000, 3
    scores = np.random.default_rng(0).normal(size=(k, n)).astype(np.float32)
    y, weight = np.array([0, 7, 4999]), np.ones(n, dtype=np.float32)
    truth = softmax(scores.astype(np.float64), axis=0) - np.eye(k)[y].T
    value_and_residual(scores, y, weight, 0.0)
    assert np.abs(scores - truth).sum(axis=0).max() < 1e-6
