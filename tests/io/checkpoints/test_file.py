"""The file of a run: what is saved comes back, whatever happens in between."""

import errno
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from checkpoint_files import ARRAYS, IDENTITY, VALUES, save
from hypothesis import given

from shareboost.io.checkpoint import MAGIC, Checkpoint

jsonable = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inside: st.one_of(st.lists(inside), st.dictionaries(st.text(), inside)),
    max_leaves=10,
)
arrays = hnp.arrays(
    dtype=st.one_of(
        hnp.boolean_dtypes(),
        hnp.integer_dtypes(),
        hnp.floating_dtypes(),
        hnp.complex_number_dtypes(),
        hnp.unicode_string_dtypes(),
        hnp.datetime64_dtypes(),
    ).filter(lambda dtype: dtype.char not in "gG"),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def bits(value):
    """Return the value with floats as their bits, NaN as one."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    if isinstance(value, list):
        return [bits(item) for item in value]
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    return value


def test_without_a_file_there_is_nothing_to_load(path):
    assert Checkpoint(path, IDENTITY).load() is None
    assert not path.exists()


@given(st.dictionaries(st.text(), jsonable), st.dictionaries(st.text(), arrays, max_size=4))
def test_what_is_saved_comes_back_bit_for_bit(values, arrays):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run")
        save(path, values=values, arrays=arrays)
        loaded_values, loaded = Checkpoint(path, IDENTITY).load()
    assert bits(loaded_values) == bits(values)
    assert list(loaded) == list(arrays)
    for name, array in arrays.items():
        little = array.astype(array.dtype.newbyteorder("<"))
        assert loaded[name].dtype == little.dtype
        assert loaded[name].shape == array.shape
        assert loaded[name].tobytes() == little.tobytes()
        assert loaded[name].flags.writeable
        assert loaded[name].flags.aligned


def test_arrays_of_any_layout_come_back(path):
    W = np.arange(60.0).reshape(3, 4, 5)
    layouts = {"fortran": np.asfortranarray(W), "strided": W[:, ::2], "swapped": W.astype(">f8")}
    save(path, arrays=layouts)
    _, loaded = Checkpoint(path, IDENTITY).load()
    for name, array in layouts.items():
        assert np.array_equal(loaded[name], array)


def test_every_save_replaces_the_last(path):
    checkpoint = save(path)
    for t in range(3):
        checkpoint.save({"round": t}, {"W": np.full(4, t)})
        values, loaded = Checkpoint(path, IDENTITY).load()
        assert values == {"round": t}
        assert loaded["W"].tolist() == [t] * 4
    assert os.listdir(path.parent) == [path.name]


def test_a_loaded_checkpoint_may_be_saved_again(saved):
    save(saved, values={"round": 4})
    assert Checkpoint(saved, IDENTITY).load()[0] == {"round": 4}


def test_a_deleted_checkpoint_is_written_anew(path):
    checkpoint = save(path)
    path.unlink()
    checkpoint.save({"round": 4}, {})
    assert Checkpoint(path, IDENTITY).load()[0] == {"round": 4}


def test_the_target_of_a_link_is_replaced_and_not_the_link(saved, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(saved)
    save(link, values={"round": 4})
    assert link.is_symlink()
    assert Checkpoint(saved, IDENTITY).load()[0] == {"round": 4}


def test_a_relative_path_outlives_a_change_of_folder(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint = Checkpoint(path.name, IDENTITY)
    monkeypatch.chdir("/")
    checkpoint.load()
    checkpoint.save(VALUES, ARRAYS)
    assert path.exists()


def test_the_file_is_readable_as_documented(saved):
    content = saved.read_bytes()
    version, length = struct.unpack_from("<IQ", content, len(MAGIC))
    header = json.loads(content[len(MAGIC) + 12 :][:length])
    assert version == 1
    assert header["identity"] == IDENTITY
    dtype, shape, offset = header["arrays"]["atoms"]
    data = content[len(MAGIC) + 12 + length :]
    assert np.frombuffer(data, dtype, math.prod(shape), offset).tolist() == [5, 2]


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
    checkpoint.load()
    before = saved.read_bytes()
    with full_disk(100_000), pytest.raises(OSError, match="too large") as caught:
        checkpoint.save({}, {"W": np.zeros(50_000)})
    assert caught.value.errno == errno.EFBIG
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]
    checkpoint.save({"round": 4}, {})  # once there is room again
    assert Checkpoint(saved, IDENTITY).load()[0] == {"round": 4}


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_interrupt_leaves_the_old_file_and_no_other(saved, call, monkeypatch):
    checkpoint = Checkpoint(saved, IDENTITY)
    checkpoint.load()

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, call, interrupt)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save({"round": 4}, {})
    assert os.listdir(saved.parent) == [saved.name]
    assert Checkpoint(saved, IDENTITY).load()[0] == VALUES
    checkpoint.save({"round": 5}, {})
    assert Checkpoint(saved, IDENTITY).load()[0] == {"round": 5}


def test_an_interrupt_after_the_first_file_has_its_name_does_not_disown_it(path, monkeypatch):
    checkpoint = Checkpoint(path, IDENTITY)
    checkpoint.load()
    replace = os.replace

    def replace_and_interrupt(*names):
        replace(*names)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save({"round": 1}, {})
    checkpoint.save({"round": 2}, {})
    assert Checkpoint(path, IDENTITY).load()[0] == {"round": 2}


def test_the_file_that_another_run_is_writing_stays(path):
    """Two runs that begin at one path: the first save of one must not tear the other's."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        writing = path.parent / f"{path.name}.{other.pid}.tmp"
        writing.write_bytes(b"")
        save(path)
        assert writing.exists()
        other.communicate(b"\n")


def test_leftovers_of_killed_runs_go_with_the_next_save_and_other_files_stay(path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    leftovers = [f"{path.name}.{n}.tmp" for n in (ended.pid, threading.get_native_id())]
    others = ["other.123.tmp", f"{path.name}.x.tmp", f"{path.name}.1.tmp.bak", f"a{leftovers[0]}"]
    for name in leftovers + others:
        (path.parent / name).write_bytes(MAGIC)
    save(path)
    assert sorted(os.listdir(path.parent)) == sorted([path.name, *others])


# One process imports and forks the writers: an import takes longer than many saves. A writer is
# killed as it calls its n-th built-in function, such as open, write, fsync or replace.
KILLER = """
import os, signal, sys
import numpy as np
from itertools import count
from shareboost.io.checkpoint import Checkpoint

path = sys.argv[1]
folder, name = os.path.split(path)

def save(round_, kill_at_call=None):
    calls = count(1)

    def count_calls(frame, event, argument):
        if event == "c_call" and next(calls) == kill_at_call:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint = Checkpoint(path, {"X": "aa"})
    checkpoint.load()
    sys.setprofile(count_calls)
    checkpoint.save({"round": round_}, {"W": np.full(3000, round_), "v": np.full(3, round_)})
    sys.setprofile(None)

for n in count(1):
    save(1)
    assert os.listdir(folder) == [name]  # also what the last writer left is gone
    if (writer := os.fork()) == 0:
        save(2, kill_at_call=n)
        os._exit(0)
    _, status = os.waitpid(writer, 0)
    values, arrays = Checkpoint(path, {"X": "aa"}).load()
    round_ = values["round"]
    assert (arrays["W"] == round_).all() and arrays["W"].size == 3000
    assert (arrays["v"] == round_).all() and arrays["v"].size == 3
    print(round_, len(os.listdir(folder)))
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that it forked")
def test_a_writer_killed_at_any_step_leaves_a_whole_state(path):
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLER, str(path)], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    rounds_and_files = answer.stdout.splitlines()
    assert rounds_and_files == sorted(rounds_and_files)
    # First nothing is written, then there is a temporary file, then it has taken the name.
    assert set(rounds_and_files) == {"1 1", "1 2", "2 1"}
