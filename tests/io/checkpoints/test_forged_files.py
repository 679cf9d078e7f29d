"""A checkpoint with a right checksum and a wrong content is refused by one error, or goes on."""

import json
import math
from functools import partial

import numpy as np
import pytest
from attacks.cases import check_cases
from mutated_files import INTEGERS, NUMBERS, changed_value
from sklearn.datasets import load_wine

from shareboost import ShareBoostClassifier
from shareboost.io.checkpoint import _LENGTHS, MAGIC, _checksum
from shareboost.io.saved_run import SavedRun

REFUSALS = (
    "checkpoint='",
    "goes on from an earlier fit, but the columns",
    "The loss is",
    "Divide the columns of X",
)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture
def resumed(tmp_path, wine, monkeypatch):
    """Go on from a checkpoint after three rounds whose header and bytes a function changes."""
    path = tmp_path / "run"
    save = SavedRun.save

    def save_and_end(run, rounds):
        save(run, rounds)
        if len(rounds) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SavedRun, "save", save_and_end)
        with pytest.raises(KeyboardInterrupt):
            ShareBoostClassifier(5, swap=True, checkpoint=path).fit(*wine)
    content = path.read_bytes()
    _, length = _LENGTHS.unpack_from(content, len(MAGIC))
    start = len(MAGIC) + _LENGTHS.size
    header, data = json.loads(content[start : start + length]), content[start + length : -32]

    def go_on(change):
        document = json.loads(json.dumps(header))
        found = change(document, bytearray(data))
        text, own = found if found is not None else (json.dumps(document).encode(), data)
        pieces = MAGIC, _LENGTHS.pack(1, len(text)), text, bytes(own)
        path.write_bytes(b"".join([*pieces, _checksum(*pieces)]))
        return ShareBoostClassifier(5, swap=True, checkpoint=path).fit(*wine)

    return go_on


def set_array(name, **changes):
    def change(document, data):
        places = {"dtype": 0, "shape": 1, "offset": 2}
        for key, value in changes.items():
            document["arrays"][name][places[key]] = value

    return change


def replaced(text):
    return lambda document, data: (text, data)


@pytest.mark.parametrize(
    "change",
    [
        set_array("weights", dtype="|O"),
        set_array("weights", dtype="f8, O"),
        set_array("weights", dtype="(3,)<f8"),
        set_array("weights", offset=-8),
        set_array("weights", offset=1 << 62),
        set_array("weights", shape=[1 << 40, 1 << 40]),
        set_array("weights", shape=[-1]),
        set_array("weights", offset=True),
        set_array("known", dtype="<f8"),
        lambda document, data: document.pop("values"),
        lambda document, data: document["values"].pop("rounds"),
        lambda document, data: document["arrays"].pop("atoms"),
        replaced(b"{"),
        replaced(b"[" * 100_000),
        replaced(b"\xff\xfe"),
        replaced(b"[]"),
        replaced(b'{"identity": 1, "values": {}, "arrays": {}}'),
    ],
)
def test_what_no_run_writes_is_refused(resumed, change):
    def once(document, data):
        found = change(document, data)
        return found if isinstance(found, tuple) else None

    with pytest.raises(ValueError, match=r"checkpoint='.*' holds what no run writes"):
        resumed(once)


def test_atoms_that_are_not_there_are_refused(resumed):
    def change(document, data):
        dtype, shape, offset = document["arrays"]["known"]
        ids = np.frombuffer(data, dtype, shape[0], offset)
        ids[0] = -1
        return json.dumps(document).encode(), data

    with pytest.raises(ValueError, match="atoms that the pool does not have"):
        resumed(change)


def changed_content(document, data, rng):
    """Change some of the header's values, numbers of an array, or any bytes."""
    for _ in range(rng.integers(1, 4)):
        match rng.integers(3):
            case 0:
                changed_value(document, rng)
            case 1:
                changed_numbers(document, data, rng)
            case 2:
                place = rng.integers(len(data))
                data[place : place + 8] = rng.bytes(8)
    return json.dumps(document).encode(), data


def changed_numbers(document, data, rng):
    """Set a few numbers of an array to some that are hard to compute with, or to one another."""
    try:
        arrays = list(document["arrays"].values())
        dtype, shape, offset = arrays[rng.integers(len(arrays))]
        array = np.frombuffer(data, dtype, math.prod(shape), offset)
        few = rng.integers(array.size, size=rng.integers(1, 4))
    except (AttributeError, KeyError, TypeError, ValueError):  # changed before
        return
    numbers = NUMBERS if array.dtype.kind == "f" else INTEGERS
    with np.errstate(all="ignore"):
        new = np.array(numbers).astype(array.dtype)
    array[few] = (
        rng.choice(new, size=few.size) if rng.random() < 0.7 else rng.permutation(array)[:1]
    )


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
def test_any_content_goes_on_or_is_refused_by_one_error(resumed, wine):
    def goes_on(rng):
        try:
            clf = resumed(partial(changed_content, rng=rng))
        except (ValueError, FloatingPointError) as error:
            if not any(refusal in str(error) for refusal in REFUSALS):
                raise
            return False
        assert np.isfinite(clf.predict_proba(wine[0])).all()
        return True

    # Runs both go on and are refused, else the cases test nothing.
    assert set(check_cases("checkpoints", 300, goes_on)) == {True, False}
