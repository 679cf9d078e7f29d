"""Parameters come back as they were, those that a file cannot hold as the defaults."""

import numpy as np
import pytest
from every_pool import POOLS_TO_TEST, some_digits
from sklearn.base import clone

from shareboost import ModelFormatError, ShareBoostClassifier, load_model
from shareboost.io.parameters import parameters_from_plain, parameters_to_plain
from shareboost.io.text import from_bytes, to_bytes
from shareboost.penalties import Frobenius, Penalty, SmoothL1, SmoothLinf1
from shareboost.pools import Columns, Groups, Pieces, Stumps, Templates, Union

X, Y, _, _ = some_digits()


def round_trip(**parameters):
    plain, left_out = parameters_to_plain(parameters)
    plain = from_bytes(to_bytes({"parameters": plain}))["parameters"]
    return parameters_from_plain(plain, "parameters", ShareBoostClassifier), left_out


def test_plain_values_come_back_with_their_types():
    for value in (
        *(None, True, 3, -7, 0.1, 1e-300, "cuda:1", "ä", [], [1, [2.5, "x"]], (1, (2, 3))),
        *(2**63 - 1, 1 - 2**63, {None: 1, 2**63 - 1: 2, 1 - 2**63: 3}),
        *({"a": 1.0, 2: "b", 2.5: None}, {}, SmoothL1(50.0), SmoothLinf1(), Frobenius()),
    ):
        found, left_out = round_trip(costs=value)
        assert found == {"costs": value}
        assert type(found["costs"]) is type(value)
        assert left_out == []


def test_numbers_of_numpy_come_back_as_pythons():
    for value in (np.float64(0.5), np.int32(7), np.bool_(True), np.str_("a")):
        (found,) = round_trip(alpha=value)[0].values()
        assert found == value
        assert type(found) is type(value.item())
    assert round_trip(penalty=SmoothL1(np.int64(7)))[0] == {"penalty": SmoothL1(7)}


def test_arrays_come_back_with_their_type():
    for value in (
        np.arange(5),
        np.array(["a", "bc"]),
        np.array([0.1, 2.0], "f4"),
        np.zeros((2, 3)),
        np.eye(2, dtype="f4"),
        np.arange(16.0).reshape(2, 2, 2, 2),
    ):
        (found,) = round_trip(groups=value)[0].values()
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)


def nested(depth, pair):
    """A value inside so many lists, or inside so many dictionaries of one key."""
    value = 1
    for _ in range(depth):
        value = {"dict": [["a", value]]} if pair else {"list": [value]}
    return {"costs": value}


@pytest.mark.parametrize("pair", [False, True])
def test_values_are_nested_sixteen_deep_at_most(pair):
    found = parameters_from_plain(nested(15, pair), "parameters", ShareBoostClassifier)["costs"]
    for _ in range(15):
        (found,) = found.values() if pair else found
    assert found == 1
    with pytest.raises(ModelFormatError, match="nested too deeply"):
        parameters_from_plain(nested(16, pair), "parameters", ShareBoostClassifier)


def test_pools_are_nested_sixteen_deep_at_most():
    """Each takes two levels: its parameters, and the list of pools among them."""
    plain = {"pool": "Columns", "parameters": {}}
    for _ in range(7):
        plain = {"pool": "Union", "parameters": {"pools": {"list": [plain]}}}
    parameters_from_plain({"pool": plain}, "parameters", ShareBoostClassifier)
    plain = {"pool": "Union", "parameters": {"pools": {"list": [plain]}}}
    with pytest.raises(ModelFormatError, match="nested too deeply"):
        parameters_from_plain({"pool": plain}, "parameters", ShareBoostClassifier)


def test_arrays_of_labels_and_numbers_have_their_own_forms():
    for axes in (1, 5):
        shape = [1] * axes
        array = {"dtype": "<f8", "shape": shape, "base64": memoryview(b"AAAAAAAAAAA=")}
        with pytest.raises(ModelFormatError, match=f"an array of {axes} axes: it takes 2 to 4"):
            parameters_from_plain({"costs": {"array": array}}, "parameters", ShareBoostClassifier)
    for pair in ([1], [1, 2, 3], "ab"):
        with pytest.raises(ModelFormatError, match="pairs of a key and a value"):
            parameters_from_plain({"costs": {"dict": [pair]}}, "parameters", ShareBoostClassifier)


def test_pools_come_back_with_their_parameters():
    for pool in POOLS_TO_TEST.values():
        found, left_out = round_trip(pool=pool)
        assert type(found["pool"]) is type(pool)
        assert repr(found["pool"]) == repr(pool)
        assert left_out == []


class OwnPenalty(SmoothL1):
    """A penalty of a user's own."""


def test_what_no_file_holds_is_left_out_and_named():
    for name, value in (
        ("costs", len),
        ("random_state", np.random.RandomState(0)),
        ("penalty", OwnPenalty()),
        ("costs", float("nan")),
        ("costs", [1, object()]),
        ("costs", 1 << 70),
        ("costs", 1 << 63),
        ("costs", {1 << 63: 1.0}),
        ("costs", np.zeros((1, 1, 1, 1, 1))),
        ("groups", np.array([None, 1], dtype=object)),
        ("groups", np.zeros((2, 2), dtype=complex)),
        ("costs", np.array([1.0, np.nan])),
        ("costs", np.array([1.0, np.inf])),
        ("pool", Groups(range(5))),  # which its pool cannot do without
    ):
        found, left_out = round_trip(**{name: value, "alpha": 0.5})
        assert found == {"alpha": 0.5}
        assert left_out == [name]


def test_what_no_file_holds_of_a_pool_is_left_out_and_named():
    pool = Union([("a", Templates(masks=3, random_state=np.random.RandomState(0))), Stumps()])
    found, left_out = round_trip(pool=pool)
    assert left_out == ["pool.pools.random_state"]
    (name, templates), stumps = found["pool"].pools
    assert name == "a"
    assert repr(templates) == repr(Templates(masks=3))
    assert repr(stumps) == repr(Stumps())


def test_a_loaded_classifier_has_the_parameters_of_the_saved_one(tmp_path):
    clf = ShareBoostClassifier(
        3,
        pool=Union([("a", Columns("maxabs")), ("b", Pieces(5, [0.2, 0.5]))], costs=[1.0, 65.0]),
        rule="newton",
        penalty=SmoothLinf1(20.0),
        class_weight={0: 1.5},
        exclude=[3],
        checkpoint=tmp_path / "run",
        verbose=0,
    ).fit(X, Y)
    clf.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.checkpoint is None  # a place of the machine that trained
    assert repr(loaded) == repr(clf.set_params(checkpoint=None))
    assert repr(clone(loaded)) == repr(loaded)
    assert isinstance(loaded.penalty, Penalty)


def test_parameters_of_at_tell_how_many_features_there_are(tmp_path):
    clf = ShareBoostClassifier(5).fit(X, Y)
    clf.at(2).save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").n_features == 2
