import numpy as np
import pytest

from shareboost.kernels.shells import (
    add_moments,
    sort_into_shells,
    squared_distances,
    sum_outwards,
)

RADII = np.array([0.5, 2.0, 2.5, 4.0, 9.0], dtype=np.float32)  # squared


def shells(n=60, p=4, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, p)).astype(np.float32)
    centre = points[3] + np.float32(0.1)
    distances = np.empty(n, dtype=np.float32)
    squared_distances(points, centre, distances)
    order, edges = np.empty(n, dtype=np.uint16), np.empty(RADII.size + 1, dtype=np.int64)
    sort_into_shells(distances, RADII, order, edges)
    return points, centre, distances, order, edges


def test_distances_equal_their_twin():
    points, centre, distances, _, _ = shells()
    assert np.allclose(distances, np.square(points - centre).sum(axis=1), rtol=1e-5)


def test_each_row_lies_in_its_shell():
    _, _, distances, order, edges = shells()
    assert edges[0] == 0
    assert edges[-1] == (distances < RADII[-1]).sum()
    for s, radius in enumerate(RADII):
        inner = RADII[s - 1] if s else -1.0
        mine = np.flatnonzero((inner <= distances) & (distances < radius))
        assert order[edges[s] : edges[s + 1]].tolist() == mine.tolist()


def moments(points, origin, rows, distances, order, edges, n_powers, squares):
    """What ``add_moments`` adds, by shell."""
    inside = order[: edges[-1]]
    depths = np.repeat(RADII, np.diff(edges)) - distances[inside]
    n_columns = (1 + squares) * (points.shape[1] + 1)
    out = np.full((RADII.size, n_powers * rows.shape[1], n_columns), 0.5)
    add_moments(points, origin, rows, inside, depths, edges, out)
    return out - 0.5


def coordinates(points, origin, squares):
    here = np.hstack([points - origin, np.ones((len(points), 1))])
    return np.hstack([here, here**2]) if squares else here


def some_rows():
    return np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)


@pytest.mark.parametrize(("n_powers", "squares"), [(1, True), (2, False), (3, True), (3, False)])
def test_moments_equal_their_twin(n_powers, squares):
    points, origin, distances, order, edges = shells()
    rows = some_rows()
    out = moments(points, origin, rows, distances, order, edges, n_powers, squares)
    here = coordinates(points, origin, squares)
    for s, radius in enumerate(RADII):
        mine = order[edges[s] : edges[s + 1]]
        depth = (radius - distances[mine]).astype(float)
        for power in range(n_powers):
            twin = (rows[mine] * depth[:, None] ** power).T @ here[mine]
            assert np.allclose(out[s, 3 * power : 3 * power + 3], twin, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_sums_inside_all_radii_equal_explicit_columns(power):
    points, origin, distances, order, edges = shells()
    rows = some_rows()
    by_shell = moments(points, origin, rows, distances, order, edges, 3, False)
    factors = np.random.default_rng(2).uniform(0.5, 2, size=(RADII.size, 5))
    out = np.empty((3, RADII.size, 5))
    sum_outwards(by_shell, RADII.astype(float), power, factors, out)
    here = coordinates(points, origin, False)
    for s, radius in enumerate(RADII):
        depth = np.where(distances < radius, (radius - distances).astype(float) ** power, 0.0)
        twin = rows.T @ (here * depth[:, None]) * factors[s]
        assert np.allclose(out[:, s], twin, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("squares", [False, True])
def test_the_rows_of_a_later_centre_are_found_where_they_are(squares):
    """As blocks hold them, one centre's after the other's; in Python NumPy checks every place."""
    points, origin, distances, order, edges = shells()
    rows = some_rows()
    alone = moments(points, origin, rows, distances, order, edges, 2, squares)
    inside = order[: edges[-1]]
    depths = np.repeat(RADII, np.diff(edges)) - distances[inside]
    before = np.zeros(17, dtype=inside.dtype), np.full(17, np.nan, dtype=np.float32)
    later = np.concatenate([before[0], inside]), np.concatenate([before[1], depths])
    for call in (add_moments, add_moments.py_func):
        out = np.zeros_like(alone)
        call(points, origin, rows, *later, edges + 17, out)
        assert np.allclose(out, alone, rtol=1e-5, atol=1e-5)
