import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from paper import Lab, entrywise
from paper.entrywise import Minimum, entrywise_path, first_alpha
from shareboost.datasets import make_shared_bits
from shareboost.losses import LogisticLoss

ALPHAS = np.array([0.1, 0.05])


def objective(W, X, y, weight, alpha, power):
    """L(W) of eq. (3) and the penalty, by their definitions."""
    losses = []
    for x, label in zip(X, y, strict=True):
        scores = W @ x
        terms = [float(q != label) - scores[label] + scores[q] for q in range(len(W))]
        losses.append(math.log(sum(map(math.exp, terms))))
    return np.average(losses, weights=weight) + alpha * (np.abs(W) ** power).sum()


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("k", [8, 32])
@pytest.mark.parametrize("share", [0.8, 0.1])
def test_l1_uses_the_indicators_alone_on_the_first_example(k, share):
    """Section 6: the minimum is c times the indicators' matrix, where c has a closed form."""
    X, y = make_shared_bits(k, n_repeats=1)
    bits = int(math.log2(k))
    first = first_alpha(X, y)
    rho = math.e / (1 + (k - 1) * math.e)  # of a wrong class at no weights
    assert first == pytest.approx(2 * bits * (k - 1) * rho / k)
    (minimum,) = entrywise_path(sp.csr_array(X), y, 1, np.array([share * first]), tol=1e-9)
    # There the gradient of the indicators' weights is alpha: rho is share of what it was.
    rho *= share
    c = (1 + math.log((1 - (k - 1) * rho) / rho)) / (2 * bits)
    assert minimum.W[:, bits:] == pytest.approx(c * np.eye(k), abs=1e-5)
    assert minimum.n_features() == k
    assert minimum.errors == 0.0


@pytest.mark.parametrize("power", [1, 2])
def test_no_step_away_lowers_the_objective(wine, power):
    X, y = wine
    weight = np.linspace(0.5, 2.0, y.size)
    *_, found = entrywise_path(X, y, power, np.array([0.1, 0.02]), weight, tol=1e-8)
    least = objective(found.W, X, y, weight, 0.02, power)
    assert found.loss == pytest.approx(objective(found.W, X, y, weight, 0.0, power))
    random = np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(10):
            other = found.W + size * random.normal(size=found.W.shape)
            assert objective(other, X, y, weight, 0.02, power) > least


def test_without_a_margin_it_agrees_with_scikit_learn(wine, monkeypatch):
    """scikit-learn's loss has no margin."""
    monkeypatch.setattr(entrywise, "LogisticLoss", partial(LogisticLoss, margin=0.0))
    X, y = wine
    for power, ratio, alpha in ((1, 1.0, 0.03), (2, 0.0, 0.01)):
        # scikit-learn has half the squares.
        C = 1.0 / ((alpha if power == 1 else 2 * alpha) * y.size)
        peer = LogisticRegression(
            l1_ratio=ratio, C=C, solver="saga", fit_intercept=False, tol=1e-6, max_iter=20_000
        ).fit(X, y)
        (found,) = entrywise_path(X, y, power, np.array([alpha]), tol=1e-8)
        np.testing.assert_allclose(found.W, peer.coef_, atol=2e-3)


def test_columns_of_rounding_alone_are_not_used():
    minimum = Minimum(np.array([[1.0, 0.0, 1e-9], [0.0, 0.0, -1e-3]]), 0.0, 0.0)
    assert minimum.n_features() == 2
    assert minimum.n_features(above=0.01) == 1
    assert Minimum(np.zeros((2, 3)), 0.0, 0.0).n_features() == 0


def test_a_search_that_is_cut_short_says_so(wine):
    X, y = wine
    with pytest.warns(
        ConvergenceWarning, match=r"alpha=0\.01 ended after max_iter=3 steps"
    ) as told:
        (found,) = entrywise_path(X, y, 1, np.array([0.01]), max_iter=3)
    assert len(told) == 1
    assert found.n_features() > 0
    # Too large a weight leaves nothing to search for.
    (nothing,) = entrywise_path(X, y, 1, np.array([10.0]), max_iter=1)
    assert nothing.n_features() == 0


def test_an_experiment_keeps_what_a_search_says(wine, tmp_path):
    lab = Lab("anything", tmp_path)
    lab.part("cut short", lambda: [m.loss for m in entrywise_path(*wine, 1, ALPHAS, max_iter=3)])
    lab.part("long enough", lambda: [m.loss for m in entrywise_path(*wine, 1, ALPHAS)])
    assert [len(record["warnings"]) for record in lab.records.values()] == [2, 0]
