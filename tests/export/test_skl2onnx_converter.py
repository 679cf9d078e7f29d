"""skl2onnx converts our classifiers as it does scikit-learn's own."""

import sys

import numpy as np
import pandas as pd
import pytest
from pairs import covering
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.export import register_skl2onnx
from shareboost.rivals import OneVsRestGreedyClassifier

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(autouse=True)
def registered():
    register_skl2onnx()


@pytest.fixture
def iris():
    """Irises and their names."""
    data = load_iris()
    return data.data.astype(np.float32), data.target_names[data.target]


def run(model, inputs):
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=providers).run(
        None, inputs
    )


def assert_alike(pipeline, X, found):
    label, probabilities = found
    np.testing.assert_array_equal(label, pipeline.predict(X))
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(X), rtol=1e-3, atol=1e-5)


@covering(
    clf={
        "columns": ShareBoostClassifier(3),
        "stumps": ShareBoostClassifier(3, pool="stumps"),
        "search": ShareBoostCV(n_features=3, cv=2),
        "rival": OneVsRestGreedyClassifier(3),
    },
    target_opset=[None, 17],
    labels=["numbers", "names"],
)
def test_a_pipeline_with_a_scaler(clf, target_opset, labels, iris):
    X, y = iris
    if labels == "numbers":
        y = np.unique(y, return_inverse=True)[1]
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", clf)]).fit(X, y)
    options = {id(clf): {"zipmap": False}}
    model = skl2onnx.to_onnx(pipeline, X[:1], options=options, target_opset=target_opset)
    assert_alike(pipeline, X, run(model, {"X": X}))


def test_a_pipeline_with_a_column_transformer(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["colour"] = np.array(["red", "green", "blue"])[np.arange(len(X)) * 7 % 3]
    transformer = ColumnTransformer(
        [
            ("low", StandardScaler(), ["a", "b"]),
            ("high", MinMaxScaler(), ["c", "d"]),
            ("kind", OneHotEncoder(sparse_output=False), ["colour"]),
        ]
    )
    pipeline = make_pipeline(transformer, ShareBoostClassifier(4)).fit(frame, y)
    types = [(name, skl2onnx.common.data_types.FloatTensorType([None, 1])) for name in "abcd"]
    types.append(("colour", skl2onnx.common.data_types.StringTensorType([None, 1])))
    model = skl2onnx.to_onnx(pipeline, initial_types=types, options={"zipmap": False})
    inputs = {name: frame[[name]].to_numpy() for name in frame}
    assert_alike(pipeline, frame, run(model, inputs))


def test_options_mean_what_they_do_for_other_classifiers(iris):
    X, y = iris
    ours = ShareBoostClassifier(3).fit(X, y)
    theirs = LogisticRegression(max_iter=1000).fit(X, y)
    for options in ({}, {"zipmap": "columns"}, {"zipmap": False, "output_class_labels": True}):
        found, peer = (
            run(skl2onnx.to_onnx(clf, X[:1], options={id(clf): options}), {"X": X[:5]})
            for clf in (ours, theirs)
        )
        assert len(found) == len(peer)
        for one, other in zip(found, peer, strict=True):
            assert type(one) is type(other)
            if isinstance(one, list):
                assert one[0].keys() == other[0].keys()
            else:
                assert (one.shape, one.dtype) == (other.shape, other.dtype)


def test_raw_scores_and_no_class_labels(iris):
    X, y = iris
    clf = ShareBoostClassifier(3).fit(X, y)
    options = {id(clf): {"zipmap": False, "raw_scores": True, "nocl": True}}
    label, scores = run(skl2onnx.to_onnx(clf, X[:1], options=options), {"X": X})
    truth = clf.decision_function(X)
    np.testing.assert_allclose(scores, truth, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(label, truth.argmax(axis=1))


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_rows_of_other_numbers(dtype, iris):
    X, y = iris
    X = (X * 10).astype(dtype)
    clf = ShareBoostClassifier(4, pool="stumps").fit(X, y)
    model = skl2onnx.to_onnx(clf, X[:1], options={"zipmap": False})
    found = run(model, {"X": X})
    assert found[1].dtype == (np.float64 if dtype is np.float64 else np.float32)
    assert_alike(clf, X, found)


def test_two_classifiers_in_one_model(iris):
    from sklearn.ensemble import VotingClassifier

    X, y = iris
    votes = VotingClassifier(
        [("a", ShareBoostClassifier(2)), ("b", ShareBoostClassifier(3, pool="stumps"))],
        voting="soft",
        flatten_transform=False,
    ).fit(X, y)
    found = run(skl2onnx.to_onnx(votes, X[:1], options={"zipmap": False}), {"X": X})
    assert_alike(votes, X, found)


def test_registering_again_changes_nothing(iris):
    X, y = iris
    clf = ShareBoostClassifier(2).fit(X, y)
    first = skl2onnx.to_onnx(clf, X[:1])
    register_skl2onnx()
    assert skl2onnx.to_onnx(clf, X[:1]).graph.node == first.graph.node


def test_an_old_opset_is_refused(iris):
    X, y = iris
    clf = ShareBoostClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match="target_opset=12 is not valid for ShareBoostClassifier"):
        skl2onnx.to_onnx(clf, X[:1], target_opset=12)


def test_a_missing_skl2onnx_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"shareboost\[onnx\]"):
        register_skl2onnx()
