"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


def write_whole(path: str | os.PathLike[str], content: bytes, overwrite: bool = False) -> None:
    """Write a file so that, whatever happens, it is there whole or as it was before.

    Parameters
    ----------
    path : str or path-like
        Its folder must exist.
    content : bytes
    overwrite : bool, default=False
        Whether a file that is there already may be replaced. It keeps its permissions.

    Raises
    ------
    TypeError, ValueError
        Where ``path`` is no path.
    FileExistsError
        Where there is a file and it may not be replaced.
    OSError
        Where the file cannot be written, or what is there is no file. What was there stays, and
        no other file is left.
    """
    with whole_file(path, overwrite) as file:
        file.write(content)


@contextmanager
def whole_file(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file to write piece by piece, which is there once all is written, or not at all.

    It takes and raises what ``write_whole`` does. Where the code inside raises, what was there
    stays.
    """
    shown = check_target(path, overwrite)
    # A link is followed, so that its target is replaced, and not the link.
    target = os.path.realpath(shown)
    temporary = f"{target}.{secrets.token_hex(4)}.tmp"  # nobody else's
    with open(temporary, "xb") as file:
        try:
            with suppress(OSError):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()  # before it is moved, as some systems want
            if overwrite:
                os.replace(temporary, target)
            else:
                _place_new(temporary, target, shown)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def check_target(path: str | os.PathLike[str], overwrite: bool = False) -> str:
    """Return the path of a file that may be written, before work is done for it.

    Raises what ``write_whole`` does for a path that is none, has no folder, is taken, or is
    something else than a file.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path={path!r} is not valid: it takes the path of a file.")
    shown = str(os.fspath(path))
    if not shown or "\0" in shown:
        raise ValueError(f"path={shown!r} is not valid: it takes the path of a file.")
    folder = os.path.dirname(os.path.realpath(shown))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "There is no such folder", folder)
    if os.path.isdir(shown):
        raise IsADirectoryError(errno.EISDIR, "Cannot write a file: this is a folder", shown)
    if not overwrite and os.path.lexists(shown):
        raise _taken(shown)
    if os.path.exists(shown) and not os.path.isfile(shown):
        raise OSError(errno.EINVAL, "Cannot write a file: this is no ordinary file", shown)
    return shown


def _place_new(temporary: str, target: str, shown: str) -> None:
    """Move a file to where there is none; one that came up meanwhile stays."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise _taken(shown) from None
    except OSError:  # a file system without links, where nothing better can be done
        if os.path.lexists(target):
            raise _taken(shown) from None
        os.replace(temporary, target)
    else:
        os.unlink(temporary)


def _taken(shown: str) -> FileExistsError:
    return FileExistsError(
        errno.EEXIST, "The file is there already; overwrite=True replaces it", shown
    )
