import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from paper import vector_machines as vm


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.mark.parametrize(
    ("kernel", "same"),
    [
        (vm.Kernel("poly", 1.0), {"kernel": "poly", "degree": 9, "gamma": 0.5, "coef0": 0.5}),
        (vm.Kernel("poly", 0.0), {"kernel": "poly", "degree": 9, "gamma": 1.0, "coef0": 0.0}),
        (vm.Kernel("rbf", 3.0), {"kernel": "rbf", "gamma": 3.0}),
    ],
    ids=str,
)
def test_it_is_the_machine_of_scikit_learn(digits, kernel, same):
    X, y = digits
    machine = vm.fit(X[:900], y[:900], kernel, 5.0)
    peer = SVC(C=5.0, **same).fit(vm.unit_rows(X[:900]), y[:900])
    assert np.mean(machine.predict(X[900:]) != peer.predict(vm.unit_rows(X[900:]))) < 0.003
    assert len(machine.support) == pytest.approx(len(peer.support_), rel=0.01)


def test_the_kernel_of_a_row_with_itself_is_one(digits):
    rows = vm.unit_rows(digits[0][:5])
    for kernel in (vm.Kernel("poly", 3.0), vm.Kernel("rbf", 2.0)):
        np.testing.assert_allclose(np.diag(kernel.values(rows, rows)), 1.0, rtol=1e-5)


def test_support_names_rows_of_the_training_set(digits):
    X, y = digits
    machine = vm.fit(X[:300], y[:300], vm.Kernel("rbf", 2.0), 1.0)
    np.testing.assert_array_equal(machine.vectors, vm.unit_rows(X[:300])[machine.support])
    assert machine.multiply_adds == len(machine.support) * (64 + 9)


def test_two_classes_by_their_own_names(digits):
    X, y = digits
    some = np.isin(y, (3, 8))
    machine = vm.fit(X[some][:200], y[some][:200], vm.Kernel("poly", 1.0), 1.0)
    assert np.mean(machine.predict(X[some][200:]) == y[some][200:]) > 0.9


def test_the_choice_is_made_on_the_last_quarter(digits):
    X, y = digits
    X, y = X[:400], y[:400].copy()
    sharp, smooth = (vm.Kernel("rbf", 1000.0), 1.0), (vm.Kernel("rbf", 2.0), 1.0)
    best, wrong = vm.choose([sharp, smooth, smooth], X, y)
    assert best == smooth
    naive = vm.fit(X[:300], y[:300], *smooth).predict(X[300:])
    assert wrong[1] == wrong[2] == (naive != y[300:]).sum() < wrong[0]


def test_shifts_move_images_by_two_pixels_at_most():
    images = np.zeros((2, 7, 8), dtype=int)
    images[:, 2:5, 2:6] = np.random.default_rng(0).integers(1, 9, size=(2, 3, 4))
    moved = vm.with_shifts(images).reshape(13, 2, 7, 8)
    np.testing.assert_array_equal(moved[0], images)
    found = {some.tobytes() for some in moved}
    assert found == {
        np.roll(images, (down, right), axis=(1, 2)).tobytes()
        for down in range(-2, 3)
        for right in range(-2, 3)
        if abs(down) + abs(right) <= 2
    }


def test_what_leaves_the_image_is_gone():
    moved = vm.with_shifts(np.ones((1, 3, 3)))
    assert sorted(image.sum() for image in moved) == [*[3] * 4, *[4] * 4, *[6] * 4, 9]


def test_virtual_vectors_are_the_first_machines_moved(digits):
    X, y = digits
    X, y = X[:300], y[:300]
    first = vm.fit(X, y, vm.Kernel("poly", 1.0), 10.0)
    second, n = vm.fit_virtual(first, X, y, 10.0)
    assert n == 13 * len(first.support)
    images = X[first.support].reshape(-1, 8, 8)
    moved = vm.unit_rows(vm.with_shifts(images).reshape(-1, 64))
    np.testing.assert_array_equal(second.vectors, moved[second.support])
