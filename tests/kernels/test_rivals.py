import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareboost.kernels.rivals import (
    CHUNK,
    add_class,
    best_alone,
    best_of_every_set,
    best_with_each,
    l1_thresholds,
)

SIZES = [1, CHUNK - 1, CHUNK, 2 * CHUNK + 7]


def some_sums(seed, k, n):
    """Sums of weights below the thresholds, (k, n), of weights times signs, and their totals."""
    rng = np.random.default_rng(seed)
    total = rng.uniform(1, 2, size=k)
    weight = total[:, None] * rng.random((k, n))
    signed = weight * rng.uniform(-1, 1, size=(k, n))
    return weight, signed, total, total * rng.uniform(-1, 1, size=k)


def twin_split(weight, signed, total, total_signed, floor):
    """What both sides explain of the signs, less what their mean does, over all weight."""
    above = max(total - weight, floor)
    below = max(weight, floor)
    mean = total_signed / total
    return (signed - mean * weight) ** 2 / (below * above)


def of_set(numbers, classes):
    return sum(numbers[c] for c in classes)


def best_split(sums, classes, floor, atoms):
    weight, signed, total, total_signed = (of_set(numbers, classes) for numbers in sums)
    return max(twin_split(weight[i], signed[i], total, total_signed, floor) for i in atoms)


def chunks(n):
    return [range(n)[start : start + CHUNK] for start in range(0, n, CHUNK)]


def totals(sums, sets, floor):
    total = np.array([of_set(sums[2], classes) for classes in sets])
    means = np.array([of_set(sums[3], classes) for classes in sets]) / total
    return total, means, np.full(len(sets), floor)


def test_the_split_is_what_two_means_explain_beyond_one():
    """Z^2 / W of both sides, less that of all: the closed form of least squares."""
    weight, signed, total, total_signed = (float(v.ravel()[0]) for v in some_sums(0, 1, 1))
    two = signed**2 / weight + (total_signed - signed) ** 2 / (total - weight)
    one = total_signed**2 / total
    split = twin_split(weight, signed, total, total_signed, 1e-300)
    assert np.isclose(total * split, two - one)


@pytest.mark.parametrize("n", SIZES)
def test_the_best_stumps_of_each_class_alone_equal_their_twin(n):
    sums = some_sums(1, 3, n)
    out = np.empty((3, len(chunks(n))))
    best_alone(*sums[:2], *totals(sums, [[0], [1], [2]], 1e-3), out)
    twin = [[best_split(sums, [c], 1e-3, atoms) for atoms in chunks(n)] for c in range(3)]
    assert np.allclose(out, twin, rtol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_a_class_that_is_added_gives_the_best_stumps_of_the_larger_set(n):
    sums = some_sums(2, 3, n)
    set_weight, set_signed = sums[0][0].copy(), sums[1][0].copy()
    out = np.empty(len(chunks(n)))
    total, mean, floor = (float(v[0]) for v in totals(sums, [[0, 2]], 1e-3))
    add_class(sums[0][2], sums[1][2], total, mean, floor, set_weight, set_signed, out)
    assert np.array_equal(set_weight, sums[0][0] + sums[0][2])
    assert np.array_equal(set_signed, sums[1][0] + sums[1][2])
    twin = [best_split(sums, [0, 2], 1e-3, atoms) for atoms in chunks(n)]
    assert np.allclose(out, twin, rtol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_the_best_stumps_with_one_more_class_are_those_of_the_wanted_chunks(n):
    sums = some_sums(3, 4, n)
    others = np.array([1, 2, 3])
    wanted = np.ones((3, len(chunks(n))), dtype=bool)
    wanted[0, 0] = wanted[1, -1] = False
    out = np.full(3, np.nan)
    sets = [[0, c] for c in others]
    own = sums[0][0].copy(), sums[1][0].copy()
    best_with_each(*sums[:2], *own, others, *totals(sums, sets, 1e-3), wanted, out)
    twin = [
        max(
            [0.0]
            + [best_split(sums, some, 1e-3, chunks(n)[place]) for place in np.flatnonzero(row)]
        )
        for some, row in zip(sets, wanted, strict=True)
    ]
    assert np.allclose(out, twin, rtol=1e-12)


@pytest.mark.parametrize(("n", "k"), list(zip(SIZES, [5, 1, 2, 5], strict=True)))
def test_the_best_stumps_of_every_set_equal_their_twin(n, k):
    sums = some_sums(4, k, n)
    sets = [[c for c in range(k) if m >> c & 1] for m in range(1 << k)]
    of_sets = [np.append(0.0, v) for v in totals(sums, sets[1:], 1e-3)]
    out = np.full(1 << k, np.nan)
    best_of_every_set(*sums[:2], *of_sets, out)
    assert np.allclose(out[1:], [best_split(sums, s, 1e-3, range(n)) for s in sets[1:]], rtol=1e-12)


def test_a_side_of_no_weight_explains_nothing():
    out = np.empty((1, 1))
    weight = np.array([[0.0, 1.0]])
    best_alone(weight, -weight, np.ones(1), -np.ones(1), np.full(1, 1e-9), out)
    assert out[0, 0] == 0.0


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
