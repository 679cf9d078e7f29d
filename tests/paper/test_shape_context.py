import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits

from paper import shape_context as sc


def disc(side=28, radius=8.0, centre=(13.5, 13.5)):
    y, x = np.mgrid[:side, :side]
    distance = np.hypot(x - centre[0], y - centre[1])
    return np.clip((radius + 0.5 - distance) * 255, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def digits():
    images = load_digits().images[:80]
    return sc.all_descriptors(np.repeat(np.repeat(images, 3, axis=1), 3, axis=2))


def naive_costs(query, image):
    """The chi-squared distances of counts, (BINS, POINTS) each, over the sums of both."""
    costs = np.empty((sc.POINTS, sc.POINTS))
    for i, g in enumerate(query.T.astype(float)):
        for j, h in enumerate(image.T.astype(float)):
            either = g + h > 0
            apart = ((g - h)[either] ** 2 / (g + h)[either]).sum()
            costs[i, j] = apart / (g.sum() + h.sum())
    return costs


def naive_cost(query, image):
    costs = naive_costs(query, image)
    return costs[linear_sum_assignment(costs)].sum()


def naive_descriptors(points):
    n = len(points)
    distances = [
        np.linalg.norm(p - q) for i, p in enumerate(points) for q in np.delete(points, i, 0)
    ]
    mean = np.mean(distances)
    out = np.zeros((n, sc.BINS), dtype=int)
    for i, p in enumerate(points):
        for j, q in enumerate(points):
            radius = np.linalg.norm(q - p) / mean
            if i == j or radius > 2.0:
                continue
            ring = sum(radius > edge for edge in (0.125, 0.25, 0.5, 1.0))
            turn = np.degrees(np.arctan2(q[1] - p[1], q[0] - p[0])) % 360
            out[i, int(turn // 30) * 5 + ring] += 1
    return out


def test_points_lie_on_the_contour_at_even_distances():
    points = sc.contour_points(disc())
    radii = np.hypot(*(points - 13.5).T)
    np.testing.assert_allclose(radii, 8.0, atol=0.5)
    gaps = np.hypot(*np.diff(points, axis=0).T)
    assert gaps.min() > 0.8 * gaps.max()  # chords across corners are shorter


def test_points_are_shared_among_contours_by_length():
    both = np.maximum(disc(56, 9.0, (13.5, 13.5)), disc(56, 4.5, (40.5, 40.5)))
    points = sc.contour_points(both, 90)
    assert np.sum(points[:, 0] < 27) == pytest.approx(60, abs=2)


def test_a_contour_that_meets_the_border_is_closed():
    points = sc.contour_points(np.full((10, 10), 200), 40)
    assert points.min() == pytest.approx(-0.5)
    assert points.max() == pytest.approx(9.5)


def test_an_empty_image_is_refused():
    with pytest.raises(ValueError, match="no pixel above 0"):
        sc.contour_points(np.zeros((28, 28), dtype=np.uint8))


def test_descriptors_are_those_of_the_definition():
    points = np.random.default_rng(0).uniform(0, 28, (30, 2))
    np.testing.assert_array_equal(sc.descriptors(points), naive_descriptors(points))


def test_descriptors_do_not_change_with_place_and_size():
    points = np.random.default_rng(1).uniform(0, 28, (40, 2))
    np.testing.assert_array_equal(sc.descriptors(points), sc.descriptors(2.0 * points + 4.0))


def test_the_cost_is_that_of_the_naive_matching(digits):
    for image in digits[1:3]:
        assert sc.matching_cost(digits[0], image) == pytest.approx(
            naive_cost(digits[0], image), abs=1e-4
        )


def test_an_image_costs_nothing_with_itself(digits):
    assert sc.matching_cost(digits[3], digits[3]) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("limit", [np.inf, 15.0])
def test_no_bound_exceeds_the_cost(digits, limit):
    query = np.ascontiguousarray(digits[0].T, dtype=np.float32)
    bounds = np.empty(len(digits), dtype=np.float32)
    sc._bounds(query, digits, limit, bounds)
    costs = np.array([sc.matching_cost(digits[0], image) for image in digits])
    assert np.all(bounds <= costs + 1e-3)
    if limit == np.inf:  # and they are worth their time
        assert bounds.mean() > 0.6 * costs.mean()


@pytest.mark.parametrize("k", [1, 3])
def test_pruning_finds_what_all_matchings_find(digits, k):
    queries, images = digits[:6], digits[6:]
    pruned = 0
    for query in queries:
        costs = np.array([sc.matching_cost(query, image) for image in images])
        found = sc.nearest(query, images, k)
        np.testing.assert_array_equal(found.places, np.argsort(costs, kind="stable")[:k])
        np.testing.assert_array_equal(found.costs, np.sort(costs)[:k])
        pruned += len(images) - found.n_matched
    assert pruned > 0


def test_equals_go_to_the_earlier_image(digits):
    images = np.concatenate([digits[10:40], digits[10:40]])
    found = sc.nearest(digits[12], images, 2)
    np.testing.assert_array_equal(found.places, [2, 32])


def test_fewer_images_than_neighbours_are_all_found(digits):
    assert sorted(sc.nearest(digits[0], digits[1:3]).places) == [0, 1]
