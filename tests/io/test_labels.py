"""Labels of any type that the classifier takes come back in that type."""

import json

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from model_files import assert_same_bits

from shareboost import ModelFormatError, ShareBoostClassifier, load_model
from shareboost.io.fields import labels_from_plain, labels_to_plain

X = np.random.default_rng(0).normal(size=(60, 5))
INDEX = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
TYPES = [
    *("?", "i1", "u1", "<i2", ">i4", "<i8", "<u8", "<f2", "<f4", ">f8"),
    *("<U5", ">U12", "M8[D]", "<m8[s]", "M8[25s]"),
]


def round_trip(labels):
    return labels_from_plain(json.loads(json.dumps(labels_to_plain(labels, "y"))), "classes")


def saved_and_loaded(y, folder):
    clf = ShareBoostClassifier(2).fit(X, y)
    clf.save(folder / "model.json", overwrite=True)
    return clf, load_model(folder / "model.json")


def test_classes_keep_their_type(tmp_path):
    for dtype in TYPES:
        clf, loaded = saved_and_loaded(INDEX.astype(dtype), tmp_path)
        assert_same_bits(loaded.classes_, clf.classes_)
        assert_same_bits(loaded.predict(X), clf.predict(X))


@pytest.mark.parametrize("dtype", [object, str])
def test_classes_of_text_are_kept(dtype, tmp_path):
    for names in (
        ["a", "b", "c"],
        ["ä", "\U0001f600", "中"],
        ["", " ", "two\nlines"],
        ['"', "\\", "\0x"],
    ):
        clf, loaded = saved_and_loaded(np.array(names, dtype=dtype)[INDEX], tmp_path)
        assert_same_bits(loaded.classes_, clf.classes_)


def test_large_integers_are_exact():
    labels = np.array([2**63 + 5, 2**64 - 1], dtype=np.uint64)
    assert_same_bits(round_trip(labels), labels)


def test_the_ends_of_every_type_are_kept():
    for kind in ("i1", "<i2", ">i4", "<i8", "u1", "<u8"):
        ends = np.iinfo(kind)
        labels = np.array([ends.min, ends.max], dtype=kind)
        assert_same_bits(round_trip(labels), labels)
    for kind in ("<f2", ">f4", "<f8"):
        labels = np.array([np.finfo(kind).min, np.finfo(kind).max], dtype=kind)
        assert_same_bits(round_trip(labels), labels)
    dates = np.array([1 - 2**63, 2**63 - 1]).view("M8[s]")
    assert_same_bits(round_trip(dates), dates)
    objects = np.array([-(2**63), 2**63 - 1], dtype=object)
    assert round_trip(objects).tolist() == objects.tolist()
    for beyond in (-(2**63) - 1, 2**63):
        with pytest.raises(TypeError, match="y has a value that a model file cannot hold"):
            labels_to_plain(np.array([beyond], dtype=object), "y")
        refused("|O", [beyond])


def test_labels_of_text_take_four_million_characters_at_most():
    assert labels_from_plain({"dtype": f"<U{2**22}", "values": ["a"]}, "classes").tolist() == ["a"]
    assert labels_from_plain({"dtype": f"<U{2**21}", "values": ["a", "b"]}, "classes").size == 2
    refused(f"<U{2**22 + 1}", ["a"])
    refused(f"<U{2**21}", ["a", "b", "c"])


@given(
    hnp.arrays(
        st.sampled_from([np.dtype(t) for t in ("?", "i1", ">i8", "u8", "f2", ">f4", "f8", "U7")]),
        st.integers(0, 20),
        elements={"allow_nan": False, "allow_infinity": False},
    )
)
def test_any_labels_are_kept(labels):
    if labels.dtype.kind == "U" and any(not _whole(text) for text in labels.tolist()):
        return
    assert_same_bits(round_trip(labels), labels)


def _whole(text):
    return not any(0xD800 <= ord(character) < 0xE000 for character in text)


def test_types_that_no_file_holds_are_refused():
    pairs = np.array([(1, 2)], dtype="i4,i4")
    wide = np.array([1, 2], dtype="longdouble")
    for labels in (pairs, np.array([b"a"]), np.array([[1, 2]]), np.array([1j]), wide):
        with pytest.raises(TypeError, match="y has the type"):
            labels_to_plain(labels, "y")


def test_objects_that_no_file_holds_are_refused():
    for labels in (np.array([(1, 2), None], dtype=object), np.array(["NaT", "2020"], "M8[Y]")):
        with pytest.raises(TypeError, match="y has a value that a model file cannot hold"):
            labels_to_plain(labels, "y")
    with pytest.raises(TypeError, match="y has a value that a model file cannot hold"):
        labels_to_plain(np.array([1.0, np.inf]), "y")


def refused(dtype, values):
    with pytest.raises(ModelFormatError):
        labels_from_plain({"dtype": dtype, "values": values}, "classes")


def test_values_and_types_that_do_not_fit_are_refused():
    for dtype, values in (
        ("<i8", [1, 2**63]),
        ("<i8", [1, 2.0]),
        ("<i8", [True, False]),
        ("|u1", [1, 256]),
        ("<u8", [-1, 2]),
        ("|b1", [0, 1]),
        ("<f8", [1.0, float("inf")]),
        ("<f2", [1.0, 1e5]),
        ("<f8", [1.0, 10**400]),
        ("<f8", ["1"]),
        ("<U2", ["abc"]),
        ("<U2", [1]),
        ("<U9999999", ["a"]),
        ("|O", [None]),
        ("|O", [["a"]]),
        ("|O", ["\ud800"]),
        ("<M8[D]", [-(2**63)]),
        ("<M8[99999D]", [1]),
        ("<M8[0s]", [1]),
        ("<i16", [1]),
        ("i8", [1]),
        ("O", ["a"]),
        ("<V8", ["a"]),
        ("<f8, <f8", [1.0]),
        (["<f8"], [1.0]),
        ("<i8", "12"),
        ("<i8", {"0": 1}),
    ):
        refused(dtype, values)


def test_classes_out_of_order_are_refused():
    mixed = np.array(["a", 1], dtype=object)
    for labels in ([1, 1], [2, 1], [1], mixed, ["b", "a"]):
        plain = labels_to_plain(np.asarray(labels), "y")
        with pytest.raises(ModelFormatError, match="no two alike and in rising order"):
            labels_from_plain(plain, "classes", least=2)
