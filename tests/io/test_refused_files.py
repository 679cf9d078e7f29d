"""Files that no model made: refused by one error that names the file and what is wrong."""

import base64
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from model_files import changed, file_of
from mutated_files import documents

from shareboost import ModelFormatError, load_model
from shareboost.io.fields import Fields
from shareboost.io.model_file import model_of
from shareboost.io.text import LARGEST_FILE, VERSION

# Places of the whole paths among the documents, then of the models alone.
COLUMNS, GROUPS, STUMPS, PRODUCTS, PIECES, TEMPLATES, UNION = range(0, 14, 2)
ALONE = 1
LEVELS = -1  # of a model alone, with a column of text
PAIRS = [["c", text] for text in "uvwxyz"]


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(file_of(documents()[COLUMNS]))
    return path


def refused(path, message):
    with pytest.raises(ModelFormatError, match=message) as caught:
        load_model(path)
    assert repr(str(path)) in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_file_cut_short_anywhere_is_refused(whole):
    content = whole.read_bytes()
    for length in range(len(content) - 1):  # the last byte is a newline
        with pytest.raises(ModelFormatError):
            model_of(content[:length])


def test_a_changed_byte_anywhere_is_refused_by_the_checksum():
    clf = model_of(file_of(documents()[COLUMNS]))
    document = documents()[COLUMNS]
    content = file_of(document)
    after = content.index(b"\n") + 1
    for place in range(after, len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 7
        with pytest.raises(ModelFormatError):
            model_of(bytes(changed))
    assert clf.selected_.size == 3


def test_a_newer_version_is_refused_as_such(whole):
    document = documents()[COLUMNS] | {"version": VERSION + 1, "something": "new"}
    whole.write_bytes(file_of(document))
    refused(whole, f"version {VERSION + 1} of the format, .* reads up to {VERSION}")


def test_a_file_of_something_else_is_refused(whole):
    for content in (b"", b"\0" * 100, b"x,y\n1,2\n", b"PK\x03\x04", b"[]", b"{}"):
        whole.write_bytes(content)
        refused(whole, "not valid JSON|it is something else")
        assert whole.read_bytes() == content


def test_what_is_no_plain_json_is_refused(whole):
    for content, message in (
        (b'{"format":"shareboost model","version":1,"a":NaN}', "the number NaN"),
        (b'{"format":"shareboost model","version":1,"a":-Infinity}', "the number -Infinity"),
        (b'{"a":1,"a":1}', "a key that comes twice"),
        (b'{"a":' + b"1" * 21 + b"}", "an integer of 21 digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":"\xff"}', "not ASCII"),
        ('{"a":"ä"}'.encode(), "not ASCII"),
        (b'{"base64":7}', "base64 is no text"),
        (b'{"\\u0062ase64":7}', "base64 is no text"),
        (b'{"a":{"base64":"AA=="},"b":{"base\\u00364":0}}', "base64 is no text"),
        (b'{"base64":"AA', "base64 is no text, or not whole"),
        (b"7" * (9 << 20), "bytes beside its arrays"),
    ):
        whole.write_bytes(content)
        refused(whole, message)


def test_a_file_beyond_the_limit_is_refused_by_its_size(whole):
    with open(whole, "r+b") as file:
        file.truncate(LARGEST_FILE + 1)
    refused(whole, f"a model file has at most {LARGEST_FILE:,}")


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "missing.json")
    with pytest.raises(TypeError, match="PathLike object, not int"):
        load_model(3)


def array(values, dtype):
    values = np.asarray(values, dtype=dtype)
    text = base64.b64encode(values.tobytes()).decode()
    return {"dtype": dtype, "shape": list(values.shape), "base64": text}


FLOATS, INTEGERS = "<f8", "<i8"


