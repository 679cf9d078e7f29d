"""Steps to the minima of some rows, tilted to the gradient of all."""

import numpy as np
import pytest

from shareboost.losses import LogisticLoss
from shareboost.penalties import Frobenius
from shareboost.pools import Columns
from shareboost.rows import Rows
from shareboost.solvers.dane import surrogate
from shareboost.solvers.lbfgs import lbfgs
from shareboost.solvers.objective import Objective

LOSS, PENALTY, ALPHA, TOLERANCE = LogisticLoss(1.0), Frobenius(), 1e-3, 1e-6


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=3000)
    X = rng.normal(size=(3000, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=(4, 6))[y]
    return X, y


def rows_of(sample, pool, some):
    X, y = sample
    # Without an intercept nothing is centred: both have the same columns in the same units.
    return Rows(X[some], y[some], np.ones(len(y[some])), pool, 4, intercept=False)


def objective_of(rows):
    return Objective(rows, LOSS, PENALTY, ALPHA, np.zeros((4, rows.n_columns)))


def minimised(sample, some, monkeypatch):
    """Return the ends of L-BFGS and of the steps, and how often each evaluated all rows."""
    pool = Columns().fit(sample[0], centred=False)
    with rows_of(sample, pool, slice(None)) as rows, rows_of(sample, pool, some) as near:
        for atom in range(6):
            rows.append(atom)
            near.append(atom)
        evaluated = []
        evaluate = Rows._evaluated
        monkeypatch.setattr(
            Rows,
            "_evaluated",
            lambda self, *given: evaluated.append(self) or evaluate(self, *given),
        )
        wanted, _ = lbfgs(objective_of(rows), TOLERANCE, 200)
        n_lbfgs = sum(one is rows for one in evaluated)
        evaluated.clear()
        rows._known = None
        found, _ = surrogate(objective_of(rows), near, TOLERANCE, 200)
        return wanted, n_lbfgs, found, sum(one is rows for one in evaluated)


def test_few_evaluations_of_all_rows_lead_to_the_minimum(sample, monkeypatch):
    wanted, n_lbfgs, found, n = minimised(sample, slice(None, None, 2), monkeypatch)
    assert found.reached <= TOLERANCE
    assert found.value == pytest.approx(wanted.value, abs=1e-10)
    assert np.allclose(found.W, wanted.W, atol=1e-4)
    assert n < n_lbfgs


def test_rows_that_tell_little_of_all_do_no_harm(sample, monkeypatch):
    some = np.flatnonzero(sample[1] == 1)[:20]  # of one class alone
    wanted, _, found, _ = minimised(sample, some, monkeypatch)
    assert found.reached <= TOLERANCE
    assert found.value == pytest.approx(wanted.value, abs=1e-10)


@pytest.mark.parametrize("size", [0.03, 30.0])
def test_rows_in_other_units_lead_astray_and_do_no_harm(sample, size):
    """The minima of columns 30 times smaller or larger are as far off: L-BFGS takes over."""
    pool = Columns("none").fit(sample[0], centred=False)
    other = size * sample[0][::2], sample[1][::2]
    with rows_of(sample, pool, slice(None)) as rows, rows_of(other, pool, slice(None)) as near:
        for atom in range(6):
            rows.append(atom)
            near.append(atom)
        wanted, _ = lbfgs(objective_of(rows), TOLERANCE, 200)
        found, steps = surrogate(objective_of(rows), near, TOLERANCE, 200)
        assert found.reached <= TOLERANCE
        assert found.value == pytest.approx(wanted.value, abs=1e-10)
        start = objective_of(rows).start
        few, steps = surrogate(objective_of(rows), near, TOLERANCE, 4)
        assert few.value <= start.value
        assert steps <= 5


def test_the_steps_told_are_the_evaluations_of_all_rows(sample, monkeypatch):
    pool = Columns().fit(sample[0], centred=False)
    some = slice(None, None, 2)
    with rows_of(sample, pool, slice(None)) as rows, rows_of(sample, pool, some) as near:
        for atom in range(6):
            rows.append(atom)
            near.append(atom)
        objective = objective_of(rows)
        evaluated = []
        arrived = Objective.arrived
        monkeypatch.setattr(
            Objective, "arrived", lambda self, W: evaluated.append(W) or arrived(self, W)
        )
        found, steps = surrogate(objective, near, TOLERANCE, 200)
    assert found.reached <= TOLERANCE
    assert steps == len(evaluated) < 10


def test_no_step_is_taken_at_the_minimum(sample):
    pool = Columns().fit(sample[0], centred=False)
    with rows_of(sample, pool, slice(None)) as rows, rows_of(sample, pool, slice(0, 9)) as near:
        rows.append(0)
        near.append(0)
        end, _ = lbfgs(objective_of(rows), TOLERANCE, 200)
        again = Objective(rows, LOSS, PENALTY, ALPHA, end.W)
        found, steps = surrogate(again, near, TOLERANCE, 200)
    assert steps == 0
    assert found is again.start
