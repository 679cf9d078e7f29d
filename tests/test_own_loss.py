"""A loss of one's own: rules, solvers and trials go by its curvature, not by the logistic one's.

The squared error on one-hot labels is a quadratic function, so that least squares tell what each
of them must find.
"""

import numpy as np
import pytest
from conftest import random_problem

from shareboost import ShareBoostClassifier, assembly
from shareboost.losses import Loss
from shareboost.penalties import Frobenius
from shareboost.pools import Columns
from shareboost.rows import Rows
from shareboost.selection.pricing import Pricing
from shareboost.selection.rules import Selector
from shareboost.selection.second_order import by_class
from shareboost.selection.trials import decreases
from shareboost.solvers import SOLVERS, Refit

K, N, D = 3, 150, 8


class SquaredError(Loss):
    """Half the squared distance of the scores from the one-hot labels."""

    def value_and_residual(self, scores, y, weight):
        scores[y, np.arange(len(y))] -= 1.0
        value = 0.5 * float((scores**2).sum(axis=0, dtype=np.float64) @ weight)
        scores *= weight
        return value

    def curvatures(self, residual, y, weight):
        return np.broadcast_to(weight, residual.shape).copy()

    def curvature_product(self, residual, y, weight, direction):
        return weight * direction


@pytest.fixture
def problem():
    X, y = random_problem(1, n=N, d=D, k=K)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=N)
    return X * np.linspace(0.1, 10, D) + 1.0, y, weight


@pytest.fixture
def rows(problem):
    X, y, weight = problem
    with Rows(X, y, weight, Columns().fit(X, weight), K, True) as rows:
        yield rows


def refit_by(solver="lbfgs"):
    return Refit(SquaredError(), Frobenius(), 0.0, solver, 1000)


def least_squares(problem, atoms):
    """Return the least average loss of each class on some columns and the constant, (k,)."""
    X, y, weight = problem
    root = np.sqrt(weight)[:, None]
    A = np.hstack([np.ones((N, 1)), X[:, atoms]]) * root
    target = np.eye(K)[y] * root
    errors = target - A @ np.linalg.lstsq(A, target, rcond=None)[0]
    return 0.5 * (errors**2).sum(axis=0) / weight.sum()


def at_minimum(rows, atoms, solver="lbfgs"):
    """Choose the atoms; return the weights that minimise the loss."""
    for atom in atoms:
        rows.append(atom)
    W, status = refit_by(solver)(rows, np.zeros((K, 1)), 1e-9)
    assert status.converged
    return W, status


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_least_squares(rows, problem, solver):
    _, status = at_minimum(rows, [1, 4, 6], solver)
    assert status.loss == pytest.approx(least_squares(problem, [1, 4, 6]).sum(), rel=1e-9)
    # Its curvature is the Gram matrix itself: a step of length one goes to the minimum.
    assert status.iterations <= 3


def test_the_newton_rule_tells_what_a_column_gains_with_all_others_fixed(rows, problem):
    W, _ = at_minimum(rows, [])
    selector = Selector(rows, Pricing(np.ones(D)), "newton", None)
    everything = np.ones(D, dtype=bool)
    found = {c.atom: c.score for c in selector.ranked(refit_by(), W, D, everything)}
    before = least_squares(problem, []).sum()
    truth = {j: before - least_squares(problem, [j]).sum() for j in range(D)}
    assert found == pytest.approx(truth, rel=1e-6)


def test_the_orthogonal_rule_tells_what_each_class_gains_by_a_full_refit(rows, problem):
    W, _ = at_minimum(rows, [1, 4])
    refit = refit_by()
    rows.evaluate(W, refit.loss)
    atoms = [j for j in range(D) if j not in (1, 4)]
    found = by_class(rows, refit, W, atoms, {}).scores()
    before = least_squares(problem, [1, 4])
    truth = [np.sqrt(2 * (before - least_squares(problem, [1, 4, j]))).sum() for j in atoms]
    assert found == pytest.approx(truth, rel=1e-5)


def test_a_trial_refit_gains_what_least_squares_gain(rows, problem):
    W, _ = at_minimum(rows, [1, 4])
    atoms = [0, 3, 7]
    found = decreases(rows, refit_by(), W, atoms, "refit")
    before = least_squares(problem, [1, 4]).sum()
    truth = [before - least_squares(problem, [1, 4, j]).sum() for j in atoms]
    assert found == pytest.approx(truth, rel=1e-4)


@pytest.mark.parametrize("rule", ["refit", "orthogonal"])
def test_a_whole_run_is_forward_selection_by_least_squares(problem, rule):
    X, y, weight = problem
    clf = ShareBoostClassifier(3, rule=rule, shortlist=None, alpha=0.0, tol=1e-7, refit_tol=1e-7)
    with Rows(X, y, weight, Columns().fit(X, weight), K, True) as rows:
        run = assembly.run(clf, rows, SquaredError(), 1.0, Pricing(np.ones(D)), None)
        path = run.begin()
        for _ in run.rounds(path):
            pass
    chosen = []
    for _ in range(3):
        before = least_squares(problem, chosen)
        left = [j for j in range(D) if j not in chosen]
        falls = np.array([before - least_squares(problem, [*chosen, j]) for j in left])
        scores = falls.sum(axis=1) if rule == "refit" else np.sqrt(2 * falls).sum(axis=1)
        chosen.append(left[int(np.argmax(scores))])
    assert [round_.atom for round_ in path] == chosen
    losses = [least_squares(problem, chosen[:t]).sum() for t in (1, 2, 3)]
    assert path.losses == pytest.approx(losses, rel=1e-6)
