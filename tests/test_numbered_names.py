"""Columns without names have numbers, and none is made that nobody asks for."""

import tracemalloc

import numpy as np
from model_files import document_of, file_of
from sklearn.datasets import load_wine

from shareboost import ShareBoostClassifier, load_model
from shareboost.export import to_js, to_onnx
from shareboost.input_columns import NumberedNames, are_numbered


def test_names_are_made_as_they_are_asked_for():
    names = NumberedNames(5)
    assert list(names) == ["x0", "x1", "x2", "x3", "x4"]
    assert (names[np.intp(3)], names[1:3]) == ("x3", ["x1", "x2"])


def test_numbered_names_are_told_from_others():
    assert are_numbered(NumberedNames(3))
    assert are_numbered(("x0", "x1"))
    assert not are_numbered(("x0", "x2"))


def test_a_small_file_of_many_columns_makes_no_names_that_are_not_used(tmp_path):
    X, y = load_wine(return_X_y=True)
    document = document_of(ShareBoostClassifier(2).fit(X, y))
    document["inputs"]["number"] = 1 << 24
    (tmp_path / "wide.json").write_bytes(file_of(document))
    clf = load_model(tmp_path / "wide.json")
    assert clf.n_features_in_ == 1 << 24
    tracemalloc.start()
    assert [name[0] for name in clf.get_feature_names_out()] == ["x", "x"]
    assert len(to_js(clf)) < 20_000
    assert len(to_onnx(clf).SerializeToString()) < 20_000
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