# The document that is changed, the field, its new value, and what the error says.
CHANGES = [
    (COLUMNS, "inputs.number", 0, "an integer from 1"),
    (COLUMNS, "inputs.number", True, "an integer from 1"),
    (COLUMNS, "inputs.number", 2, "features.columns takes integers from 0 to 1"),
    (COLUMNS, "inputs.number", 1 << 40, "an integer from 1 to 16777216"),
    (COLUMNS, "inputs.names", ["a"], "takes 8 names"),
    (COLUMNS, "inputs.names", ["\ud800"] * 8, "half of a surrogate pair"),
    (COLUMNS, "inputs.levels", [None] * 8, "an item for each of inputs.names"),
    (COLUMNS, "inputs.levels", None, "inputs.levels is null: it takes a list"),
    (LEVELS, "inputs.levels", [None] * 7, "an item for each of inputs.names"),
    (LEVELS, "inputs.levels", [None, 3, *PAIRS], "null or a pair of texts"),
    (LEVELS, "inputs.levels", [None, ["b"], *PAIRS], "null or a pair of texts"),
    (LEVELS, "inputs.levels", [None, ["b", 1], *PAIRS], "it takes text"),
    (LEVELS, "inputs.levels", [None, ["b", "t"], *PAIRS], "takes column=level"),
    (LEVELS, "inputs.names", None, "an item for each of inputs.names"),
    (COLUMNS, "classes.values", ["no", "perhaps", "perhaps"], "no two alike"),
    (COLUMNS, "classes.values", ["yes", "perhaps", "no"], "in rising order"),
    (COLUMNS, "classes.values", ["no"], "at least 2 labels"),
    (COLUMNS, "features.kind", "forest", "kind that is one of columns, groups"),
    (COLUMNS, "features.kind", ["columns"], "kind that is one of columns, groups"),
    (COLUMNS, "features.columns", array([1, 1, 2], INTEGERS), "comes twice"),
    (COLUMNS, "features.columns", array([1, 2, 8], INTEGERS), "integers from 0 to 7"),
    (COLUMNS, "features.columns", array([1, 2, -1], INTEGERS), "integers from 0 to 7"),
    (COLUMNS, "features.columns", array([1, 2, 3], ">i8"), "it takes '<i8'"),
    (COLUMNS, "features.columns", array([1, 2], INTEGERS), "model.chosen|coef|scales"),
    (COLUMNS, "scales", array([1.0, 0.0, 1.0], FLOATS), "scales takes numbers above 0"),
    (COLUMNS, "centers", array([1.0, np.nan, 1.0], FLOATS), "centers has NaN or infinity"),
    (COLUMNS, "model.coef", array(np.full((3, 3), np.inf), FLOATS), "coef has NaN or inf"),
    (COLUMNS, "model.coef", array(np.zeros((3, 4)), FLOATS), r"does not have the shape \(3, 3"),
    (COLUMNS, "model.coef", array(np.zeros((3, 3)), "<f4"), "coef has dtype"),
    (COLUMNS, "model.coef.base64", "A" * 95 + "!", "base64 that is not valid"),
    (COLUMNS, "model.coef.base64", "A" * 92, "characters of base64"),
    (COLUMNS, "model.chosen", array([0, 1, 3], INTEGERS), "chosen takes integers from 0 to 2"),
    (COLUMNS, "model.chosen", array([1, 0, 2], INTEGERS), "no round with the features"),
    (COLUMNS, "model.cost", "1", "a finite number"),
    (COLUMNS, "model.cost", 1e999, "a finite number|number Infinity"),
    (COLUMNS, "model.extra", 1, "model has a key \"extra\""),
    (COLUMNS, "path.stop_reason", "bored", "path.stop_reason is \"bored\""),
    (COLUMNS, "path.whole", False, "path is not whole"),
    (COLUMNS + ALONE, "path.whole", True, "path.weights is null"),
    (COLUMNS, "path.whole", 1, "true or false"),
    (COLUMNS + ALONE, "path.finished", True, "path is not whole"),
    (COLUMNS + ALONE, "path.weights", {}, "path is not whole"),
    (COLUMNS + ALONE, "model.chosen", array([1, 0, 2], INTEGERS), "path is not whole"),
    (COLUMNS, "path.weights.values", array(np.zeros(5), FLOATS), "weights"),
    (COLUMNS, "path.weights.n_columns", array(np.zeros(5), INTEGERS), "as many weights"),
    (COLUMNS, "path.weights.n_columns", array([50] * 5, INTEGERS), "n_columns takes integers from"),
    (COLUMNS, "path.rounds.loss", array(np.full(5, np.nan), FLOATS), "loss has NaN"),
    (COLUMNS, "path.rounds.has_plain", array([2] * 5, "|u1"), "bytes of 0 and 1"),
    (COLUMNS, "path.rounds.has_plain", array([0, 0, 0, 0, 1], "|u1"), "has_plain asks for"),
    (COLUMNS, "path.rounds.n_atoms", array([0] * 5, INTEGERS), "5 numbers with the sum"),
    (COLUMNS, "path.rounds.advices", [], "advice takes integers from 0 to -1"),
    (COLUMNS, "path.shaped_by", {"pool": 7}, "path.shaped_by is 7"),
    (COLUMNS, "training.rows", -1, "an integer from 0"),
    (COLUMNS, "training.not_converged", [0.5], "the numbers of rounds"),
    (COLUMNS, "groups", {"dtype": "<i8", "values": [2, 1]}, "groups takes"),
    (GROUPS, "features.sizes", array([1, 1, 1], INTEGERS), "do not fit"),
    (GROUPS, "features.sizes", array([0, 4, 2], INTEGERS), "sizes takes integers from 1"),
    (GROUPS, "features.labels.values", ["a"], "do not fit"),
    (STUMPS, "features.thresholds", array([0, np.nan, 1], FLOATS), "thresholds has NaN"),
    (STUMPS, "features.digits", array([3, 3, 10**9], INTEGERS), "digits takes integers"),
    (PRODUCTS, "features.left", array([-2, 0, 0, 0], INTEGERS), "left takes integers from -1"),
    (PRODUCTS, "features.left", array([8] * 4, INTEGERS), "left takes integers from -1 to 7"),
    (PRODUCTS, "features.left", array([7] * 4, INTEGERS), "beyond the right one"),
    (PRODUCTS, "features.float", "float16", "one of float32, float64"),
    (PIECES, "features.unit", 0, "a finite number above 0"),
    (PIECES, "features.form", "round", "one of smooth, paper"),
    (PIECES, "features.mean", array([0.0], FLOATS), r"mean does not have the shape \(8\)"),
    (PIECES, "features.squared_radii", array([1, 1, -1], "<f4"), "numbers above 0"),
    (TEMPLATES, "features.image_shape", [1 << 40, 1 << 40, 1], "whose product is 8"),
    (TEMPLATES, "features.image_shape", [2, 2, 2], "shape|does not fit"),
    (TEMPLATES, "features.image_shape", [8, 1, 1], "does not fit images of 8 x 1"),
    (TEMPLATES, "features.image_shape", [-4, -2, 1], "whose product is 8"),
    (TEMPLATES, "features.down", array([99, 0, 0], INTEGERS), "down takes integers"),
    (TEMPLATES, "features.masks_down", [], "down takes integers from 0 to -1"),
    (TEMPLATES, "features.centres", array(np.full((3, 2), 1e300), FLOATS), "numbers up to"),
    (UNION, "features.names", ["a"], "a name for each member"),
    (UNION, "features.which", array([0, 0, 0], INTEGERS), "other sizes than which tells"),
    (UNION, "features.which", array([0, 0, 9], INTEGERS), "which takes integers from 0 to 2"),
    (UNION, "features.members", [], "at least one"),
    (COLUMNS, "parameters.n_features", "many", "parameters are not valid"),
    (COLUMNS, "parameters.alpha", -1, "parameters are not valid"),
    (COLUMNS, "parameters.trees", 7, "parameters has a key \"trees\""),
    (COLUMNS, "parameters.pool", {"pool": "Forest", "parameters": {}}, "pool is \"Forest\""),
    (COLUMNS, "parameters.pool", {"pool": "Union", "parameters": {}}, "has no pools"),
    (COLUMNS, "parameters.pool", {"pool": "Stumps", "parameters": {"a": 1}}, "a key \"a\""),
    (COLUMNS, "parameters.penalty", {"penalty": "SmoothL1", "parameters": {"beta": 0}}, "beta"),
    (COLUMNS, "parameters.costs", {"dict": [[{"list": []}, 1]]}, "no text and no number"),
    (COLUMNS, "parameters.costs", {"eval": "1"}, "an object: it takes a plain value"),
]  # fmt: skip
SECTIONS = list(dict.fromkeys(name.partition(".")[0] for _, name, _, _ in CHANGES))


