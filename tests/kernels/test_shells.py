import numpy as np
import pytest

from shareboost.kernels.shells import (
    add_moments,
    piece_scores,
    sort_into_shells,
    squared_distances,
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


@pytest.mark.parametrize("smooth", [True, False])
def test_moments_equal_their_twin(smooth):
    points, _, distances, order, edges = shells()
    with_one = np.hstack([points, np.ones((60, 1), dtype=np.float32)])
    residual = np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    inside = order[: edges[-1]]
    out = np.full((RADII.size, 6 if smooth else 3, 5), 0.5)
    add_moments(with_one, residual, inside, distances[inside], edges, smooth, out)
    for s in range(RADII.size):
        mine = order[edges[s] : edges[s + 1]]
        assert np.allclose(out[s, :3], 0.5 + residual[mine].T @ with_one[mine], atol=1e-4)
        if smooth:
            far = distances[mine, None] * residual[mine]
            assert np.allclose(out[s, 3:], 0.5 + far.T @ with_one[mine], atol=1e-4)


@pytest.mark.parametrize("smooth", [True, False])
def test_scores_of_all_radii_equal_explicit_columns(smooth):
    points, centre, distances, order, edges = shells()
    with_one = np.hstack([points, np.ones((60, 1), dtype=np.float32)])
    residual = np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    moments = np.zeros((RADII.size, 6 if smooth else 3, 5))
    inside = order[: edges[-1]]
    add_moments(with_one, residual, inside, distances[inside], edges, smooth, moments)
    scales = np.random.default_rng(2).uniform(0.5, 2, size=(RADII.size, 5))
    scores = np.empty(RADII.size)
    offset = -centre.astype(float)
    piece_scores(moments, RADII.astype(float), offset, scales, smooth, scores)
    for s, radius in enumerate(RADII):
        weight = np.maximum(0, 1 - distances / radius) if smooth else distances < radius
        columns = np.hstack([points - centre, np.ones((60, 1))]) * weight[:, None] / scales[s]
        assert scores[s] == pytest.approx(np.abs(residual.T @ columns).sum(), rel=1e-4)
