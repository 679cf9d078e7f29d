"""Files are there whole, or as they were."""

import os

import pytest

from shareboost.io.files import whole_file, write_whole


def test_a_new_file_is_written(tmp_path):
    write_whole(tmp_path / "a", b"one")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_is_there_stays_unless_it_may_be_replaced(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"one")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_whole(file, b"two")
    assert file.read_bytes() == b"one"
    write_whole(file, b"two", overwrite=True)
    assert file.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a"]


def test_the_target_of_a_link_is_replaced(tmp_path):
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    write_whole(tmp_path / "b", b"two", overwrite=True)
    assert (tmp_path / "a").read_bytes() == b"two"
    assert (tmp_path / "b").is_symlink()


def test_what_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    file = tmp_path / "a"
    file.write_bytes(b"one")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for name in ("a", "b"):
        with pytest.raises(OSError, match="No space"):
            write_whole(tmp_path / name, b"two", overwrite=True)
    assert file.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a"]


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"one")
    file.chmod(0o600)
    write_whole(file, b"two", overwrite=True)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system")
def test_what_is_no_ordinary_file_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no ordinary file"):
        write_whole(tmp_path / "pipe", b"two", overwrite=True)
    assert os.listdir(tmp_path) == ["pipe"]


def test_bad_paths_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError):
        write_whole("", b"")
    with pytest.raises(ValueError, match="null byte"):
        write_whole("a\0b", b"")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_whole(tmp_path / "missing" / "a", b"")
    with pytest.raises(TypeError, match="PathLike object, not int"):
        write_whole(3, b"")
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"", overwrite=True)
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "a", b"")


def test_a_file_in_pieces_is_there_once_all_of_it_is(tmp_path):
    with whole_file(tmp_path / "a") as file:
        file.write(b"one")
        assert not (tmp_path / "a").exists()
        file.write(b"two")
    assert (tmp_path / "a").read_bytes() == b"onetwo"

    def fail():
        with whole_file(tmp_path / "a", overwrite=True) as file:
            file.write(b"three")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (tmp_path / "a").read_bytes() == b"onetwo"
    assert os.listdir(tmp_path) == ["a"]
