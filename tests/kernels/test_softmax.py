import numpy as np
import pytest
from scipy.special import softmax

from shareboost.kernels.softmax import CHUNK, lead, residual_of


@pytest.mark.parametrize(("n", "k"), [(1, 3), (40, 2), (CHUNK, 10), (2 * CHUNK + 5, 3)])
def test_the_two_steps_make_the_residual_of_a_softmax(n, k):
    rng = np.random.default_rng(n + k)
    scores, y = 3.0 * rng.normal(size=(k, n)), rng.integers(k, size=n)
    weight = rng.uniform(0.5, 2.0, size=n)
    hot = np.eye(k)[y].T
    rho = softmax(scores + 1.5 * (1.0 - hot), axis=0)
    work, own, rest, total = scores.copy(), *np.empty((3, n))
    lead(work, y, 1.5, own)
    assert work.max(axis=0) == pytest.approx(0.0)
    assert np.array_equal(own, work[y, np.arange(n)])
    exps = np.exp(work)
    work = exps.copy()
    residual_of(work, y, weight, rest, total)
    assert np.allclose(work, weight * (rho - hot), rtol=1e-12)
    assert np.allclose(total, exps.sum(axis=0))
    assert np.allclose(rest, total - exps[y, np.arange(n)])


def test_a_score_that_is_not_a_number_reaches_the_residual():
    scores, y = np.zeros((3, 4)), np.array([0, 1, 2, 0])
    scores[1, 2] = np.nan
    own, rest, total = np.empty((3, 4))
    lead(scores, y, 1.0, own)
    residual_of(np.exp(scores), y, np.ones(4), rest, total)
    assert np.isnan(total).tolist() == [False, False, True, False]


def test_sums_over_thousands_of_classes_are_as_exact_as_float32_allows():
    k, n = 5000, 3
    scores = np.random.default_rng(0).normal(size=(k, n)).astype(np.float32)
    y, weight = np.array([0, 7, 4999]), np.ones(n, dtype=np.float32)
    truth = softmax(scores.astype(np.float64), axis=0) - np.eye(k)[y].T
    own, rest, total = np.empty((3, n), dtype=np.float32)
    lead(scores, y, 0.0, own)
    work = np.exp(scores)
    residual_of(work, y, weight, rest, total)
    assert np.abs(work - truth).sum(axis=0).max() < 1e-6
