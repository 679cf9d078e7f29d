"""Runs that are killed and started again: the same path, bit for bit, and nothing overwritten."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.checkpoints.file import Checkpoint
from shareboost.checkpoints.saved_run import SavedRun
from shareboost.pools import Pieces, Stumps, Templates, Union

SETTINGS = {
    "columns": {"n_features": 25, "rule": "newton", "swap": True},
    "stumps": {"n_features": 40, "pool": Stumps(), "validation_fraction": 0.2, "random_state": 0},
    "templates": {"n_features": 25, "pool": Templates(30, patch_size=3, masks=2, sigma=2.0)},
}

# What the killed process runs: it says when it is ready, and is slow enough to be killed.
PROCESS = """
import sys, time
sys.path[:0] = [{tests!r}]
from test_saved_run import SETTINGS, classifier, data
from shareboost.checkpoints.saved_run import SavedRun

save = SavedRun.save

def slowly(self, path):
    time.sleep(0.02)
    save(self, path)
    print(len(path), flush=True)

SavedRun.save = slowly
classifier({name!r}, checkpoint={path!r}).fit(*data())
print("done", flush=True)
"""


def data():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


def classifier(name, **parameters):
    return ShareBoostClassifier(**SETTINGS[name], **parameters)


def bits(clf):
    """All of a fit but its times."""
    rounds = [
        (r.atom, r.score, r.atoms, r.swaps, r.cost, r.validation, r.status, r.W.tobytes())
        for r in [clf.path_.start, *clf.path_]
    ]
    return repr(rounds), clf.path_.stop_reason, clf.coef_.tobytes(), clf.intercept_.tobytes()


@pytest.mark.parametrize("name", SETTINGS)
def test_a_killed_run_goes_on_and_ends_alike_bit_for_bit(name, tmp_path):
    """A real process dies by SIGKILL, at random moments, 8 times a pool."""
    path = tmp_path / "run.checkpoint"
    script = PROCESS.format(tests=os.path.dirname(__file__), name=name, path=str(path))
    chance = random.Random(name)
    saved, kills = [], 0
    while kills < 8 and (not saved or saved[-1] < SETTINGS[name]["n_features"] - 2):
        said = said_until_killed(script, chance.uniform(0.0, 0.08))
        assert not saved or said[0] == saved[-1] + 1, "a finished round was lost"
        values, _ = Checkpoint(path, identity(path)).load()
        saved.append(len(values["rounds"]) - 1)
        assert saved[-1] >= said[-1], "a round was said to be on disk, and is not"
        kills += 1
    assert kills >= 7
    resumed = classifier(name, checkpoint=path).fit(*data())
    assert bits(resumed) == bits(classifier(name).fit(*data()))


def said_until_killed(script, seconds):
    """Run the script; kill it so long after its first round. Return the rounds it said it saved."""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        first = process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split("\n")
    assert process.returncode == -signal.SIGKILL
    return [int(t) for t in [first, *rest[:-1]]]  # the last may be half a line


def identity(path):
    """The identity that the file itself claims."""
    content = path.read_bytes()
    start = len(b"shareboost checkpoint\n")
    _, length = struct.unpack_from("<IQ", content, start)
    return json.loads(content[start + 12 : start + 12 + length])["identity"]


class CutError(Exception):
    """Ends a run in the middle."""


def cut_after(n_rounds, monkeypatch, clf, X, y, **fit):
    """Fit until so many rounds are on disk."""
    save = SavedRun.save

    def until(self, path):
        save(self, path)
        if len(path) == n_rounds:
            raise CutError

    with monkeypatch.context() as patch:
        patch.setattr(SavedRun, "save", until)
        with pytest.raises(CutError):
            clf.fit(X, y, **fit)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"rule": "column", "shortlist": 3},
        {"rule": "newton", "swap": True, "costs": lambda atoms: 1.0 + atoms.ids % 3},
        {"groups": np.arange(64) // 8, "include": [2]},
        {"pool": "products"},
        {"pool": Pieces(8, 3), "alpha": 1e-3},
        {"pool": Union([Stumps(16), Pieces(8, 3)], costs=[1.0, 30.0]), "alpha": 1e-3},
        {"validation_fraction": 0.3, "n_iter_no_change": 3, "random_state": 3},
    ],
    ids=["plain", "column", "swap", "groups", "products", "pieces", "union", "validation"],
)
def test_a_run_that_was_cut_goes_on_and_ends_alike(parameters, tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "run.checkpoint"
    clf = ShareBoostClassifier(6, **parameters)
    cut_after(3, monkeypatch, ShareBoostClassifier(6, checkpoint=path, **parameters), X, y)
    again = ShareBoostClassifier(6, checkpoint=path, **parameters).fit(X, y)
    assert bits(again) == bits(clf.fit(X, y))
    once_more = ShareBoostClassifier(6, checkpoint=str(path), **parameters).fit(X, y)
    assert bits(once_more) == bits(clf)


def test_an_evaluation_set_is_part_of_the_run(tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "run.checkpoint"
    train, held_out = (X[:400], y[:400]), (X[400:], y[400:])
    clf = ShareBoostClassifier(6, checkpoint=path)
    cut_after(3, monkeypatch, clf, *train, eval_set=held_out)
    with pytest.raises(ValueError, match="other eval_set"):
        clf.fit(*train)
    clf.fit(*train, eval_set=held_out)
    assert bits(clf) == bits(ShareBoostClassifier(6).fit(*train, eval_set=held_out))


@pytest.mark.parametrize(
    ("change", "other"),
    [
        (lambda X, y: (X[:, ::-1], y, {}), "other X"),
        (lambda X, y: (X[:-1], y[:-1], {}), "other X, .*y"),
        (lambda X, y: (X, y[::-1], {}), "other y"),
        (lambda X, y: (X, y, {"alpha": 1e-3}), "other alpha"),
        (lambda X, y: (X, y, {"n_features": 7}), "other n_features"),
        (lambda X, y: (X, y, {"swap": True}), "other swap"),
        (lambda X, y: (X, y, {"pool": Stumps(12)}), "other pool"),
        (lambda X, y: (X, y, {"exclude": [3]}), "other exclude"),
    ],
)
def test_the_file_of_another_run_is_refused_and_kept(change, other, tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "run.checkpoint"
    clf = ShareBoostClassifier(4, checkpoint=path)
    cut_after(2, monkeypatch, clf, X, y)
    before = path.read_bytes()
    X, y, parameters = change(X, y)
    with pytest.raises(ValueError, match=other):
        ShareBoostClassifier(**{"n_features": 4, "checkpoint": path, **parameters}).fit(X, y)
    assert path.read_bytes() == before


def test_other_prices_of_a_callable_are_refused(tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "run.checkpoint"
    clf = ShareBoostClassifier(4, checkpoint=path, costs=lambda atoms: 1.0 + atoms.ids)
    cut_after(2, monkeypatch, clf, X, y)
    with pytest.raises(ValueError, match="other costs"):
        clf.set_params(costs=lambda atoms: 2.0 + atoms.ids).fit(X, y)


@pytest.mark.parametrize("content", [b"", b"notes of mine", None])
def test_foreign_and_torn_files_are_refused_and_kept(content, tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "run.checkpoint"
    clf = ShareBoostClassifier(4, checkpoint=path)
    if content is None:
        cut_after(2, monkeypatch, clf, X, y)
        content = path.read_bytes()[:-100]
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"checkpoint='.*run.checkpoint'"):
        clf.fit(X, y)
    assert path.read_bytes() == content
    assert not hasattr(clf, "path_")


def test_a_run_that_cannot_be_repeated_takes_no_checkpoint(tmp_path):
    X, y = data()
    path = tmp_path / "run.checkpoint"
    with pytest.raises(ValueError, match="and random_state is None: give it an integer"):
        ShareBoostClassifier(2, checkpoint=path, validation_fraction=0.2).fit(X, y)
    pool = Union([Stumps(), Pieces(5, 3, random_state=None)])
    with pytest.raises(ValueError, match="the pool's random_state is None"):
        ShareBoostClassifier(2, checkpoint=path, pool=pool).fit(X, y)
    assert not path.exists()


def test_what_names_mean_is_part_of_the_run(tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "run.checkpoint"
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(64)])
    clf = ShareBoostClassifier(5, checkpoint=path, include=["c20"])
    cut_after(3, monkeypatch, clf, frame, y)
    with pytest.raises(ValueError, match="by a run with other include"):
        clf.fit(frame.set_axis(frame.columns[::-1], axis=1), y)
    same = ShareBoostClassifier(5, checkpoint=path, include=pd.Index([20])).fit(X, y)
    assert same.selected_[0] == 20


def test_series_of_prices_and_groups_are_taken(tmp_path, monkeypatch):
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(64)])
    parameters = {
        "groups": pd.Series(np.arange(64) // 8, index=frame.columns),
        "costs": pd.Series(np.arange(1.0, 65.0), index=frame.columns),
        "checkpoint": tmp_path / "run.checkpoint",
    }
    cut_after(2, monkeypatch, ShareBoostClassifier(4, **parameters), frame, y)
    again = ShareBoostClassifier(4, **parameters).fit(frame, y)
    plain = ShareBoostClassifier(4, **{**parameters, "checkpoint": None}).fit(frame, y)
    assert bits(again) == bits(plain)


def test_a_class_of_no_weight_is_part_of_the_run(tmp_path, monkeypatch):
    X, y = data()
    path, weight = tmp_path / "run.checkpoint", (y != 9).astype(float)
    clf = ShareBoostClassifier(4, checkpoint=path)
    cut_after(2, monkeypatch, clf, X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="other y"):
        clf.fit(X[y != 9], y[y != 9])
