"""An ONNX model answers as the classifier does, in standard operators alone."""

import json
import sys

import numpy as np
import pytest
from every_pool import some_digits
from exported_pools import all_pools, assert_near, far_iris
from sklearn.datasets import load_digits, load_iris

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.export import onnx_graph, to_onnx
from shareboost.pools import Columns, Pieces, Stumps, Templates, Union
from shareboost.rivals import (
    JointBoostClassifier,
    MixedNormClassifier,
    OneVsRestGreedyClassifier,
)

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    content = model if isinstance(model, (str, bytes)) else model.SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def assert_alike(clf, X, **arguments):
    """Check scores to 1e-5 of a row's largest one, probabilities, and the class of every row."""
    X = np.asarray(X, dtype=np.float32)
    model = to_onnx(clf, **arguments)
    assert [opset.domain for opset in model.opset_import] == [""]
    label, probabilities, scores = session(model).run(None, {"X": X})
    truth = clf._scores(X)
    assert scores.dtype == np.float32
    assert scores.shape == truth.shape
    assert_near(scores, truth)
    np.testing.assert_array_equal(label, clf.predict(X))
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), rtol=1e-3, atol=1e-6)


@all_pools
@pytest.mark.parametrize("t", [0, 1, 7])
def test_a_model_answers_as_the_classifier(name, t, fit):
    X, _ = load_digits(return_X_y=True)
    assert_alike(fit(name).at(t), X)


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("pendigits", "columns"),
        ("pendigits", "stumps"),
        ("pendigits", "products"),
        ("pendigits", Pieces(20)),
        ("pendigits", Pieces(20, form="paper")),
        ("isolet", "columns"),
        ("isolet", "stumps"),
    ],
)
def test_a_model_answers_as_the_classifier_on_data_sets(name, pool, data_set):
    data = data_set(name)
    clf = ShareBoostClassifier(10, pool=pool, alpha=1e-3)
    clf.fit(data.X_train[:1000].astype(np.float64), data.y_train[:1000])
    assert_alike(clf, data.X_test)


def test_a_model_of_templates_answers_as_the_classifier_on_mnist(data_set):
    data = data_set("mnist")
    clf = ShareBoostClassifier(20, pool=Templates(20), alpha=1e-4)
    clf.fit(data.X_train[:300], data.y_train[:300])
    assert_alike(clf, data.X_test[:3000])


def test_unions_of_templates_and_images_far_from_one():
    X, y, _, _ = some_digits()
    pool = Union([Templates(5, patch_size=3, masks=2, sigma=2.0), Columns(), Stumps()])
    for scale in (1.0, 2.0**30):
        clf = ShareBoostClassifier(12, pool=pool, alpha=1e-3).fit(X * scale, y)
        assert_alike(clf, X * scale)


