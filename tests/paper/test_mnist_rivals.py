import numpy as np
import pytest
from sklearn.datasets import load_digits

from paper import Lab, mnist_rivals
from shareboost.datasets import Dataset


@pytest.fixture(scope="module")
def data():
    """The bundled digits, enlarged to 28 x 28 pixels."""
    images, y = load_digits().images, load_digits().target
    large = np.zeros((len(y), 28, 28), dtype=np.uint8)
    large[:, 2:26, 2:26] = np.repeat(np.repeat(images * 15, 3, axis=1), 3, axis=2)
    X = large.reshape(len(y), -1)
    return Dataset(X[:300], y[:300], X[300:450], y[300:450])


def lab(tmp_path, **settings):
    return Lab("mnist", tmp_path, quick=True, **settings)


def test_pixels_nearest_are_those_of_all_distances(data):
    found = mnist_rivals.nearest_pixels(data)
    train, test = data.X_train.astype(float), data.X_test.astype(float)
    apart = np.array([((image - train) ** 2).sum(axis=1) for image in test])
    near = data.y_train[np.argsort(apart, axis=1, kind="stable")[:, :3]]
    votes = np.array([np.bincount(labels, minlength=10).argmax() for labels in near])
    assert found["error"] == pytest.approx(np.mean(votes != data.y_test), abs=1e-12)
    assert found["multiply_adds"] == 300 * 784
    order = data.y_train[np.argsort(apart, axis=1, kind="stable")]
    more = [
        np.mean([np.bincount(labels[:q]).argmax() for labels in order] != data.y_test)
        for q in range(4, 13)
    ]
    assert found["least_of_more"] == pytest.approx(min(more))


def test_most_neighbours_win_and_the_nearest_among_equals():
    assert mnist_rivals.vote(np.array([4, 9, 9])) == 9
    assert mnist_rivals.vote(np.array([7, 2, 5])) == 7


def test_the_choice_sees_no_test_image(data, tmp_path):
    none = data._replace(X_test=data.X_test[:0], y_test=data.y_test[:0])
    kernel, C = mnist_rivals.chosen(lab(tmp_path), "SVM", "rbf", none)
    assert (kernel, C) in mnist_rivals.candidates("rbf")


def test_virtual_vectors_are_the_first_machines_at_all_places(data, tmp_path):
    rows = mnist_rivals.polynomial(lab(tmp_path), data)
    plain, virtual = (row["support_vectors"] for row in rows)
    assert f"of {13 * plain}, the first machine's at 13 places" in rows[1]["note"]
    assert virtual > plain
    assert all(len(row["wrong"]) == round(row["error"] * 150) for row in rows)
    # Nothing is measured again by a lab that finds the file.
    again = lab(tmp_path, say=lambda line: pytest.fail(f"measured again: {line}"))
    assert mnist_rivals.polynomial(again, data) == rows


def test_shape_contexts_give_a_row_that_tells_what_was_left_out(data, tmp_path):
    found = mnist_rivals.shapes(lab(tmp_path), data)
    assert found["tested"] == 10
    assert found["error"] <= 0.3
    assert found["multiply_adds"] == 100 * 100 * 60 * 300
    assert "no warps" in found["note"]
