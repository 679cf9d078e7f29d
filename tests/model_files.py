"""What the tests of the model file share: bitwise comparison, and files changed on purpose."""

import copy
import json
import zlib
from dataclasses import replace

import numpy as np

from shareboost.io.model_file import content_of

CURVES = ("losses", "scores", "costs", "validation_scores", "seconds", "selected", "n_features")


def assert_same_bits(one, two):
    one, two = np.asarray(one), np.asarray(two)
    assert one.dtype == two.dtype
    assert one.shape == two.shape
    if one.dtype in (object, np.longdouble):  # which has bytes of no meaning
        assert one.tolist() == two.tolist()
    else:
        assert one.tobytes() == two.tobytes()


def assert_same_answers(one, two, X):
    """All that a fitted model answers, but for what reads the rounds."""
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert_same_bits(getattr(one, method)(X), getattr(two, method)(X))
    columns, others = one.transform(X), two.transform(X)
    if hasattr(columns, "toarray"):
        columns, others = columns.toarray(), others.toarray()
    assert_same_bits(columns, others)
    assert_same_bits(one.get_feature_names_out(), two.get_feature_names_out())


def assert_same_attributes(one, two):
    for name in ("classes_", "weights_", "_intercepts_", "selected_", "columns_"):
        assert_same_bits(getattr(one, name), getattr(two, name))
    for name in ("cost_", "n_iter_", "n_features_in_"):
        assert getattr(one, name) == getattr(two, name)
        assert type(getattr(one, name)) is type(getattr(two, name))
    assert (one.groups_ is None) == (two.groups_ is None)
    if one.groups_ is not None:
        assert_same_bits(one.groups_, two.groups_)
    assert hasattr(one, "feature_names_in_") == hasattr(two, "feature_names_in_")
    if hasattr(one, "feature_names_in_"):
        assert_same_bits(one.feature_names_in_, two.feature_names_in_)


def assert_same_path(one, two, X):
    for name in CURVES:
        assert_same_bits(getattr(one.path_, name), getattr(two.path_, name))
    assert one.path_.stop_reason is two.path_.stop_reason
    assert one.path_.n_atoms == two.path_.n_atoms
    assert one.path_.n_rows == two.path_.n_rows
    assert one.path_.to_frame().equals(two.path_.to_frame())
    assert one.path_.shaped_by == two.path_.shaped_by
    paths = [[path.start, *path.rounds, path.finish] for path in (one.path_, two.path_)]
    for a, b in zip(*paths, strict=True):
        assert_same_round(a, b)
    for a, b in zip(one.staged_decision_function(X), two.staged_decision_function(X), strict=True):
        assert_same_bits(a, b)
    for t in range(len(one.path_) + 1):
        assert_same_attributes(one.at(t), two.at(t))
        assert_same_bits(one.at(t).decision_function(X), two.at(t).decision_function(X))


def assert_same_round(one, two):
    """All of a round, its plain partner included."""
    assert (one is None) == (two is None)
    if one is None:
        return
    assert_same_bits(one.W, two.W)
    assert_same_round(one.plain, two.plain)
    own, others = (replace(round_, W=None, plain=None) for round_ in (one, two))
    assert repr(own) == repr(others)  # NaN is not equal to itself


def document_of(clf, whole_path=True):
    """The JSON of a classifier's file, without its checksum."""
    document = json.loads(content_of(clf, whole_path))
    del document["crc32"]
    return document


def changed(document, name, value):
    """A copy of a document with another value of a field, whose name has dots."""
    document = copy.deepcopy(document)
    *parents, last = name.split(".")
    target = document
    for parent in parents:
        target = target[parent]
    target[last] = value
    return document


def file_of(document):
    """The file of a document, whatever it holds, with the right checksum where it has room."""
    if not isinstance(document, dict):
        return json.dumps(document).encode()
    first = {key: document[key] for key in ("format", "version") if key in document}
    rest = json.dumps({k: v for k, v in document.items() if k not in first})[1:].encode()
    if not first or rest == b"}":
        return json.dumps(document).encode()
    head = json.dumps({**first, "crc32": f"{zlib.crc32(rest):08x}"})
    return head[:-1].encode() + b",\n" + rest
