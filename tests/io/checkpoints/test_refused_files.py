"""Files and places that are not the run's: refused, named, and never touched."""

import os
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from checkpoint_files import IDENTITY, POOL, K, load, refused, run, save
from hypothesis import given

from shareboost.io.checkpoint import START, Checkpoint

DAMAGED = "cannot be read|is not a checkpoint"


@pytest.mark.parametrize("content", [b"", b"share", b"x,y\n1,2\n", b"PK\x03\x04" * 100])
def test_a_file_of_something_else_is_refused(path, content):
    path.write_bytes(content)
    with refused(path, "is not a checkpoint of shareboost"):
        load(path)


def test_another_version_of_the_format_is_refused(saved):
    content = saved.read_bytes().replace(b'"version":1', b'"version":2', 1)
    saved.write_bytes(content)
    with refused(saved, "has version 2 of the format, and this shareboost reads up to 1"):
        load(saved)


def test_a_file_cut_short_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for length in range(len(content)):
        saved.write_bytes(content[:length])
        message = "cannot be read" if length >= len(START) else "is not a checkpoint"
        with refused(saved, message):
            load(saved)


def test_a_file_with_more_at_its_end_is_refused(saved):
    saved.write_bytes(saved.read_bytes() + b"\0")
    with refused(saved, "cannot be read"):
        load(saved)


def test_a_changed_byte_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        saved.write_bytes(changed)
        with refused(saved, DAMAGED):
            load(saved)


@given(st.data())
def test_any_damage_is_refused(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        save(path)
        content = path.read_bytes()
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(start, len(content)))
        damaged = content[:start] + data.draw(st.binary(max_size=20)) + content[stop:]
        path.write_bytes(damaged)
        if damaged != content:
            with refused(path, DAMAGED):
                load(path)


@pytest.mark.parametrize(
    ("changes", "others"),
    [
        ({"X": "00"}, "X"),
        ({"alpha": "00", "X": "00"}, "X, alpha"),
        ({"pool": "dd"}, "pool"),
    ],
)
def test_the_file_of_another_run_is_refused_and_the_differences_named(saved, changes, others):
    message = f"written by a run with other {others}. Give the same data and parameters"
    with refused(saved, message):
        load(saved, IDENTITY | changes)


def test_an_entry_only_the_file_has_is_a_difference(saved):
    with refused(saved, "other alpha. Give"):
        load(saved, {"X": "aa", "y": "bb"})


def test_what_only_a_fitted_pool_tells_is_compared_too(path):
    checkpoint = Checkpoint(path, IDENTITY)
    assert checkpoint.path(POOL, K, {"costs": "dd"}) is None
    checkpoint.save(run(3))
    assert len(load(path, resolved={"costs": "dd"})) == 3
    for other in ({"costs": "ee"}, {}, {"costs": "dd", "groups": "ff"}):
        with refused(path, "a run with other (costs|groups). Give"):
            load(path, resolved=other)


@pytest.mark.parametrize("identity", [IDENTITY, {"X": "00"}])
def test_a_file_that_came_up_meanwhile_is_not_overwritten(path, identity):
    checkpoint = Checkpoint(path, IDENTITY)
    save(path, identity)
    with refused(path, "came up while this run was under way, and is not overwritten"):
        checkpoint.save(run(3))


@pytest.mark.parametrize("after_a_save", [True, False])
def test_a_file_that_became_another_runs_is_not_overwritten(path, after_a_save):
    checkpoint = save(path)
    if not after_a_save:
        checkpoint = Checkpoint(path, IDENTITY)
    path.unlink()
    save(path, {"X": "00"})
    for _ in range(2):
        with refused(path, "other X, y, alpha"):
            checkpoint.save(run(4))


def test_a_file_that_was_only_copied_or_touched_is_still_the_runs(path):
    checkpoint = save(path)
    os.utime(path, (0, 0))
    checkpoint.save(run(4))
    assert len(load(path)) == 4


def test_a_folder_is_refused_before_any_work(tmp_path):
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        Checkpoint(tmp_path, IDENTITY)


@pytest.mark.skipif(os.name == "nt", reason="there is no /dev/null there")
def test_a_device_is_refused_before_any_work():
    with pytest.raises(OSError, match="this is no ordinary file: '/dev/null'"):
        Checkpoint("/dev/null", IDENTITY)


def test_a_missing_folder_is_named_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no such folder: '.*missing'"):
        Checkpoint(tmp_path / "missing" / "run", IDENTITY)


@pytest.mark.skipif(os.name == "nt", reason="folders there have no such mode")
def test_a_folder_that_is_not_writable_is_named_before_any_work():
    # Not below pytest's folder, which only its owner may enter.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        user = os.geteuid()
        try:
            if user == 0:  # who may write anywhere
                os.seteuid(65534)
            with pytest.raises(PermissionError, match=folder):
                Checkpoint(os.path.join(folder, "run"), IDENTITY)
        finally:
            os.seteuid(user)
            os.chmod(folder, 0o755)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit to a name")
def test_a_name_that_is_too_long_is_refused_before_any_round(tmp_path):
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    save(tmp_path / ("a" * (longest - 25)))
    for length in (longest - 4, longest, longest + 1, 5000):
        with pytest.raises(OSError, match="too long"):
            Checkpoint(tmp_path / ("b" * length), IDENTITY)