def assert_change_is_refused(which, name, value, message):
    document = changed(documents()[which], name, value)
    with pytest.raises(ModelFormatError, match=message):
        model_of(file_of(document))


@pytest.mark.parametrize("section", SECTIONS)
def test_what_no_model_could_have_made_is_refused(section):
    for which, name, value, message in CHANGES:
        if name.partition(".")[0] == section:
            assert_change_is_refused(which, name, value, message)


def error_with(which, fields):
    """The error of a document with some fields changed, empty where it loads."""
    document = documents()[which]
    for name, value in fields.items():
        document = changed(document, name, value)
    try:
        model_of(file_of(document))
    except ModelFormatError as error:
        return str(error)
    return ""


def test_rounds_use_features_of_the_model_each_once():
    plain = documents()[COLUMNS]["path"]["rounds"]["atoms"]
    atoms = np.frombuffer(base64.b64decode(plain["base64"]), "<i8")
    last = atoms[-3:]
    foreign = next(atom for atom in range(8) if atom not in atoms)
    for wrong in ([*last[:2], last[0]], [*last[:2], foreign]):
        changed_atoms = array([*atoms[:-3], *wrong], INTEGERS)
        error = error_with(COLUMNS, {"path.rounds.atoms": changed_atoms})
        assert "atoms takes atoms of the features, each once a round" in error