def test_columns_far_from_zero_keep_their_digits():
    X, y, _, _ = some_digits()
    assert_alike(ShareBoostClassifier(10).fit(X + 10_000.0, y), X + 10_000.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pieces_far_from_the_mean_keep_their_digits():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = np.where(y[:, None] < 2, -1.0, 1.0) * 1000.0 + rng.normal(size=(200, 3))
    X[y % 2 == 1] += 1.0
    for form in ("smooth", "paper"):
        clf = ShareBoostClassifier(5, pool=Pieces(8, 6, form=form), alpha=1e-3).fit(X, y)
        assert_alike(clf, X)


@all_pools
def test_a_model_in_many_steps_is_the_same(name, fit, monkeypatch):
    X, _ = load_digits(return_X_y=True)
    monkeypatch.setattr(onnx_graph, "MOST_NUMBERS", 70)
    assert_alike(fit(name), X[:200])


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
@pytest.mark.parametrize("name", ["templates, colour", "pieces", "union"])
def test_models_of_every_opset_are_alike(name, opset, fit):
    X, _, _, _ = some_digits()
    assert to_onnx(fit(name), target_opset=opset).opset_import[0].version == opset
    assert_alike(fit(name), X, target_opset=opset)


@all_pools
def test_one_row_and_no_row_are_batches_too(name, fit):
    X = some_digits()[0].astype(np.float32)
    clf = fit(name)
    ran = session(to_onnx(clf))
    for n in (0, 1, 3):
        label, probabilities, scores = ran.run(None, {"X": X[:n]})
        assert (label.shape, probabilities.shape, scores.shape) == ((n,), (n, 10), (n, 10))
    np.testing.assert_array_equal(label, clf.predict(X[:3]))


@pytest.mark.parametrize(
    "rival",
    [
        OneVsRestGreedyClassifier(8),
        MixedNormClassifier(),
        JointBoostClassifier(8),
        ShareBoostCV(n_features=5, cv=2),
    ],
)
@pytest.mark.parametrize("k", [2, 3])
def test_other_classifiers_and_their_probabilities(rival, k):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < k].astype(np.float32), y[y < k]
    assert_alike(rival.fit(X, y), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_columns_far_from_zero_are_rounded_as_in_python(dtype):
    X, y = far_iris(1e5, dtype)
    assert_alike(ShareBoostClassifier(4, pool="products").fit(X, y), X)


def test_stumps_take_nan():
    X, y, _, _ = some_digits()
    X = X.copy()
    X[::3, ::2] = np.nan
    assert_alike(ShareBoostClassifier(10, pool="stumps").fit(X, y), X)


@pytest.mark.parametrize(
    "labels", [[3, 5, -7], [1.0, 2.0, 30.0], ["a", "é ☃", "</script>"], [False, True]]
)
def test_labels_are_integers_or_strings(labels):
    X, y = load_iris(return_X_y=True)
    own = y < len(labels)
    X, y = X[own].astype(np.float32), np.array(labels)[y[own]]
    clf = ShareBoostClassifier(2).fit(X, y)
    (label,) = session(to_onnx(clf)).run(["label"], {"X": X})
    assert label.dtype == (object if isinstance(labels[0], str) else np.int64)
    np.testing.assert_array_equal(label, clf.predict(X))


def test_a_model_tells_what_it_is(fit):
    clf = fit("union")
    model = to_onnx(clf)
    assert model.producer_name == "shareboost"
    about = {prop.key: json.loads(prop.value) for prop in model.metadata_props}
    assert about == {
        "features": clf.path_.features.atom_names(clf.path_.input_names),
        "inputs": [f"x{j}" for j in range(64)],
        "classes": list(range(10)),
    }


def test_templates_under_several_masks_share_a_convolution():
    X, y, _, _ = some_digits()
    one = np.eye(3)[None]
    clf = ShareBoostClassifier(4, pool=Templates(templates=one, masks=2), alpha=1e-3).fit(X, y)
    assert len(clf.selected_) == 4
    model = to_onnx(clf)
    assert [node.op_type for node in model.graph.node].count("Conv") == 1
    shapes = [list(tensor.dims) for tensor in model.graph.initializer]
    assert [1, 1, 3, 3] in shapes


def test_arguments_that_are_not_valid_are_refused_before_a_file_is_touched(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("mine")
    X, y = load_iris(return_X_y=True)
    clf = ShareBoostClassifier(2).fit(X, y)
    for opset in (12, 10_000, "18"):
        with pytest.raises(ValueError, match=f"target_opset={opset!r} is not valid"):
            to_onnx(clf, path, overwrite=True, target_opset=opset)
    for labels in ([b"a", b"b", b"c"], [1, 2, 2**63], ["a", 1, 2]):
        clf.classes_ = np.array(labels, dtype=object)
        with pytest.raises(TypeError, match="it takes strings, or integers"):
            to_onnx(clf, path, overwrite=True)
    assert path.read_text() == "mine"


def test_probabilities_of_an_unknown_kind_are_refused():
    class Peculiar(ShareBoostClassifier):
        def _logits(self, scores):
            return scores / 2

    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="probabilities of Peculiar cannot be exported"):
        to_onnx(Peculiar(2).fit(X, y))


def test_a_missing_onnx_is_named_with_its_extra(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"shareboost\[onnx\]"):
        to_onnx(fit("columns"))
