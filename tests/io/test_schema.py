"""The schema describes what is saved, and little else."""

import json

import jsonschema
import numpy as np
import pytest
from every_pool import POOLS_TO_TEST, some_digits
from model_files import changed, document_of
from mutated_files import documents

from shareboost import ShareBoostClassifier
from shareboost.io import features, file_schema, model_file, parameters, paths
from shareboost.io.model_file import content_of
from shareboost.io.text import FORMAT, VERSION
from shareboost.penalties import SmoothL1
from shareboost.pools import Templates, Union

SCHEMA = file_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
X, Y, _, _ = some_digits()


def test_the_schema_is_one_itself():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", POOLS_TO_TEST)
def test_saved_files_of_every_pool_are_valid(name, fitted_model):
    clf = fitted_model(name)
    for content in (
        content_of(clf, False),
        content_of(clf.at(3), True),
        content_of(clf.at(0), True),
    ):
        VALIDATOR.validate(json.loads(content))


@pytest.mark.parametrize(
    "settings",
    [
        {"swap": True, "class_weight": {0: 2.0}, "costs": np.ones(64), "exclude": (3, 4)},
        {"groups": np.arange(64) % 9, "penalty": SmoothL1(), "include": [0]},
        {"pool": Union([("a", Templates(templates=np.ones((2, 3, 3)), masks=1))])},
        {"pool": "stumps", "random_state": 0, "validation_fraction": 0.2},
    ],
    ids=["swap", "groups", "templates", "validation"],
)
def test_saved_files_of_every_way_to_fit_are_valid(settings):
    clf = ShareBoostClassifier(3, alpha=1e-3, **settings).fit(X, Y)
    VALIDATOR.validate(json.loads(content_of(clf, True)))


def test_the_schema_and_the_reader_take_the_same_keys():
    own = SCHEMA["$defs"]
    assert SCHEMA["properties"].keys() - {"format", "version", "crc32"} == {
        *model_file.KEYS,
        model_file.KIND,
    }
    assert SCHEMA["properties"]["model"]["properties"].keys() == set(model_file.MODEL_KEYS)
    assert SCHEMA["properties"]["training"]["properties"].keys() == set(model_file.TRAINING_KEYS)
    assert own["path"]["properties"].keys() == set(paths.PATH_KEYS)
    assert own["rounds"]["properties"].keys() == set(paths.ROUND_KEYS)
    assert [kind["$ref"].split("/")[-1] for kind in own["features"]["oneOf"]] == [*features.KINDS]
    for kind in features.KINDS.values():
        assert own[kind.kind]["properties"].keys() == {"kind", *features.keys_of(kind)}
    assert own["pool"]["enum"] == [*parameters.POOLS]
    assert own["penalty"]["enum"] == [*parameters.PENALTIES]
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    assert SCHEMA["properties"]["version"]["const"] == VERSION
    own_inputs = SCHEMA["properties"]["inputs"]["properties"]
    assert own_inputs.keys() == {*model_file.INPUT_KEYS, model_file.LEVELS}
    assert own_inputs["number"]["maximum"] == model_file.MOST_INPUTS


def test_the_schema_refuses_a_document_without_any_of_its_fields():
    for document in documents()[::2]:  # one of every kind of features
        for key in document:
            assert not VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})
        assert not VALIDATOR.is_valid(document | {"extra": 1})


def test_the_schema_refuses_what_no_model_has():
    document = documents()[0]
    assert VALIDATOR.is_valid(document)
    for name, value in (
        ("format", "another"),
        ("version", 2),
        ("crc32", "12"),
        ("inputs.number", 0),
        ("inputs.names", "x"),
        ("inputs.levels", None),
        ("inputs.levels", [["a"]]),
        ("inputs.levels", [["a", 1]]),
        ("classes.dtype", "object"),
        ("classes.values", [None]),
        ("features.kind", "forest"),
        ("features.columns.dtype", "<f8"),
        ("features.columns.shape", [3, 1]),
        ("features.columns.base64", "A"),
        ("features.columns.base64", "AA=A"),
        ("model.cost", "1"),
        ("path.weights", None),
        ("path.rounds.advices", [1]),
        ("path.whole", False),
        ("parameters.pool", {"pool": "Forest", "parameters": {}}),
        ("parameters.alpha", [1]),
        ("training.rows", 0.5),
    ):
        assert not VALIDATOR.is_valid(changed(document, name, value)), name


def test_a_document_has_no_checksum_of_its_own():
    assert VALIDATOR.is_valid(document_of(ShareBoostClassifier(2).fit(X, Y)))
