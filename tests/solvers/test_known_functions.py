"""The solvers on functions whose steps follow from a formula or from the published algorithm."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from shareboost.arrays import numbers
from shareboost.backends import NUMPY
from shareboost.solvers.lbfgs import DECREASE, PATIENCE, SLOPE, lbfgs, line_search
from shareboost.solvers.nesterov import nesterov
from shareboost.solvers.newton import newton
from shareboost.solvers.objective import Evaluation, nothing


class Known:
    """A stand-in for Objective: a function of z with its derivatives; records where it was.

    ``reached`` is what it tells of its gradient, by default the largest entry.
    """

    rows = SimpleNamespace(backend=NUMPY)

    def __init__(self, z, value, gradient, hessian=None, noise=0.0, reached=None):
        self.value, self.gradient, self.hessian = value, gradient, hessian
        self.noise = noise
        self.reached = reached or (lambda slope: float(np.abs(slope).max()))
        self.points, self.n_products = [], 0
        self.start = self.evaluate(np.array(z, dtype=float))

    def evaluate(self, z, products=nothing):
        self.points.append(z)
        value, slope = float(self.value(z)), np.asarray(self.gradient(z), dtype=float)
        squared, *found = numbers([slope @ slope, *products(slope)])
        reached = self.reached(slope)
        return Evaluation(z, z, value, value, slope, reached, self.noise, squared, tuple(found))

    def curvature_product(self, direction):
        self.n_products += 1
        return self.hessian(self.start.z) @ direction

    def moved_to(self, place):
        self.start = place
        return self

    def cannot_reach(self, place):
        return False

    @property
    def lengths(self):
        """How far apart the points are, each from the one before."""
        return [float(np.linalg.norm(b - a)) for a, b in pairwise(self.points)]


def parabola(curvatures, z, **more):
    curvatures = np.array(curvatures, dtype=float)
    return Known(
        z,
        lambda z: 0.5 * curvatures @ z**2,
        lambda z: curvatures * z,
        lambda z: np.diag(curvatures),
        **more,
    )


def hidden(curvatures, z, **more):
    """A parabola of which rounding has eaten the values: all are zero."""
    function = parabola(curvatures, z, noise=1.0, **more)
    function.value = lambda z: 0.0
    return Known(z, function.value, function.gradient, function.hessian, 1.0, function.reached)


def kinked(low, high, kink):
    """Slopes of ``low`` before the kink and of ``high`` behind it, smoothly joined."""
    sharp = 20.0
    return Known(
        [0.0],
        lambda z: low * z[0] + (high - low) / sharp * np.logaddexp(0.0, sharp * (z[0] - kink)),
        lambda z: low + (high - low) / (1.0 + np.exp(-sharp * (z - kink))),
    )


def searched(function, direction=None):
    here = function.start
    direction = -here.gradient if direction is None else np.array(direction)
    return line_search(function, here, direction, lambda gradient, change: (gradient @ gradient,))


FUNCTIONS = {
    **{
        f"curvature {c:g} from {z:g}": lambda c=c, z=z: parabola([c], [z])
        for c in (1e-4, 0.05, 0.5, 1.0, 1.9999, 2.1, 5.0, 1e3, 1e7)
        for z in (0.01, 1.0, 100.0)
    },
    **{
        f"values hidden, curvature {c:g}": lambda c=c: hidden([c], [1.0])
        for c in (1e-3, 0.5, 1.5, 1.9999, 3.0, 1e4)
    },
    "a kink early": lambda: kinked(-1.0, 30.0, 0.1),
    "a kink late": lambda: kinked(-1.0, 10.0, 2.0),
    "overflow at once": lambda: Known(
        [5.0], lambda z: np.exp(z[0] ** 2), lambda z: 2 * z * np.exp(z**2)
    ),
    "quartic": lambda: Known([3.0], lambda z: z[0] ** 4, lambda z: 4 * z**3),
    "flat far away": lambda: Known(
        [-9.0], lambda z: np.logaddexp(0, z[0]) - z[0] / 2, lambda z: 1 / (1 + np.exp(-z)) - 0.5
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_line_search_ends_where_the_wolfe_conditions_hold(name):
    """Enough decrease (or, within rounding, a slope that is not too steep), and enough slope."""
    function = FUNCTIONS[name]()
    here = function.start
    direction = -here.gradient
    step = searched(function)
    z = step.there.z
    length = float((z - here.z) @ direction / (direction @ direction))
    slope, new_slope = direction @ here.gradient, direction @ function.gradient(z)
    assert length > 0
    assert new_slope >= SLOPE * slope
    value, new_value = function.value(here.z), function.value(z)
    assert new_value <= value + DECREASE * length * slope or (
        new_value <= value + function.noise and new_slope <= (1 - 2 * DECREASE) * -slope
    )
    moved, change = z - here.z, function.gradient(z) - here.gradient
    assert step.curvature == pytest.approx(moved @ change, rel=1e-9, abs=0)
    assert step.change == pytest.approx(change @ change, rel=1e-9, abs=0)
    assert step.slope == pytest.approx(moved @ function.gradient(z), rel=1e-9, abs=1e-12)
    assert step.of_change == pytest.approx(change @ function.gradient(z), rel=1e-9, abs=1e-12)
    assert step.others == (step.there.squared,)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("curvature", [2.5, 5.0, 60.0])
def test_after_a_step_too_long_the_next_trial_is_the_minimum_of_the_parabola(curvature, hide):
    function = (hidden if hide else parabola)([curvature], [1.0])
    step = searched(function)
    assert len(function.points) == 3  # the start, too far, the minimum
    assert step.there.z[0] == pytest.approx(0.0, abs=1e-12)


def test_a_step_too_short_is_made_four_times_as_long_until_the_slope_has_fallen():
    function = parabola([0.01], [1.0])
    searched(function)
    gone = (1.0 - np.array(function.points[1:])[:, 0]) / 0.01
    assert gone == pytest.approx([1, 4, 16])


def test_trials_between_two_ends_follow_the_secant_of_their_slopes_up_to_the_middle():
    function = kinked(-1.0, 10.0, 2.0)
    searched(function)
    lengths = np.array(function.points[1:])[:, 0]
    assert lengths[:2] == pytest.approx([1, 4])
    assert lengths[2] == pytest.approx(1 + 3 / 11, rel=1e-6)  # slopes of -1 at 1 and 10 at 4
    function = kinked(-1.0, 0.05, 2.0)
    function.value = lambda z: 0.0 if z[0] < 2.0 else 1.0  # rises, whatever its slopes say
    searched(function)
    lengths = np.array(function.points[1:])[:, 0]
    assert lengths[:3] == pytest.approx([1, 4, 2.5])  # not the secant's 3.86


def test_trials_go_down_to_a_tenth_where_slopes_are_no_help():
    function = Known([0.0], lambda z: float(z[0] > 0.05), lambda z: -np.ones(1))
    searched(function)
    assert np.array(function.points[1:5])[:, 0] == pytest.approx([1, 0.1, 0.01, 0.019])


def test_a_direction_that_leads_up_or_nowhere_has_no_step():
    assert searched(parabola([1.0], [1.0]), [1.0]) is None
    assert searched(parabola([1.0, 1.0], [1.0, 0.0]), [0.0, 1.0]) is None


@pytest.mark.parametrize("solver", [lbfgs, nesterov, newton])
def test_a_gradient_of_just_the_tolerance_is_small_enough(solver):
    function = parabola([1.0, 2.0], [1.0, 0.25])
    end, iterations = solver(function, 1.0, 100)
    assert end is function.start
    assert iterations == 0


def test_lbfgs_gives_up_after_steps_that_lower_neither_value_nor_gradient():
    function = hidden(np.geomspace(1e-6, 1.0, 300), np.ones(300), reached=lambda slope: 1.0)
    _, iterations = lbfgs(function, 0.5, 1000)
    assert iterations == PATIENCE - 1


def test_lbfgs_goes_on_as_long_as_the_gradient_falls_though_rounding_hides_the_value():
    left = iter(range(1000, 0, -1))
    function = hidden(
        np.geomspace(1e-6, 1.0, 300), np.ones(300), reached=lambda slope: float(next(left))
    )
    end, iterations = lbfgs(function, 900.0, 1000)
    assert end.reached <= 900.0
    assert iterations > PATIENCE


def test_a_round_parabola_takes_nesterov_one_step():
    function = parabola([1.0, 1.0, 1.0], [3.0, -2.0, 1.0])
    end, iterations = nesterov(function, 1e-12, 100)
    assert iterations == 1
    assert len(function.points) == 3  # the start, the minimum, and where the momentum leads
    assert np.array_equal(end.z, np.zeros(3))


def test_the_momentum_is_that_of_nesterovs_sequence():
    """By ``(t - 1) / t'`` of the last step, ``t' = (1 + sqrt(1 + 4 t^2)) / 2`` from t = 1."""
    function = parabola([1e-6], [1.0])  # so flat that no step is too long and none turns
    nesterov(function, 1e-12, 12)
    steps, pushed = (np.array(function.points[i::2])[:, 0] for i in (1, 2))
    before = np.array([1.0, *steps[:-1]])
    t, published = 1.0, []
    for _ in steps:
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2))
        published.append((t - 1.0) / following)
        t = following
    assert published[1:4] == pytest.approx([0.2817, 0.4340, 0.5311], abs=1e-4)
    assert (pushed - steps) / (steps - before) == pytest.approx(published, rel=1e-6)


def test_nesterovs_momentum_begins_anew_after_a_restart():
    """A restart goes back, and the step after it has no momentum: it ends where it leads."""
    function = parabola([0.02, 1.0], [1.0, 1.0])
    nesterov(function, 1e-9, 300)
    still = [i for i, length in enumerate(function.lengths) if length == 0.0]
    assert still[0] == 1
    assert len(still) > 2


@pytest.mark.parametrize("z", [0.01, 1.0, 100.0])
def test_nesterov_halves_a_step_until_it_keeps_half_of_what_the_slope_promises(z):
    function = parabola([3.0], [z])
    nesterov(function, 1e-9 * z, 1)
    tried = (1.0 - np.array(function.points[1:])[:, 0] / z) / 3.0
    assert tried == pytest.approx([1.0, 0.5, 0.25, 0.25])  # of which the last has momentum zero


@pytest.mark.parametrize("curvature", [0.01, 1.0, 37.0])
def test_nesterov_finds_the_minimum_by_slopes_where_rounding_hides_the_values(curvature):
    function = hidden([curvature, 0.3 * curvature], [1.0, -2.0])
    function.noise = 0.0
    function.value = lambda z: -float(len(function.points))  # each a little lower than the last
    function.start = function.evaluate(function.start.z)
    function.value = lambda z: 0.0
    end, _ = nesterov(function, 1e-9, 2000)
    assert end.reached <= 1e-9


def test_newtons_steps_reach_the_edge_of_a_region_that_doubles_while_the_model_is_right():
    function = parabola([1.0, 1.0, 1.0], [60.0, 80.0, 0.0])  # a hundred from the minimum
    end, iterations = newton(function, 1e-9, 100)
    assert function.lengths == pytest.approx([1, 2, 4, 8, 16, 32, 37])
    assert end.z == pytest.approx([0, 0, 0], abs=1e-9)
    assert iterations == 14  # a product and a trial each


@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_newtons_step_within_the_region_is_that_of_the_whole_hessian(turn):
    curvatures = np.array([1.0, 7.0, 50.0, 900.0])
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)) + turn)[0]
    H = Q.T @ np.diag(curvatures) @ Q
    function = Known(
        0.3 * Q.T @ np.ones(4) / 2, lambda z: 0.5 * z @ H @ z, lambda z: H @ z, lambda z: H
    )
    end, iterations = newton(function, 1e-9, 100)
    assert end.z == pytest.approx(np.zeros(4), abs=1e-9)
    assert iterations < 20
    # The conjugate gradients stop at a fourth of the gradient, or its fourth root if less.
    for one, two in pairwise(function.points):
        before, after = (np.linalg.norm(H @ z) for z in (one, two))
        assert after <= min(0.25, before**0.5) * before * (1 + 1e-9)


def test_the_edge_is_met_along_a_search_that_turns():
    """Conjugate directions, each to the minimum along it; the last ends at the edge."""
    H = np.diag([1.0, 30.0, 300.0])
    z = np.array([6.0, 0.2, 0.02])
    function = Known(z, lambda z: 0.5 * z @ H @ z, lambda z: H @ z, lambda z: H)
    newton(function, 1e-9, 4)
    slope, at = H @ z, np.zeros(3)
    search = -slope
    for _ in range(2):
        at = at + (slope @ slope) / (search @ H @ search) * search
        before, slope = slope, H @ (z + at)
        search = -slope + (slope @ slope) / (before @ before) * search
    assert np.linalg.norm(at) < 1  # the first two end within
    onward = function.points[1] - z - at
    assert np.linalg.norm(function.points[1] - z) == pytest.approx(1.0)
    assert onward / np.linalg.norm(onward) == pytest.approx(search / np.linalg.norm(search))


def test_a_step_that_gains_nothing_is_taken_back_and_the_next_is_a_fourth_as_long():
    """Of ``sqrt(0.01 + z^2)`` the curvature far away says nothing of the kink at 0."""
    function = Known(
        [3.5],
        lambda z: np.sqrt(0.01 + z[0] ** 2),
        lambda z: z / np.sqrt(0.01 + z**2),
        lambda z: np.array([[0.01 / (0.01 + z[0] ** 2) ** 1.5]]),
    )
    end, _ = newton(function, 1e-9, 100)
    tried = np.array(function.points)[:, 0]
    assert tried[:6] == pytest.approx([3.5, 2.5, 0.5, -3.5, -0.5, 0.25])
    assert end.z[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("curvature", "radius"), [(1.6, 1.0), (1.8, 0.25)])
def test_the_region_shrinks_where_less_than_a_fourth_of_the_promise_is_kept(curvature, radius):
    """A step of -1 by a model of curvature 1, which promises 1/2, gains 1 - curvature / 2."""
    function = parabola([curvature], [1.0 / curvature])
    function.hessian = lambda z: np.eye(1)
    newton(function, 1e-9, 4)
    slope = 1.0 - curvature
    assert function.lengths == pytest.approx([1.0, min(radius, -slope)])


def test_newton_finds_the_minimum_where_rounding_hides_the_values():
    end, _ = newton(hidden([1.0, 5.0], [0.3, -0.2]), 1e-9, 200)
    assert end.reached <= 1e-9


def test_newton_gives_up_before_the_last_iteration_where_no_step_is_short_enough():
    """So that the status does not ask for more iterations."""
    calls = iter(range(10**6))
    function = Known([0.0], lambda z: next(calls), lambda z: np.ones(1), lambda z: np.eye(1))
    end, iterations = newton(function, 1e-9, 1000)
    assert end.z == 0.0
    assert 20 < iterations < 100
    assert newton(function, 1e-9, iterations)[1] == iterations - 1
    assert newton(function, 1e-9, iterations - 1)[1] == iterations - 2
    assert newton(function, 1e-9, iterations - 2)[1] == iterations - 2


def test_directions_without_curvature_lead_to_the_edge():
    function = Known([0.0], lambda z: -z[0], lambda z: -np.ones(1), lambda z: np.zeros((1, 1)))
    newton(function, 1e-9, 6)
    assert function.lengths == pytest.approx([1, 2, 4])


@pytest.mark.parametrize("size", [0.01, 0.2, 0.5])
def test_newton_takes_no_more_iterations_than_allowed(size):
    for most in range(1, 20):
        function = parabola(np.geomspace(1e-4, 1.0, 30), np.full(30, size))
        _, iterations = newton(function, 1e-12, most)
        assert iterations == most
        assert function.n_products <= most
        assert function.n_products + len(function.points) - 1 <= most + 1  # a trial ends each step