def unions(depth):
    """Columns inside so many unions, none of them chosen."""
    none = array([], INTEGERS)
    inner = {"kind": "columns", "columns": none}
    for _ in range(depth):
        inner = {"kind": "union", "ids": none, "which": none, "names": ["a"], "members": [inner]}
    return inner


def test_every_limit_is_the_documented_one():
    """What is at a limit is taken, or refused for another reason; what is beyond it is not."""
    many = {"inputs.number": 1 << 24}
    rounds = "path.rounds."
    far = np.nextafter(2.0**24, np.inf)
    columns = documents()[COLUMNS]["features"]["columns"]["base64"]
    largest = int(np.frombuffer(base64.b64decode(columns), "<i8").max())
    for which, at, more, message in (
        (COLUMNS, many, {"inputs.number": (1 << 24) + 1}, "an integer from 1 to 16777216"),
        (
            COLUMNS,
            many | {"features.columns": array(np.arange(100_000), INTEGERS)},
            many | {"features.columns": array(np.arange(100_001), INTEGERS)},
            "100001 integers: at most 100,000",
        ),
        (
            COLUMNS,
            {rounds + "atom": array(np.zeros(10_000), INTEGERS)},
            {rounds + "atom": array(np.zeros(10_001), INTEGERS)},
            "10001 rounds: at most 10,000",
        ),
        (
            COLUMNS,
            {rounds + "swaps": array(np.zeros((100_000, 2)), INTEGERS)},
            {rounds + "swaps": array(np.zeros((100_001, 2)), INTEGERS)},
            "up to 100,000 pairs of integers from 0",
        ),
        (
            COLUMNS,
            {rounds + "swaps": array([[0, 0]], INTEGERS)},
            {rounds + "swaps": array([[0, -1]], INTEGERS)},
            "up to 100,000 pairs of integers from 0",
        ),
        (COLUMNS, {"path.n_atoms": largest + 1}, {"path.n_atoms": largest}, "n_atoms is"),
        (
            COLUMNS,
            {"groups": {"dtype": "<i8", "values": [1]}},
            {"groups": {"dtype": "<i8", "values": []}},
            "groups takes",
        ),
        (
            COLUMNS,
            {"model.iterations": (1 << 62) - 1},
            {"model.iterations": 1 << 62},
            "iterations is",
        ),
        (COLUMNS, {"model.iterations": 0}, {"model.iterations": -1}, "iterations is -1"),
        (COLUMNS, {"training.rows": 0}, {"training.rows": -1}, "rows is -1"),
        (
            COLUMNS,
            {"training.not_converged": [0]},
            {"training.not_converged": [-1]},
            "the numbers of rounds",
        ),
        (COLUMNS, {"features": unions(8)}, {"features": unions(9)}, "a union inside 8 others"),
        (
            STUMPS,
            {"features.digits": array([1, 17, 17], INTEGERS)},
            {"features.digits": array([1, 17, 18], INTEGERS)},
            "digits takes integers from 1 to 17",
        ),
        (
            STUMPS,
            {"features.digits": array([1, 1, 1], INTEGERS)},
            {"features.digits": array([0, 1, 1], INTEGERS)},
            "digits takes integers from 1 to 17",
        ),
        (
            STUMPS,
            {"features.columns": array([0, 7, 7], INTEGERS)},
            {"features.columns": array([0, 7, 8], INTEGERS)},
            "columns takes integers from 0 to 7",
        ),
        (
            PIECES,
            {"features.digits": array([1, 17, 17], INTEGERS)},
            {"features.digits": array([0, 17, 17], INTEGERS)},
            "digits takes integers from 1 to 17",
        ),
        (PIECES, {"features.unit": 1e-300}, {"features.unit": 0.0}, "unit is"),
        (TEMPLATES, {"features.unit": 1e-300}, {"features.unit": 0.0}, "unit is"),
        (
            GROUPS,
            {"features.sizes": array([1, 3, 2], INTEGERS)},
            {"features.sizes": array([0, 4, 2], INTEGERS)},
            "sizes takes integers from 1",
        ),
        (
            TEMPLATES,
            {"features.centres": array(np.full((3, 2), -(2.0**24)), FLOATS)},
            {"features.centres": array(np.full((3, 2), far), FLOATS)},
            "numbers up to 16,777,216",
        ),
    ):
        assert message not in error_with(which, at)
        assert message in error_with(which, more)


