import numpy as np
import pytest
from conftest import random_problem

from shareboost.losses import LogisticLoss
from shareboost.pools import Columns
from shareboost.rivals.active_atoms import ActiveAtoms
from shareboost.rivals.proximal import NORMS, Penalised, minimise
from shareboost.rows import Rows


@pytest.fixture(params=sorted(NORMS))
def problem(request):
    """Columns that are much alike, so that the curvature differs between directions."""
    X, y = random_problem(0, n=90, d=6, k=3)
    X += X.mean(axis=1, keepdims=True) * 8
    with Rows(X, y, np.ones(90), Columns().fit(X), 3, True) as rows:
        norm = NORMS[request.param]
        loss = ActiveAtoms(rows, LogisticLoss(), norm, 1e-6, 100).hold(range(6))
        yield Penalised(loss, norm, np.full(6, 0.03))


def value(problem, weights):
    sizes = problem.norm.sizes(weights[1:], problem.loss.starts)
    return problem.loss.at(weights).loss + problem.alphas @ sizes


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_the_minimum_is_reached_to_the_tolerance_from_anywhere(problem, tol):
    zero = np.zeros((7, 3))
    best = minimise(problem, zero, 1e-12, 10**5, 0.5)
    for start in (zero, np.random.default_rng(0).normal(size=(7, 3))):
        for curvature in (1e-6, 0.5, 1e3):
            found = minimise(problem, start, tol, 10**5, curvature)
            assert found.violation <= tol
            gradient = problem.loss.gradient(found.point)
            assert problem.violation(found.point.weights, gradient) == found.violation
            assert value(problem, found.point.weights) <= value(problem, best.point.weights) + tol


def test_no_point_near_the_minimum_is_lower(problem):
    best = minimise(problem, np.zeros((7, 3)), 1e-12, 10**5, 0.5).point.weights
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            assert value(problem, best) <= value(problem, best + size * rng.normal(size=(7, 3)))


def test_where_it_starts_at_the_minimum_nothing_is_done(problem):
    best = minimise(problem, np.zeros((7, 3)), 1e-9, 10**5, 0.5)
    again = minimise(problem, best.point.weights, 1e-8, 10**5, best.curvature)
    assert again.iterations == 0
    assert np.array_equal(again.point.weights, best.point.weights)


def test_momentum_pays(problem):
    """Far fewer iterations than the steps without any take: the square root, in theory."""
    fast = minimise(problem, np.zeros((7, 3)), 1e-9, 10**5, 0.5)
    weights, steps = np.zeros((7, 3)), 0
    while True:
        gradient = problem.loss.gradient(problem.loss.at(weights))
        if problem.violation(weights, gradient) <= 1e-9:
            break
        weights, steps = problem.step(weights, gradient, fast.curvature), steps + 1
    assert fast.iterations < steps / 3


@pytest.mark.parametrize("tol", [1e-18, 1e-300])
def test_a_tolerance_below_rounding_ends_where_no_step_is_left(problem, tol):
    found = minimise(problem, np.zeros((7, 3)), tol, 10**5, 0.5)
    assert found.iterations < 10**5
    assert found.violation < 1e-14


def test_the_last_iteration_tells_what_is_left(problem):
    found = minimise(problem, np.zeros((7, 3)), 1e-9, 3, 0.5)
    assert found.iterations == 3
    assert found.violation > 1e-9


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_is_not_finite_is_an_error():
    X, y = random_problem(0, n=30, d=2, k=3)
    with Rows(X, y, np.ones(30), Columns().fit(X), 3, True) as rows:
        held = ActiveAtoms(rows, LogisticLoss(margin=1e308), NORMS["l21"], 1e-6, 100)
        problem = Penalised(held.hold([0]), held.norm, np.full(1, 0.03))
        with pytest.raises(FloatingPointError, match="The loss is .*margin or the scale"):
            minimise(problem, np.full((2, 3), 1e308), 1e-6, 100, 0.5)
