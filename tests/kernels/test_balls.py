import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shareboost.kernels.balls import clip_groups, l1_thresholds


def twin_threshold(values, radius):
    """By sorting: the largest number of entries that all stay above the threshold."""
    sizes = np.sort(np.abs(values))[::-1]
    if sizes.sum() <= radius:
        return 0.0
    counts = np.arange(1, sizes.size + 1)
    thresholds = (np.cumsum(sizes) - radius) / counts
    return thresholds[np.flatnonzero(sizes > thresholds)[-1]] if radius > 0 else sizes[0]


@given(
    st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=9), min_size=1, max_size=4),
    st.lists(st.floats(1e-6, 20), min_size=4, max_size=4),
)
def test_thresholds_equal_their_twin(groups, radii):
    values = np.concatenate(groups)
    edges = np.cumsum([0, *map(len, groups)])
    out = np.full(len(groups), np.nan)
    l1_thresholds(values, edges, np.array(radii), out)
    twin = [twin_threshold(np.array(g), r) for g, r in zip(groups, radii, strict=False)]
    assert np.allclose(out, twin, atol=1e-12)


def test_what_is_left_above_the_threshold_has_the_radius_as_its_sum():
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000) * 10.0 ** rng.integers(-6, 3, size=1000)
    edges = np.arange(0, 1001, 10)
    radii = 0.5 * np.abs(values).reshape(100, 10).sum(axis=1)
    out = np.empty(100)
    l1_thresholds(values, edges, radii, out)
    left = np.maximum(np.abs(values).reshape(100, 10) - out[:, None], 0.0)
    assert np.allclose(left.sum(axis=1), radii, rtol=1e-12)


def test_groups_are_clipped_to_their_own_caps():
    values = np.array([3.0, -2.0, 0.5, -3.0, 3.0])
    clip_groups(values, np.array([0, 3, 3, 5]), np.array([1.0, 9.0, 2.5]))
    assert values.tolist() == [1.0, -1.0, 0.5, -2.5, 2.5]