def test_products_take_columns_from_the_first_to_the_last():
    shape = documents()[PRODUCTS]["features"]["left"]["shape"]
    for column, taken in ((-1, False), (0, True), (7, True), (8, False)):
        both = array(np.full(shape, column), INTEGERS)
        left = both if taken else array(np.full(shape, -1), INTEGERS)
        error = error_with(PRODUCTS, {"features.left": left, "features.right": both})
        assert ("right takes integers from 0 to 7" in error) != taken


def test_templates_of_no_size_or_larger_than_the_image_and_masks_below_zero_are_refused():
    """Also where their masks have as many places as the sizes leave."""
    document = documents()[TEMPLATES]["features"]
    n = document["template"]["shape"][0]
    zeros = array(np.zeros(n), INTEGERS)
    for shape, places in (
        *(((1, 0, 1, 1), (5, 2)), ((1, 1, 0, 1), (4, 3)), ((1, 0, 0, 1), (5, 3))),
        *(((1, 5, 1, 1), (0, 2)), ((1, 1, 3, 1), (4, 0)), ((1, 5, 3, 1), (0, 0))),
    ):
        fields = {
            "features.templates": [array(np.zeros(shape), "<f4")],
            "features.masks_down": [array(np.ones((1, places[0])), "<f4")],
            "features.masks_across": [array(np.ones((1, places[1])), "<f4")],
            **{f"features.{key}": zeros for key in ("template", "down", "across")},
        }
        assert "a mask that does not fit images of 4 x 2" in error_with(TEMPLATES, fields)
    below = [
        {**stack, "base64": base64.b64encode(np.full(stack["shape"], -1.0, "<f4")).decode()}
        for stack in document["masks_across"]
    ]
    assert "a mask below zero" in error_with(TEMPLATES, {"features.masks_across": below})


