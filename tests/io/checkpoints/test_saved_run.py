"""Runs that are killed and started again: the same path, bit for bit, and nothing overwritten."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from checkpoint_files import n_rounds_in
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier, identity
from shareboost.io.checkpoint import Checkpoint
from shareboost.pools import Pieces, Stumps, Templates, Union

SETTINGS = {
    "columns": {"n_features": 10, "rule": "newton", "swap": True},
    "stumps": {"n_features": 10, "pool": Stumps(), "validation_fraction": 0.2, "random_state": 0},
    "templates": {"n_features": 10, "pool": Templates(30, patch_size=3, masks=2, sigma=2.0)},
}
# Where runs are killed: the round, the step of its save, and the rounds that are then on disk.
KILLS = [
    (2, "as the file is written", 1),
    (3, "before the file has its name", 2),
    (3, "before the folder is synced", 3),
    (6, "after the save", 6),
]

# One process imports and forks the runs that are killed: an import takes longer than a run.
PROCESS = """
import os, signal, sys
from contextlib import contextmanager
from types import SimpleNamespace
sys.path[:0] = {tests!r}
from test_saved_run import KILLS, classifier, data
from shareboost.io import checkpoint, files
from shareboost.io.checkpoint import Checkpoint

save, whole_file = Checkpoint.save, files.whole_file

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

@contextmanager
def half_a_file(*arguments, **options):
    with whole_file(*arguments, **options) as out:
        def write_half(content):
            out.write(content[:len(content) // 2])
            out.flush()
            die()

        yield SimpleNamespace(write=write_half)

def fit_until(n_rounds, step):
    saved = []

    def save_and_die(self, path):
        if not saved:
            print(len(path), flush=True)
        saved.append(path)
        if len(path) == n_rounds:
            if step == "as the file is written":
                checkpoint.whole_file = half_a_file
            elif step == "before the file has its name":
                os.replace = die
            elif step == "before the folder is synced":
                os.open = die  # which a file is not opened with
        save(self, path)
        if len(path) == n_rounds:
            die()

    Checkpoint.save = save_and_die
    classifier({name!r}, checkpoint={path!r}).fit(*data())

for n_rounds, step, _ in KILLS:
    if (run := os.fork()) == 0:
        fit_until(n_rounds, step)
        os._exit(0)
    _, status = os.waitpid(run, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    # The next save replaces the file, and not what the link refers to.
    os.link({path!r}, {path!r} + f", {{step}}")
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
    return repr(rounds), clf.path_.stop_reason, clf.weights_.tobytes(), clf._intercepts_.tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that it forked")
@pytest.mark.parametrize("name", SETTINGS)
def test_a_killed_run_goes_on_and_ends_alike_bit_for_bit(name, tmp_path):
    """A real process dies by SIGKILL, and the next one goes on."""
    path = tmp_path / "run.checkpoint"
    folders = [os.path.dirname(__file__), os.path.dirname(n_rounds_in.__code__.co_filename)]
    script = PROCESS.format(tests=folders, name=name, path=str(path))
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    first_saved = [int(n_rounds) for n_rounds in answer.stdout.split()]
    assert first_saved == [1, *(on_disk + 1 for *_, on_disk in KILLS[:-1])]
    for _, step, on_disk in KILLS:
        after_kill = tmp_path / f"{path.name}, {step}"
        assert n_rounds_in(after_kill) == on_disk, step
    resumed = classifier(name, checkpoint=path).fit(*data())
    assert bits(resumed) == bits(classifier(name).fit(*data()))


class CutError(Exception):
    """Ends a run in the middle."""


def cut_after(n_rounds, monkeypatch, clf, X, y, **fit):
    """Fit until so many rounds are on disk."""
    save = Checkpoint.save

    def until(self, path):
        save(self, path)
        if len(path) == n_rounds:
            raise CutError

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", until)
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


def test_parameters_of_the_same_meaning_are_of_the_same_run(tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "run.checkpoint"
    cut_after(
        2, monkeypatch, ShareBoostClassifier(4, checkpoint=path, alpha=1, pool="stumps"), X, y
    )
    same = ShareBoostClassifier(4, checkpoint=path, alpha=1.0, pool=Stumps(), verbose=0)
    alone = ShareBoostClassifier(4, alpha=1.0, pool="stumps").fit(X, y)
    assert np.array_equal(same.fit(X, y).weights_, alone.weights_)


def test_what_identifies_a_run_names_parameters_once():
    clf = ShareBoostClassifier
    named = [*clf._of_one_fit, *clf._resolved, *clf._shaping]
    assert len(named) == len(set(named))
    assert set(named) <= set(clf._parameter_constraints)
    assert clf().get_params().items() >= clf._of_one_fit.items()


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


def test_only_a_fit_with_a_checkpoint_or_a_warm_start_computes_digests(tmp_path, monkeypatch):
    X, y = data()
    calls = []
    monkeypatch.setattr(identity, "_plain", lambda value: calls.append(value))
    clf = ShareBoostClassifier(2, groups=np.arange(64) // 8, costs=np.ones(8), random_state=0)
    clf.set_params(validation_fraction=0.2).fit(X, y)
    assert not calls
    clf.set_params(warm_start=True, n_features=3).fit(X, y)
    assert calls
    calls.clear()
    ShareBoostClassifier(2, checkpoint=tmp_path / "run").fit(X, y)
    assert any(value is X for value in calls)


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
