"""Run times are those of predictors that answer as the methods do."""

import shutil

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_info

from paper import networks, run_times
from paper.vector_machines import Kernel
from shareboost import ShareBoostClassifier


def test_predictors_take_turns_in_one_thread():
    seen = []

    def predictor(name):
        def predict(image):
            seen.append((name, image.shape, {lib["num_threads"] for lib in threadpool_info()}))

        return predict

    before = [lib["num_threads"] for lib in threadpool_info()]
    found = run_times.milliseconds({"a": predictor("a"), "b": predictor("b")}, np.zeros((2, 4)))
    assert set(found) == {"a", "b"}
    assert all(time > 0 for time in found.values())
    assert seen == [(name, (4,), {1}) for name in "ababab"]  # the first two are not counted
    assert [lib["num_threads"] for lib in threadpool_info()] == before


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_exported_c_predicts_as_the_classifier():
    X, y = load_digits(return_X_y=True)
    clf = ShareBoostClassifier(5).fit(X[:300], np.array(list("abcdefghij"))[y[:300]])
    predict = run_times.compiled(clf)
    assert [predict(row) for row in X[300:320]] == clf.predict(X[300:320]).tolist()


def test_the_nearest_are_those_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    predict = run_times.nearest(X[:500], y[:500])
    expected = KNeighborsClassifier(3).fit(X[:500], y[:500]).predict(X[500:600])
    assert [predict(row) for row in X[500:600]] == expected.tolist()


def test_machines_and_networks_answer_one_image():
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    X = np.random.default_rng(0).integers(0, 255, size=(30, 784)).astype(np.uint8)
    predictors = [
        run_times.machine(50, Kernel("poly", 1.0), X),
        run_times.network(networks.CONVOLUTIONAL),
    ]
    assert all(0 <= predict(X[0]) < 10 for predict in predictors)
