"""Files and places that are not the run's: refused, named, and never touched."""

import os
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from checkpoint_files import ARRAYS, IDENTITY, VALUES, refused, save
from hypothesis import given

from shareboost.io.checkpoint import MAGIC, Checkpoint


@pytest.mark.parametrize("content", [b"", b"share", b"x,y\n1,2\n", b"PK\x03\x04" * 100])
def test_a_file_of_something_else_is_refused(path, content):
    path.write_bytes(content)
    with refused(path, "is not a checkpoint of shareboost"):
        Checkpoint(path, IDENTITY).load()


def test_another_version_of_the_format_is_refused(saved):
    content = bytearray(saved.read_bytes())
    content[len(MAGIC)] = 2
    saved.write_bytes(content)
    with refused(saved, "has version 2 of the format, and this shareboost reads version 1"):
        Checkpoint(saved, IDENTITY).load()


def test_a_file_cut_short_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for length in range(len(content)):
        saved.write_bytes(content[:length])
        message = "is damaged" if length >= len(MAGIC) else "is not a checkpoint"
        with refused(saved, message):
            Checkpoint(saved, IDENTITY).load()


def test_a_file_with_more_at_its_end_is_refused(saved):
    saved.write_bytes(saved.read_bytes() + b"\0")
    with refused(saved, "is damaged"):
        Checkpoint(saved, IDENTITY).load()


def test_a_changed_byte_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        saved.write_bytes(changed)
        with refused(saved, "is damaged|is not a checkpoint|has version"):
            Checkpoint(saved, IDENTITY).load()


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
            with refused(path, "is damaged|is not a checkpoint|has version"):
                Checkpoint(path, IDENTITY).load()


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
        Checkpoint(saved, IDENTITY | changes).load()


def test_an_entry_only_the_file_has_is_a_difference(saved):
    with refused(saved, "other alpha. Give"):
        Checkpoint(saved, {"X": "aa", "y": "bb"}).load()


def test_a_refused_file_is_not_overwritten_by_a_save(saved):
    checkpoint = Checkpoint(saved, IDENTITY | {"X": "00"})
    with refused(saved, "other X"):
        checkpoint.load()
    with refused(saved, "is not overwritten"):
        checkpoint.save(VALUES, ARRAYS)


def test_a_file_never_loaded_is_not_overwritten(saved):
    with refused(saved, "is not overwritten"):
        Checkpoint(saved, IDENTITY).save(VALUES, ARRAYS)


@pytest.mark.parametrize("identity", [IDENTITY, {"X": "00"}])
def test_a_file_that_came_up_meanwhile_is_not_overwritten(path, identity):
    checkpoint = Checkpoint(path, IDENTITY)
    assert checkpoint.load() is None
    save(path, identity)
    with refused(path, "came up while this run was under way, and is not overwritten"):
        checkpoint.save(VALUES, ARRAYS)


@pytest.mark.parametrize("after_a_save", [True, False])
def test_a_file_that_became_another_runs_is_not_overwritten(path, after_a_save):
    checkpoint = save(path)
    if not after_a_save:
        checkpoint.load()
    path.unlink()
    save(path, {"X": "00"})
    for _ in range(2):
        with refused(path, "other X, y, alpha|is not overwritten"):
            checkpoint.save(VALUES, ARRAYS)


def test_a_file_that_was_only_copied_or_touched_is_still_the_runs(path):
    checkpoint = save(path)
    os.utime(path, (0, 0))
    checkpoint.save({"round": 4}, {})
    assert Checkpoint(path, IDENTITY).load()[0] == {"round": 4}


def test_a_folder_is_refused_before_any_work(tmp_path):
    with pytest.raises(ValueError, match=r"checkpoint='.*' is a folder: it takes the path of a fi"):
        Checkpoint(tmp_path, IDENTITY).load()


@pytest.mark.skipif(os.name == "nt", reason="there is no /dev/null there")
def test_a_device_is_refused_before_any_work():
    with pytest.raises(ValueError, match=r"checkpoint='/dev/null' is no ordinary file"):
        Checkpoint("/dev/null", IDENTITY).load()


def test_a_missing_folder_is_named_before_any_work(tmp_path):
    with pytest.raises(ValueError, match=r"checkpoint='.*run' is not valid: there is no folder '"):
        Checkpoint(tmp_path / "missing" / "run", IDENTITY).load()


@pytest.mark.skipif(os.name == "nt", reason="folders there have no such mode")
def test_a_folder_that_is_not_writable_is_named_before_any_work():
    # Not below pytest's folder, which only its owner may enter.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        user = os.geteuid()
        try:
            if user == 0:  # who may write anywhere
                os.seteuid(65534)
            with pytest.raises(ValueError, match=r"checkpoint='.*run' cannot be written: the fold"):
                Checkpoint(os.path.join(folder, "run"), IDENTITY).load()
        finally:
            os.seteuid(user)
            os.chmod(folder, 0o755)


@pytest.mark.parametrize("path", [3, None, True, b"run"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(TypeError, match=r"checkpoint=.* is not valid: it takes the path of a file"):
        Checkpoint(path, IDENTITY)


@pytest.mark.parametrize(
    "array",
    [np.array(["a"], object), np.zeros(2, "i4,f8"), np.zeros(2, np.longdouble), np.zeros(2, "V4")],
)
def test_arrays_without_plain_content_are_refused_and_the_file_stays(saved, array):
    checkpoint = Checkpoint(saved, IDENTITY)
    checkpoint.load()
    with pytest.raises(TypeError, match=r"arrays has dtype .* for 'W'"):
        checkpoint.save({}, {"W": array})
    assert Checkpoint(saved, IDENTITY).load()[0] == VALUES


def test_values_that_json_does_not_hold_are_refused_and_the_file_stays(saved):
    checkpoint = Checkpoint(saved, IDENTITY)
    checkpoint.load()
    with pytest.raises(TypeError, match="not JSON serializable"):
        checkpoint.save({"path": object()}, {})
    assert Checkpoint(saved, IDENTITY).load()[0] == VALUES


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit to a name")
def test_a_name_that_is_too_long_is_refused_before_any_round(tmp_path):
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    save(tmp_path / ("a" * (longest - 25)))
    for length in (longest - 4, longest, longest + 1, 5000):
        with pytest.raises(ValueError, match=r"checkpoint='.*' is not valid: its name is too long"):
            Checkpoint(tmp_path / ("b" * length), IDENTITY).load()
