"""What is packed for the page can be read again."""

import base64
import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.inspection.report import report_data
from shareboost.inspection.report.packing import packed
from shareboost.pools import Templates

SMALL = {"n_templates": 12, "patch_size": 3, "masks": 2, "sigma": 2.0, "n_patches": 2000}


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    clf = ShareBoostClassifier(6, pool=Templates(**SMALL), swap=True).fit(X[:300], y[:300])
    return report_data(clf, X[300:500], y[300:500])


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_confusions_add_up(data):
    found = packed(data)["models"]["confusion"]
    matrix = np.zeros(100, dtype=int)
    for changes, model in zip(found, data["models"], strict=True):
        for place, change in zip(changes[::2], changes[1::2], strict=True):
            matrix[place] += change
        np.testing.assert_array_equal(matrix.reshape(10, 10), model["confusion"])


def test_weights_keep_their_signs_and_sizes(data):
    for found, model in zip(packed(data)["models"]["weights"], data["models"], strict=True):
        codes = unpacked(found["codes"], "i1").reshape(-1, 10) / 127
        W = np.array(model["weights"])
        np.testing.assert_allclose(
            found["largest"] * codes * np.abs(codes), W, atol=0.008 * np.abs(W).max()
        )


def test_features_are_all_named(data):
    found = packed(data)["models"]["features"]
    for some, model in zip(found, data["models"], strict=True):
        assert (list(range(some)) if isinstance(some, int) else some) == model["features"]


def test_images_and_predictions_are_kept(data):
    images = packed(data)["images"]
    pixels = images["pixels"]
    codes = unpacked(pixels["codes"], "u1").reshape(-1, 64)
    values = pixels["low"] + (pixels["high"] - pixels["low"]) * codes / 255
    for image, packed_error, error in zip(
        values, images["errors"], data["images"]["errors"], strict=True
    ):
        np.testing.assert_allclose(image, error["pixels"], atol=0.04)
        np.testing.assert_array_equal(unpacked(packed_error["predicted"], "u1"), error["predicted"])


def test_templates_and_masks_are_kept(data):
    images = packed(data)["images"]
    for found, one in zip(images["templates"], data["images"]["templates"], strict=True):
        template = np.array(one["template"])
        codes = unpacked(found["codes"], "i1").reshape(found["size"]) / 127
        np.testing.assert_allclose(codes, template / np.abs(template).max(), atol=0.005)
        np.testing.assert_array_equal(images["down"][found["down"]], one["down"])
        np.testing.assert_array_equal(images["across"][found["across"]], one["across"])


def test_it_is_much_smaller(data):
    assert len(json.dumps(packed(data))) < 0.5 * len(json.dumps(data))
