"""Files that are written whole or not at all: models, checkpoints, exports and reports."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


def write_whole(path: str | os.PathLike[str], content: bytes, overwrite: bool = False) -> None:
    """Write a file so that, whatever happens, it is there whole or as it was before.

    Its folder must exist. Only with ``overwrite`` is a file that is there already replaced; it
    keeps its permissions. Raises FileExistsError for a file that may not be replaced, and OSError
    where none can be written.
    """
    with whole_file(path, overwrite) as file:
        file.write(content)


@contextmanager
def whole_file(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file to write piece by piece, as ``write_whole`` does.

    Where the code inside raises, what was there stays. After it the file is on disk.
    """
    shown = check_target(path, overwrite)
    # A link is followed, so that its target is replaced, and not the link.
    target = os.path.realpath(shown)
    # No other thread of the machine has that name; what an earlier one left there goes.
    temporary = f"{target}.{threading.get_native_id()}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(temporary)
    with open(temporary, "xb") as file:
        try:
            with suppress(OSError):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()  # before it is moved, as some systems want
            check_target(path, overwrite)  # a file may have come up meanwhile
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    with suppress(OSError):  # the new name too, where a system can do that
        folder = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def check_target(path: str | os.PathLike[str], overwrite: bool = False) -> str:
    """Return the path of a file that ``write_whole`` may write, before work is done for it."""
    shown = os.fsdecode(path)
    target = os.path.realpath(shown)
    if not os.path.isdir(folder := os.path.dirname(target)):
        raise FileNotFoundError(errno.ENOENT, "There is no such folder", folder)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "Cannot write a file: this is a folder", shown)
    if not overwrite and os.path.lexists(shown):
        raise FileExistsError(
            errno.EEXIST, "The file is there already; overwrite=True replaces it", shown
        )
    if os.path.exists(shown) and not os.path.isfile(shown):
        raise OSError(errno.EINVAL, "Cannot write a file: this is no ordinary file", shown)
    return shown
