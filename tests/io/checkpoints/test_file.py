"""The file of a run: what is saved comes back, whatever happens in between."""

import errno
import json
import os
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from checkpoint_files import IDENTITY, K, load, n_rounds_in, run, save
from model_files import assert_same_bits, assert_same_round
from naive_model_file import numbers

from shareboost.io.checkpoint import Checkpoint


def test_without_a_file_there_is_nothing_to_load(path):
    assert load(path) is None
    assert not os.listdir(path.parent)


@pytest.mark.parametrize("n_rounds", range(6))
def test_what_is_saved_comes_back_bit_for_bit(path, n_rounds):
    checkpoint, saved = Checkpoint(path, IDENTITY), run(n_rounds, seed=n_rounds)
    checkpoint.save(saved)
    loaded = load(path)
    for one, other in zip([saved.start, *saved], [loaded.start, *loaded], strict=True):
        assert_same_round(one, other)
    assert_same_bits(loaded.features.ids, saved.features.ids)
    assert_same_bits(loaded.centers, saved.centers)
    assert_same_bits(loaded.scales, saved.scales)
    assert (loaded.intercept, loaded.n_atoms) == (True, 8)
    assert loaded.finish is None


def test_arrays_of_any_layout_come_back(path):
    laid_out = run(2)
    W = np.asfortranarray(laid_out.rounds[0].W)
    laid_out.rounds[0].__dict__["W"] = W
    Checkpoint(path, IDENTITY).save(laid_out)
    assert np.array_equal(load(path).rounds[0].W, W)


def test_every_save_replaces_the_last(path):
    checkpoint = save(path)
    for n_rounds in range(3):
        checkpoint.save(run(n_rounds))
        assert len(load(path)) == n_rounds
    assert os.listdir(path.parent) == [path.name]


def test_a_loaded_checkpoint_may_be_saved_again(saved):
    save(saved, n_rounds=4)
    assert len(load(saved)) == 4


def test_a_deleted_checkpoint_is_written_anew(path):
    checkpoint = save(path)
    path.unlink()
    checkpoint.save(run(4))
    assert len(load(path)) == 4


def test_the_target_of_a_link_is_replaced_and_not_the_link(saved, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(saved)
    save(link, n_rounds=4)
    assert link.is_symlink()
    assert len(load(saved)) == 4


def test_a_relative_path_outlives_a_change_of_folder(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint = Checkpoint(path.name, IDENTITY)
    monkeypatch.chdir("/")
    checkpoint.save(run(1))
    assert path.exists()


def test_the_file_is_readable_as_documented(saved):
    document = json.loads(saved.read_bytes())
    assert (document["format"], document["version"]) == ("shareboost checkpoint", 1)
    assert document["run"] == IDENTITY
    assert numbers(document["atoms"]) == run(3).features.ids.tolist()
    weights = document["path"]["weights"]
    assert numbers(weights["n_columns"]) == [1, 2, 3, 4, 3, 4]  # with the partners of rounds 2, 3
    start = numbers(weights["values"])[:K]
    assert start == run(3).start.W.ravel().tolist()


@contextmanager
def full_disk(n_bytes):
    """Let no file grow beyond that many bytes."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(saved):
    checkpoint = Checkpoint(saved, IDENTITY)
    before = saved.read_bytes()
    with full_disk(1000), pytest.raises(OSError, match="too large") as caught:
        checkpoint.save(run(4))
    assert caught.value.errno == errno.EFBIG
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]
    checkpoint.save(run(4))  # once there is room again
    assert len(load(saved)) == 4


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_interrupt_leaves_the_old_file_and_no_other(saved, call, monkeypatch):
    checkpoint = Checkpoint(saved, IDENTITY)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, call, interrupt)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(run(4))
    assert os.listdir(saved.parent) == [saved.name]
    assert len(load(saved)) == 3
    checkpoint.save(run(5))
    assert len(load(saved)) == 5


def test_an_interrupt_after_the_first_file_has_its_name_does_not_disown_it(path, monkeypatch):
    checkpoint = Checkpoint(path, IDENTITY)
    replace = os.replace

    def replace_and_interrupt(*names):
        replace(*names)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(run(1))
    checkpoint.save(run(2))
    assert len(load(path)) == 2


def test_the_file_that_another_run_is_writing_stays(path):
    """Two runs that begin at one path: the first save of one must not tear the other's."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        writing = path.parent / f"{path.name}.{other.pid}.tmp"
        writing.write_bytes(b"")
        save(path)
        assert writing.exists()
        other.communicate(b"\n")


# One process imports and forks the writers: an import takes longer than many saves. A writer is
# killed as it calls its n-th built-in function, such as open, write, fsync or replace, once it
# knows what to write.
KILLER = """
import os, signal, sys
from itertools import count
from pathlib import Path

sys.path[:0] = [{tests!r}]
from checkpoint_files import IDENTITY, load, run
from shareboost.io import checkpoint as module

path = Path(sys.argv[1])
to_bytes = module.to_bytes

def save(n_rounds, kill_at_call=None):
    calls = count(1)

    def count_calls(frame, event, argument):
        if event == "c_call" and next(calls) == kill_at_call:
            os.kill(os.getpid(), signal.SIGKILL)

    def to_bytes_and_count(*arguments):
        content = to_bytes(*arguments)
        sys.setprofile(count_calls)
        return content

    module.to_bytes = to_bytes_and_count
    module.Checkpoint(path, IDENTITY).save(run(n_rounds))
    sys.setprofile(None)

for n in count(1):
    save(1)
    if (writer := os.fork()) == 0:
        save(2, kill_at_call=n)
        os._exit(0)
    _, status = os.waitpid(writer, 0)
    print(len(load(path)))
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that it forked")
def test_a_writer_killed_at_any_step_leaves_a_whole_state(path):
    script = KILLER.format(tests=os.path.dirname(run.__code__.co_filename))
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(path)], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    rounds = answer.stdout.splitlines()
    assert rounds == sorted(rounds)  # until the new file has taken the name, the old one is there
    assert set(rounds) == {"1", "2"}
    assert n_rounds_in(path) == 2
