import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareboost.rivals.proximal import NORMS

# One row a group, and groups of several rows.
STARTS = {"rows": [0, 1, 2, 3, 4, 5], "groups": [0, 1, 4]}
all_shapes = pytest.mark.parametrize("starts", STARTS.values(), ids=STARTS)
both_norms = pytest.mark.parametrize("name", NORMS)

NAIVE = {"l21": np.linalg.norm, "linf1": lambda group: np.abs(group).max()}
NAIVE_DUAL = {"l21": np.linalg.norm, "linf1": lambda group: np.abs(group).sum()}


def some(seed, shape=(6, 4)):
    return np.random.default_rng(seed).normal(size=shape)


def split(matrix, starts):
    return [group.ravel() for group in np.split(matrix, starts[1:])]


@both_norms
@all_shapes
def test_sizes_and_duals_are_those_of_the_groups(name, starts):
    norm, W = NORMS[name], some(0)
    groups = split(W, starts)
    assert np.allclose(norm.sizes(W, np.array(starts)), list(map(NAIVE[name], groups)))
    assert np.allclose(norm.dual(W, np.array(starts)), list(map(NAIVE_DUAL[name], groups)))


@given(st.integers(0, 10**6), st.sampled_from(sorted(NORMS)), st.sampled_from(sorted(STARTS)))
def test_no_point_is_better_than_the_prox(seed, name, shape):
    rng = np.random.default_rng(seed)
    norm, starts, W = NORMS[name], np.array(STARTS[shape]), some(seed)
    steps = rng.uniform(0.01, 3, size=starts.size)

    def value(V):
        return 0.5 * ((V - W) ** 2).sum() + steps @ norm.sizes(V, starts)

    found = norm.prox(W, starts, steps)
    for size in (1e-4, 1e-2, 1.0):
        assert value(found) <= value(found + size * rng.normal(size=W.shape)) + 1e-12
    assert value(found) <= value(np.zeros_like(W)) + 1e-12
    # The conditions of that minimum are those of a loss with the gradient found - W.
    assert norm.violations(found, found - W, starts, steps).max() < 1e-12


@both_norms
@all_shapes
def test_a_group_within_the_dual_ball_becomes_exactly_zero(name, starts):
    norm, W, starts = NORMS[name], some(1), np.array(starts)
    duals = norm.dual(W, starts)
    assert (norm.prox(W, starts, 1.0001 * duals) == 0).all()
    assert (norm.sizes(norm.prox(W, starts, 0.999 * duals), starts) > 0).all()


def test_weights_that_the_largest_magnitude_clips_are_equal_to_the_last_bit():
    norm, W = NORMS["linf1"], some(2, (40, 26))
    starts = np.arange(40)
    found = norm.prox(W, starts, np.full(40, 3.0))
    at_top = np.abs(found) == norm.sizes(found, starts)[:, None]
    assert (at_top.sum(axis=1) > 2).all()
    assert np.array_equal(found[~at_top], W[~at_top])


@given(st.integers(0, 10**6), st.sampled_from(sorted(NORMS)))
def test_violations_are_the_distance_from_the_subdifferential(seed, name):
    """A subgradient g of ``alpha * norm`` has ``<g, w> = alpha norm(w)`` and a dual norm of
    alpha. Where nothing is violated, the negative gradient is one; where it is moved off by
    d, d is what is violated, in its largest entry or in its sum."""
    rng = np.random.default_rng(seed)
    norm, alphas, starts = NORMS[name], rng.uniform(0.1, 2, size=3), np.arange(3)
    W = norm.prox(some(seed, (3, 5)), starts, np.full(3, 0.5))
    if name == "l21":
        sizes = norm.sizes(W, starts)[:, None]
        G = -alphas[:, None] * W / np.where(sizes > 0, sizes, 1.0)
    else:
        at_top = (np.abs(W) == norm.sizes(W, starts)[:, None]) & (W != 0)
        share = rng.uniform(size=W.shape) * at_top
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        G = -alphas[:, None] * share * np.sign(W)
    assert norm.violations(W, G, starts, alphas).max() < 1e-12
    moved = G.copy()
    moved[0, 2] += 0.3 if G[0, 2] >= 0 else -0.3
    off = norm.violations(W, moved, starts, alphas)
    assert off[1:].max() < 1e-12
    if (W[0] != 0).any():
        assert off[0] == pytest.approx(0.3)
    else:
        assert off[0] == max(0.0, norm.dual(moved, starts)[0] - alphas[0])