def test_lists_of_any_length_have_two_million_integers_at_most():
    most = 1 << 21
    for n in (most, most + 1):
        text = memoryview(base64.b64encode(bytes(8 * n)))
        fields = Fields({"a": {"dtype": "<i8", "shape": [n], "base64": text}}, "", ("a",))
        assert fields.integers("a", n).size == n
        if n == most:
            assert fields.integers("a", None).size == n
        else:
            with pytest.raises(ModelFormatError, match="a has 2097153 integers: at most 2,097,152"):
                fields.integers("a", None)


def test_limits_of_the_text_are_the_documented_ones():
    no_model = "it is something else"
    for content, message in (
        (b'{"a":' + b"1" * 20 + b"}", no_model),
        (b"[" + b'{"base64":""},' * 9_999 + b'{"base64":""}]', no_model),
        (b"[" + b'{"base64":""},' * 10_000 + b'{"base64":""}]', "more than 10,000 arrays"),
        (b"[" + b"0," * 499_999 + b"0]", no_model),
        (b"[" + b"0," * 500_000 + b"0]", "more than 500,000 values"),
        (b'"' + b"a" * ((8 << 20) - 2) + b'"', no_model),
        (b'"' + b"a" * ((8 << 20) - 1) + b'"', "bytes beside its arrays"),
        (b'{"a":{"base64":"' + b"A" * (9 << 20) + b'"},"b":1}', no_model),
    ):
        with pytest.raises(ModelFormatError, match=message):
            model_of(content)
    for n_bytes, message in (
        (64 << 20, "beside its arrays"),
        ((64 << 20) + 1, "at most 67,108,864"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            model_of(b"\0" * n_bytes)
    for version in (0, -1, True, 1.0, None):
        with pytest.raises(
            ModelFormatError, match="version is .*: it takes an integer of at least 1"
        ):
            model_of(file_of(documents()[COLUMNS] | {"version": version}))


def test_keys_that_could_be_made_to_hash_alike_are_refused(whole):
    document = json.loads(json.dumps(documents()[COLUMNS]))
    for key in ({"tuple": [1.5, 1.5 * 2.0**61]}, 1 << 63, -(1 << 63), {"list": [1]}):
        document["parameters"] |= {"costs": {"dict": [[key, 1.0]]}}
        whole.write_bytes(file_of(document))
        refused(whole, "no text and no number")


def test_unions_inside_unions_end_somewhere():
    assert "a union inside 8 others" in error_with(UNION, {"features": unions(30)})


def test_a_missing_field_is_named():
    whole = documents()[COLUMNS]
    for key in whole:
        with pytest.raises(ModelFormatError, match=key):
            model_of(file_of({k: v for k, v in whole.items() if k != key}))


def test_errors_are_short_whatever_is_wrong():
    for name, value in (("alpha", {"list": [0] * 100_000}), ("rule", "a" * 100_000)):
        document = json.loads(json.dumps(documents()[COLUMNS]))
        document["parameters"][name] = value
        with pytest.raises(ModelFormatError, match="parameters are not valid") as caught:
            model_of(file_of(document))
        assert len(str(caught.value)) < 500


def test_a_file_without_a_checksum_is_read_and_checked_all_the_same(whole):
    document = documents()[COLUMNS]
    whole.write_text(json.dumps(document, indent=2))  # as another program may write it
    assert load_model(whole).selected_.size == 3
    whole.write_text(json.dumps(document | {"crc32": None}))
    assert load_model(whole).selected_.size == 3
    whole.write_text(json.dumps(document | {"crc32": "00000000"}))
    refused(whole, "checksum")


def test_to_read_a_file_imports_nothing_that_it_names(whole):
    program = (
        "import sys; from shareboost import *; before = set(sys.modules);"
        f"load_model({str(whole)!r}); print(set(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stdout.strip() == "set()"
