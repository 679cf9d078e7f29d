import numpy as np
import pytest
from naive import average_loss
from scipy.optimize import approx_fprime

from shareboost.backends import numpy as host_module
from shareboost.losses import LogisticLoss
from shareboost.pools import Columns, Groups
from shareboost.rivals.active_atoms import ActiveAtoms
from shareboost.rivals.proximal import NORMS
from shareboost.rows import Rows


def holding(rows, margin=1.0):
    return ActiveAtoms(rows, LogisticLoss(margin), NORMS["l21"], 1e-6, 100)


@pytest.fixture(params=[True, False], ids=["intercept", "no intercept"])
def held(request, problem, monkeypatch):
    monkeypatch.setattr(host_module, "BLOCK_ROWS", 40)
    X, y = problem
    weight = np.random.default_rng(1).uniform(0.5, 1, size=len(y))
    pool = Groups([0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 7]).fit(X, weight, centred=request.param)
    with Rows(X, y, weight, pool, 4, request.param) as rows:
        yield holding(rows, 0.7), X, y, weight


def naive_columns(held, X, weight, atoms):
    """The constant, where there is one, and the atoms' columns, scaled and centred."""
    pool, intercept = held.rows.pool, held.rows.intercept
    columns = [np.ones((len(X), int(intercept)))]
    for atom in atoms:
        raw = np.asarray(pool.features([atom]).columns(X))
        center = np.average(raw, axis=0, weights=weight) if intercept else 0.0
        columns.append((raw - center) / pool.scales(atom))
    return np.hstack(columns)


def test_the_columns_held_are_scaled_and_centred_whatever_was_held_before(held):
    held, X, _, weight = held
    for atoms in ([0, 3, 2], [2, 5, 0], [1], [], [7, 1, 2, 3]):
        held.hold(atoms)
        for some in (atoms, atoms[::-1], atoms[1:]):
            loss = held.on(some)
            found = np.hstack(loss.columns).T
            assert np.allclose(found, naive_columns(held, X, weight, some), atol=1e-12)
            widths = [held.rows.pool.scales(atom).size for atom in some]
            assert loss.starts.tolist() == np.cumsum([0, *widths])[:-1].tolist()


def test_the_loss_and_its_gradient_are_those_of_the_definition(held):
    held, X, y, weight = held
    held.hold([0, 3, 2])
    loss = held.on([3, 0])
    A = naive_columns(held, X, weight, [3, 0])
    weights = np.random.default_rng(0).normal(size=(A.shape[1], 4))
    point = loss.at(weights)

    def value(w):
        return average_loss(A @ w.reshape(weights.shape), y, weight, 0.7)

    assert point.loss == pytest.approx(value(weights.ravel()))
    slope = approx_fprime(weights.ravel(), value, 1e-7).reshape(weights.shape)
    assert np.allclose(loss.gradient(point), slope, atol=1e-5)


def test_points_beyond_others_and_curvatures_between_them_need_no_columns(held):
    held, *_ = held
    held.hold([0, 3, 2])
    loss = held.on([0, 2])
    rng = np.random.default_rng(0)
    one, two = (loss.at(rng.normal(size=(loss.columns[0].shape[0], 4))) for _ in range(2))
    beyond = loss.beyond(one, two, 0.4)
    direct = loss.at(1.4 * one.weights - 0.4 * two.weights)
    assert np.allclose(beyond.weights, direct.weights)
    assert beyond.loss == pytest.approx(direct.loss)
    assert np.allclose(loss.gradient(beyond), loss.gradient(direct))
    assert loss.beyond(one, two, 0.0) is one
    slopes = loss.gradient(one) - loss.gradient(two)
    assert loss.curvature(one, two) == pytest.approx(np.vdot(slopes, one.weights - two.weights))
    length = np.vdot(one.weights - two.weights, one.weights - two.weights)
    assert loss.curvature(one, two) <= loss.steepest * length


def test_float32_columns_are_held_in_float64(problem):
    X, y = problem
    X32 = X.astype(np.float32)
    pool = Columns().fit(X32)
    with Rows(X32, y, np.ones(len(y)), pool, 4, True) as rows:
        held = holding(rows)
        held.hold([4])
        (columns,) = held.on([4]).columns
    own = X32[:, 4].astype(np.float64)
    assert np.allclose(columns[1], (own - own.mean()) / pool.scales(4), atol=1e-14)
