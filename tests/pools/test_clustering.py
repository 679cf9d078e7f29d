import numpy as np
import pytest
from sklearn.cluster import KMeans

from shareboost.pools.patches import _distinct, cluster


@pytest.mark.parametrize("weighted", [False, True])
def test_centres_are_those_of_25_steps_from_random_points(weighted):
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(3000, 1)).astype(np.float32)
    weight = rng.uniform(0.1, 2.0, size=3000) if weighted else None
    found = cluster(points, 40, np.random.RandomState(3), "points", weight)
    first = np.random.RandomState(3).choice(3000, 40, replace=False)

    def after(n_steps):
        means = KMeans(40, init=points[first], n_init=1, max_iter=n_steps, tol=0.0)
        return means.fit(points, sample_weight=weight).cluster_centers_

    assert np.allclose(found, after(25), atol=1e-5)
    for other in (20, 30):  # they move still
        assert not np.allclose(found, after(other), atol=1e-4)


def test_of_centres_that_differ_by_rounding_the_first_is_kept():
    rng = np.random.default_rng(0)
    which = rng.integers(0, 200, size=600)
    centres = rng.normal(size=(200, 5))[which] * (1.0 + 1e-7 * rng.uniform(-1, 1, size=(600, 1)))
    centres[300] = centres[299] + 1e-3
    first = sorted({number: place for place, number in reversed(list(enumerate(which)))}.values())
    expected = sorted({*first, 300})
    assert _distinct(centres.astype(np.float32)).tolist() == expected
