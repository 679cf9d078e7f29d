"""A checkpoint with a right checksum and a wrong content is refused by one error, or goes on."""

import base64
import json
from functools import partial

import numpy as np
import pytest
from attacks.cases import check_cases
from checkpoint_files import document_in, file_of
from model_files import changed
from mutated_files import changed_value
from sklearn.datasets import load_wine

from shareboost import ShareBoostClassifier
from shareboost.io.checkpoint import Checkpoint

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
    """Go on from a checkpoint after three rounds, of another document."""
    path = tmp_path / "run"
    save = Checkpoint.save

    def save_and_end(run, rounds):
        save(run, rounds)
        if len(rounds) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save_and_end)
        with pytest.raises(KeyboardInterrupt):
            ShareBoostClassifier(5, swap=True, checkpoint=path).fit(*wine)
    document = document_in(path)

    def go_on(change):
        path.write_bytes(file_of(change(json.loads(json.dumps(document)))))
        return ShareBoostClassifier(5, swap=True, checkpoint=path).fit(*wine)

    return go_on


def array(values, dtype="<i8"):
    values = np.asarray(values, dtype=dtype)
    text = base64.b64encode(values.tobytes()).decode()
    return {"dtype": dtype, "shape": list(values.shape), "base64": text}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("atoms", array([0, -1, 2]), "atoms takes integers from 0 to 12"),
        ("atoms", array([0, 1, 13]), "atoms takes integers from 0 to 12"),
        ("atoms", array([0, 0, 1]), "atoms has an integer that comes twice"),
        ("atoms.dtype", "|O", "atoms has dtype"),
        ("atoms.dtype", "<f8", "atoms has dtype"),
        ("atoms.shape", [1 << 40], "characters of base64, not as many"),
        ("atoms.shape", [-1], "atoms does not have the shape"),
        ("scales", array([1.0, 0.0, 1.0], "<f8"), "scales does not have the shape|numbers above 0"),
        ("run", {"X": 1}, "run is 1: it takes text"),
        ("run", [], "run takes an object of texts"),
        ("path", {}, "path has no"),
        ("path.whole", False, "path is not whole"),
        ("path.n_atoms", 14, "path is not that of a run of this pool"),
        ("path.finished", True, "weights|run of this pool that is under way"),
        ("path.rounds.atom", array([-1, 0, 1, 99]), "rounds.atom takes integers from -1 to 12"),
        ("path.rounds.atoms", array([99] * 6), "rounds.atoms takes integers from 0 to 12"),
        ("path.rounds.swaps", array([[0, 13]]), "pairs of integers from 0 to 12"),
        ("path.weights.values", array([np.nan], "<f8"), "has NaN or infinity"),
        ("path.weights.values", array([0.0], "<f8"), "n_columns takes integers|as many weights"),
        ("extra", 1, 'a key "extra" that this version does not know'),
    ],
)
def test_what_no_run_writes_is_refused(resumed, name, value, message):
    with pytest.raises(ValueError, match=rf"checkpoint='.*' cannot be read: .*({message})"):
        resumed(partial(changed, name=name, value=value))


def test_a_field_that_is_missing_is_refused(resumed):
    for name in ("written_by", "run", "atoms", "centers", "scales", "path"):
        with pytest.raises(ValueError, match=rf"cannot be read: the file has no {name}"):
            resumed(lambda document, name=name: {k: document[k] for k in document if k != name})


def changed_content(document, rng):
    for _ in range(rng.integers(1, 4)):
        changed_value(document, rng)
    return document


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
