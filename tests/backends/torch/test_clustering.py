"""Lloyd's steps on a device, against scikit-learn's k-means from the same start."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

torch = pytest.importorskip("torch")

from shareboost.backends.torch.kernels import lloyd  # noqa: E402


@pytest.fixture(scope="module")
def points():
    return load_digits(return_X_y=True)[0][:300].astype(np.float32) / 16.0


def on_device(points, first, device, n_steps=25, weight=None):
    return lloyd(torch.tensor(points, device=device), np.asarray(first), n_steps, "some", weight)


def by_sklearn(points, first, n_steps=25, weight=None):
    means = KMeans(len(first), init=points[first], n_init=1, max_iter=n_steps, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer distinct centres than were asked for
        return means.fit(points, sample_weight=weight).cluster_centers_


def some_of(points, n, seed=0):
    return np.random.default_rng(seed).choice(len(points), n, replace=False)


@pytest.mark.parametrize(("n_centres", "n_steps"), [(1, 2), (2, 25), (30, 1), (30, 25)])
def test_the_steps_are_those_of_k_means(n_centres, n_steps, points, device):
    first = some_of(points, n_centres)
    found = on_device(points, first, device, n_steps)
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    assert np.allclose(found, by_sklearn(points, first, n_steps), atol=1e-5)


def test_a_weight_of_a_point_is_that_many_points(points, device):
    times = 1 + np.arange(300) % 3
    first = some_of(points, 12)
    found = on_device(points, first, device, weight=times.astype(float))
    assert np.allclose(found, by_sklearn(points, first, weight=times.astype(float)), atol=1e-5)
    starts = np.cumsum([0, *times[:-1]])[first]
    repeated = on_device(np.repeat(points, times, axis=0), starts, device)
    assert np.allclose(found, repeated, atol=1e-5)


def test_a_centre_that_loses_its_points_goes_to_the_farthest_one(device):
    """Two centres begin at equal points: the second has none of the points, as in k-means."""
    points = np.array([[0.0], [0.0], [1.0], [1.2], [9.0], [5.0]], dtype=np.float32)
    first = np.array([0, 1, 2])
    found = on_device(points, first, device)
    assert np.allclose(np.sort(found, axis=0), np.sort(by_sklearn(points, first), axis=0))
    assert np.allclose(np.sort(found, axis=0)[:, 0], [0.55, 5.0, 9.0])


def test_points_with_as_many_centres_stay_apart(device):
    points = np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0]], dtype=np.float32)
    assert np.allclose(on_device(points, [2, 0, 1], device), points[[2, 0, 1]], atol=1e-6)


def test_equal_points_have_that_point_for_a_centre(device):
    points = np.full((6, 2), 3.0, dtype=np.float32)
    assert np.array_equal(on_device(points, [0, 1, 2], device), points[:3])


def test_points_far_from_zero_are_told_apart(points, device):
    first = some_of(points, 10)
    near, far = (on_device(points + shift, first, device) for shift in (0.0, 1024.0))
    assert np.abs(far - 1024.0 - near).max() < 0.002  # of float32 there: 0.0001


def test_the_points_stay_as_they_are(points, device):
    tensor = torch.tensor(points, device=device)
    lloyd(tensor, some_of(points, 5), 3, "some", np.ones(300))
    assert np.array_equal(tensor.cpu().numpy(), points)
