"""An ONNX model answers as the classifier does, in standard operators alone."""

import json
import sys

import numpy as np
import pytest
from exported_pools import every_form
from onnx_session import assert_onnx_answers, session
from sklearn.datasets import load_iris, load_wine

from shareboost import ShareBoostClassifier, load_model
from shareboost.export import onnx_model, to_c, to_js, to_onnx
from shareboost.pools import Templates

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@every_form
def test_a_model_answers_as_the_classifier(name, fitted_model, digits, monkeypatch):
    """Of any number of features and rows, in one step and in many."""
    X, clf = digits[0].astype(np.float32), fitted_model(name)
    assert_onnx_answers([clf.at(0), clf.at(1), clf], X)
    ran = session(to_onnx(clf))
    for n in (0, 1):
        label, probabilities, scores = ran.run(None, {"X": X[:n]})
        assert (label.shape, probabilities.shape, scores.shape) == ((n,), (n, 10), (n, 10))
    np.testing.assert_array_equal(label, clf.predict(X[:1]))
    monkeypatch.setattr(onnx_model, "MOST_NUMBERS", 70)
    assert_onnx_answers([clf], X[:200])


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
def test_models_of_every_opset_are_alike(opset, fitted_model, digits):
    for name in ("templates, colour", "pieces", "union, templates"):
        clf = fitted_model(name)
        assert to_onnx(clf, target_opset=opset).opset_import[0].version == opset
        assert_onnx_answers([clf], digits[0][:120], target_opset=opset)


def test_labels_are_integers_or_strings():
    X, y = load_iris(return_X_y=True)
    for labels in ([3, 5, -7], [1.0, 2.0, 30.0], ["a", "é ☃", "</script>"], [False, True]):
        own = y < len(labels)
        rows = X[own].astype(np.float32)
        clf = ShareBoostClassifier(2).fit(rows, np.array(labels)[y[own]])
        (label,) = session(to_onnx(clf)).run(["label"], {"X": rows})
        assert label.dtype == (object if isinstance(labels[0], str) else np.int64)
        np.testing.assert_array_equal(label, clf.predict(rows))


def test_a_model_tells_what_it_is(fitted_model):
    clf = fitted_model("union")
    model = to_onnx(clf)
    assert model.producer_name == "shareboost"
    about = {prop.key: json.loads(prop.value) for prop in model.metadata_props}
    assert about == {
        "features": clf.path_.features.atom_names(clf.path_.input_names),
        "classes": list(range(10)),
    }


def test_a_model_tells_the_names_of_its_columns_where_they_have_any(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = ShareBoostClassifier(2).fit(X, y)
    about = {prop.key: json.loads(prop.value) for prop in to_onnx(clf).metadata_props}
    assert about["inputs"] == list(X.columns)


@pytest.mark.parametrize("named", [False, True])
def test_a_loaded_model_is_exported_as_it_was(named, tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = ShareBoostClassifier(3).fit(X if named else X.to_numpy(), y)
    clf.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert to_onnx(loaded) == to_onnx(clf)
    assert to_js(loaded) == to_js(clf)
    assert to_c(loaded) == to_c(clf)


def test_templates_under_several_masks_share_a_convolution(digits):
    X, y = digits[0][:120], digits[1][:120]
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


def test_a_classifier_tells_the_slope_of_its_sigmoids():
    class Steep(ShareBoostClassifier):
        _sigmoid_slope = 3.0

    X, y = load_iris(return_X_y=True)
    clf = Steep(2).fit(X.astype(np.float32), y)
    odds = 1.0 / (1.0 + np.exp(-3.0 * clf.decision_function(X)))
    np.testing.assert_allclose(clf.predict_proba(X), odds / odds.sum(axis=1, keepdims=True))
    assert_onnx_answers([clf], X.astype(np.float32))


def test_a_missing_onnx_is_named_with_its_extra(fitted_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"shareboost\[onnx\]"):
        to_onnx(fitted_model("columns"))
