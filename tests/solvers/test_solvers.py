import naive
import numpy as np
import pytest
from scipy.optimize import approx_fprime

from shareboost.arrays import numbers
from shareboost.losses import LogisticLoss
from shareboost.penalties import Frobenius, SmoothL1, SmoothLinf1
from shareboost.pools import Columns, Groups
from shareboost.rows import Rows
from shareboost.solvers import SOLVERS, Refit, Status
from shareboost.solvers.lbfgs import MEMORY, Pairs, Step, lbfgs
from shareboost.solvers.nesterov import nesterov
from shareboost.solvers.objective import Evaluation, Objective, nothing

PENALTIES = [Frobenius(), SmoothL1(20.0), SmoothLinf1(20.0)]


def rows_with(X, y, atoms, weight=None, intercept=True):
    weight = np.ones(len(y)) if weight is None else weight
    rows = Rows(X, y, weight, Columns("none").fit(X, weight), int(y.max()) + 1, intercept)
    with rows:
        for atom in atoms:
            rows.append(atom)
    return rows


def refit(solver, penalty=PENALTIES[0], alpha=1e-3, max_iter=2000):
    return Refit(LogisticLoss(), penalty, alpha, solver, max_iter)


def start(rows):
    return np.zeros((rows.n_classes, int(rows.intercept)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", [True, False])
def test_every_solver_finds_the_minimum_of_the_naive_refit(problem, solver, intercept):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    rows = rows_with(X, y, [4, 1, 7], weight, intercept)
    W, status = refit(solver)(rows, start(rows), 1e-8)
    assert status.converged
    truth = naive.refit(X[:, [4, 1, 7]], y, weight, 4, 1.0, 1e-3, intercept)
    assert np.allclose(W[:, int(intercept) :], truth[:, int(intercept) :], atol=1e-5)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_solvers_agree_under_every_penalty(problem, penalty):
    rows = rows_with(*problem, [0, 1, 2, 3])
    scores, values = [], []
    for solver in SOLVERS:
        W, status = refit(solver, penalty, alpha=0.01)(rows, start(rows), 1e-7)
        assert status.converged, solver
        values.append(Objective(rows, LogisticLoss(), penalty, 0.01, W).start.value)
        scores.append(W - W.mean(axis=0))  # a shift of all classes hardly changes a smooth l1
    assert np.ptp(values) < 1e-9
    assert np.allclose(scores[0], scores[1], atol=1e-4)
    assert np.allclose(scores[0], scores[2], atol=1e-4)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_gradient_and_curvature_agree_with_finite_differences(problem, penalty):
    rows = rows_with(*problem, [0, 5])
    W = np.random.default_rng(0).normal(size=(4, 3))
    objective = Objective(rows, LogisticLoss(), penalty, 0.1, W)
    z = objective.start.z
    assert np.allclose(objective.weights(z), W)
    numeric = approx_fprime(z, lambda at: objective.evaluate(at).value, 1e-7)
    assert np.allclose(objective.evaluate(z).gradient, numeric, atol=1e-5)
    direction = np.random.default_rng(1).normal(size=z.size)
    ahead = objective.evaluate(z + 1e-5 * direction).gradient
    behind = objective.evaluate(z - 1e-5 * direction).gradient
    objective.evaluate(z)
    product = objective.curvature_product(direction)
    assert np.allclose(product, (ahead - behind) / 2e-5, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_refit_never_ends_above_its_start(digits, solver, dtype):
    X, y = digits
    rows = rows_with(X.astype(dtype), y, [21, 42, 33, 10])
    loss = LogisticLoss()
    W = np.zeros((10, 1))
    before, _ = rows.evaluate(W, loss)
    for max_iter in (1, 2, 5, 20):
        W, _ = refit(solver, alpha=0.0, max_iter=max_iter)(rows, W, 1e-6)
        after, _ = rows.evaluate(W, loss)
        assert after <= before * (1 + 1e-6)
        before = after


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_reaches_a_tight_tolerance(digits, solver):
    X, y = digits
    rows = rows_with(X.astype(np.float32), y, [21, 42, 33, 10, 5, 60])
    _, status = refit(solver, alpha=1e-4)(rows, np.zeros((10, 1)), 1e-5)
    assert status.converged


@pytest.mark.parametrize("solver", SOLVERS)
def test_separable_classes_end_at_finite_weights_and_a_tiny_loss(solver):
    X = np.array([[-1.0], [-0.9], [0.0], [0.1], [0.9], [1.0]])
    X = np.hstack([X, X**2])
    y = np.array([0, 0, 1, 1, 2, 2])
    rows = rows_with(X, y, [0, 1])
    W, status = refit(solver, alpha=0.0)(rows, np.zeros((3, 1)), 1e-5)
    assert status.converged
    assert np.isfinite(W).all()
    assert rows.evaluate(W, LogisticLoss())[0] < 1e-3


@pytest.mark.parametrize("solver", SOLVERS)
def test_collinear_columns_are_no_trouble(problem, solver):
    X, y = problem
    X = np.hstack([X, X[:, :2] * 3.0, X[:, [0]] + X[:, [1]]])
    rows = rows_with(X, y, [0, 1, 12, 13, 14])
    W, status = refit(solver, alpha=0.0)(rows, start(rows), 1e-6)
    assert status.converged
    truth = naive.refit(X[:, [0, 1]], y, np.ones(len(y)), 4, 1.0, 0.0, True)
    S = np.hstack([np.ones((len(y), 1)), X[:, [0, 1]]]) @ truth.T
    expected = naive.average_loss(S, y, np.ones(len(y)), 1.0)
    assert rows.evaluate(W, LogisticLoss())[0] / len(y) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_refit_that_starts_at_the_minimum_takes_no_iteration(problem, solver):
    rows = rows_with(*problem, [0, 1])
    W, first = refit(solver)(rows, start(rows), 1e-6)
    again, status = refit(solver)(rows, W, 1e-6)
    assert first.iterations > 0
    assert status.iterations == 0
    assert np.array_equal(again, W)


def test_the_gradient_reached_is_the_largest_sum_over_an_atoms_columns_and_all_classes(problem):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    pool = Groups([0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3], scale="none").fit(X, weight)
    W = np.random.default_rng(1).normal(size=(4, 10))
    with Rows(X, y, weight, pool, 4, True) as rows:
        for atom in (3, 0, 1):
            rows.append(atom)
        found = Objective(rows, LogisticLoss(), PENALTIES[0], 0.1, W).start
        columns = [6, 7, 8, 9, 10, 11, 0, 1, 2]
        centers = np.concatenate([chosen.centers for chosen in rows.chosen])
    B = np.hstack([np.ones((len(y), 1)), X[:, columns] - centers])
    gradient = (weight[:, None] * naive.residual(B @ W.T, y, 1.0)).T @ B / weight.sum()
    gradient[:, 1:] += 0.2 * W[:, 1:]
    norms = [abs(gradient[:, own]).sum() for own in ([0], range(1, 7), [7], [8, 9])]
    assert found.reached == pytest.approx(max(norms), rel=1e-9)


def test_the_status_tells_what_was_not_reached(problem):
    rows = rows_with(*problem, range(12))
    _, status = refit("lbfgs", alpha=0.0, max_iter=2)(rows, start(rows), 1e-9)
    assert not status.converged
    assert status.iterations == 2
    assert status.gradient > status.tolerance == 1e-9
    assert status.advice.startswith("Raise max_iter=2 or tol")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_refit_that_rounding_ends_does_not_ask_for_more_iterations(problem, dtype):
    X, y = problem
    rows = rows_with(X.astype(dtype), y, range(12))
    _, status = refit("lbfgs")(rows, start(rows), 1e-30)
    assert not status.converged
    assert status.iterations < 2000
    assert status.advice.startswith(f"Rounding allows no better step in {np.dtype(dtype)}")
    assert ("float64" in status.advice.split("raise tol")[1]) == (dtype == np.float32)


def test_a_gradient_of_just_the_tolerance_has_converged():
    assert Status(1.0, 1.0, 3, 0.5, 0.5, "", 0.0).converged
    assert not Status(1.0, 1.0, 3, 0.5, 0.49, "", 0.0).converged


class Quadratic:
    """A stand-in for Objective: half the sum of ``curvatures * z**2``, from z = 1."""

    def __init__(self, curvatures):
        self.curvatures = curvatures
        self.start = self.evaluate(np.ones(curvatures.size))

    def evaluate(self, z, products=nothing):
        gradient = self.curvatures * z
        value = 0.5 * float(z @ gradient)
        largest = float(np.abs(gradient).max())
        squared, *found = numbers([gradient @ gradient, *products(gradient)])
        return Evaluation(z, z, value, value, gradient, largest, 0.0, squared, tuple(found))

    def cannot_reach(self, place):
        return False


def test_adaptive_restart_keeps_nesterov_from_oscillating():
    """Without restarts the momentum of a badly conditioned problem swings past the minimum."""
    end, iterations = nesterov(Quadratic(np.geomspace(1e-3, 1.0, 20)), 1e-10, 5000)
    assert end.reached <= 1e-10
    assert iterations < 1000  # 505 with restarts, 3638 without


def test_lbfgs_ends_on_a_quadratic_in_about_as_many_steps_as_it_has_dimensions():
    end, iterations = lbfgs(Quadratic(np.geomspace(1e-3, 1.0, 8)), 1e-10, 5000)
    assert end.reached <= 1e-10
    assert iterations < 40


@pytest.mark.parametrize("n_steps", [1, 7, MEMORY, MEMORY + 9])
def test_directions_are_those_of_the_two_loop_recursion(n_steps):
    """Of the last pairs alone, once there are more than are kept."""
    rng = np.random.default_rng(n_steps)
    n = 40
    root = rng.normal(size=(n, n))
    hessian = root @ root.T / n + np.eye(n)
    pairs, kept = Pairs(), []
    z = rng.normal(size=n)
    for _ in range(n_steps):
        direction = rng.normal(size=n)
        change = hessian @ direction
        here, there = (Evaluation(p, p, 0, 0, hessian @ p, 0, 0, 0, ()) for p in (z, z + direction))
        others = numbers([0.0, *pairs.products(there.gradient, change)])[1:]
        products = (direction @ change, change @ change, direction @ there.gradient)
        pairs.add(here, Step(there, *products, change @ there.gradient, tuple(others)))
        kept = [*kept, (direction, change)][-MEMORY:]
        z = there.z
    gradient = hessian @ z
    truth, coefficients = gradient.copy(), []
    for s, y in reversed(kept):
        coefficients.append(s @ truth / (s @ y))
        truth -= coefficients[-1] * y
    s, y = kept[-1]
    truth *= (s @ y) / (y @ y)
    for (s, y), coefficient in zip(kept, reversed(coefficients), strict=True):
        truth += (coefficient - y @ truth / (s @ y)) * s
    assert np.allclose(pairs.direction(gradient), -truth, rtol=1e-8, atol=1e-8)
