"""How often a solver waits for the device."""

from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_digits

from shareboost.losses import LogisticLoss
from shareboost.penalties import PENALTIES
from shareboost.pools import Columns
from shareboost.rows import Rows
from shareboost.solvers import SOLVERS
from shareboost.solvers.objective import Objective

torch = pytest.importorskip("torch")

# Whatever brings a number of a tensor to the host.
WAITING = ("item", "tolist", "numpy", "cpu", "__float__", "__int__", "__bool__", "__array__")


@pytest.mark.parametrize(
    ("solver", "penalty"),
    [("lbfgs", "frobenius"), ("nesterov", "frobenius"), ("lbfgs", "l1"), ("nesterov", "linf1")],
)
def test_a_step_of_a_refit_waits_once_an_evaluation(solver, penalty, device, monkeypatch):
    from shareboost.backends.torch import TorchBackend
    from shareboost.backends.torch.input import checked_device

    X, y = load_digits(return_X_y=True)
    backend = TorchBackend(checked_device(device))
    data = backend.rows(X[:300])
    pool = backend.form(Columns()).fit(data)
    with Rows(data, y[:300], np.ones(300), pool, 10, True, backend) as rows:
        for atom in (20, 30, 42, 10):
            rows.append(atom)
        W = np.zeros((10, 5))
        # With a goal, as exchanges of atoms have.
        objective = Objective(rows, LogisticLoss(), PENALTIES[penalty](), 1e-3, W, goal=100.0)
        evaluations = Counter()
        evaluate = objective.evaluate

        def counted(*arguments):
            evaluations["all"] += 1
            return evaluate(*arguments)

        monkeypatch.setattr(objective, "evaluate", counted)
        waits = Counter()
        for name in WAITING:
            monkeypatch.setattr(torch.Tensor, name, waiting(name, waits))
        _end, iterations = SOLVERS[solver](objective, 1e-4, 200)
        monkeypatch.undo()
    assert iterations > 5
    assert evaluations["all"] >= iterations
    assert sum(waits.values()) == waits["tolist"] == evaluations["all"]


def waiting(name, waits):
    """A method of tensors that counts its calls."""
    original = getattr(torch.Tensor, name)

    def method(self, *arguments, **named):
        waits[name] += 1
        return original(self, *arguments, **named)

    return method
