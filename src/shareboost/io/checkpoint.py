"""The file that keeps the finished rounds of a run, so that a later one can go on from them.

===================== ==========================================================
bytes                 content
===================== ==========================================================
22                    ``shareboost checkpoint`` and a newline
4                     version of the format
8                     length of the header
that many             header, JSON: identity, values, and each array's dtype,
                      shape and offset behind the header
the rest but 32       the arrays' bytes, row by row
32                    BLAKE2b digest of all of the above
===================== ==========================================================

All numbers are little-endian. Nothing is pickled: to read a file runs nothing in it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MAGIC = b"shareboost checkpoint\n"
VERSION = 1
_LENGTHS = struct.Struct("<IQ")  # version, length of the header
_SUM_BYTES = 32
# Types of one meaning on every machine: no objects, records or long doubles.
_PLAIN = frozenset("?bBhHiIlLqQefdFDSUmM")

# What a content that nobody wrote may raise.
_IMPOSSIBLE = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError),
    *(TypeError, ValueError),
)

State = tuple[dict[str, Any], dict[str, NDArray[Any]]]
Stamp = tuple[int, int, int]


class Checkpoint:
    """The finished rounds of a run, in one file that is replaced atomically after every round.

    Whenever the process or the machine stops, the file is the one of some finished round,
    whole. A state is first written to ``<path>.<thread id>.tmp`` beside it; what a killed
    process left of that is removed by the next run's first save.

    One path is for one run at a time. ``load`` refuses the file of a run with other data or
    parameters, and ``save`` one that came up meanwhile. Two runs of the same data and
    parameters that both went on from one file never tear it: the last to save wins.

    Parameters
    ----------
    path : str or path-like
        Where the file is or will be. Its folder must exist.
    identity : dict of str to str
        What the run depends on, in words, and the digest of each.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, str]):
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(
                f"checkpoint={path!r} is not valid: it takes the path of a file, a str or a "
                "path-like object."
            )
        self.name = f"checkpoint={os.fspath(path)!r}"
        # A link is followed, so that its target is replaced, and not the link.
        self.path = os.path.realpath(path)
        self.identity = dict(identity)
        self._accepted: Stamp | None = None  # of the file that may be replaced
        self._cleaned = False

    def load(self) -> State | None:
        """Return the state saved last as (values, arrays), None where there is no file.

        Raises
        ------
        ValueError
            For a file that is not this run's or is damaged, and for a path where no file can
            be written. The file stays as it is.
        """
        self._check_place()
        self._accepted = None
        try:
            file = open(self.path, "rb")  # noqa: SIM115 - only a missing file means None
        except FileNotFoundError:
            return None
        with file:
            state = self._read(file)
            self._accepted = _stamp(os.fstat(file.fileno()))
        return state

    def save(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Replace the file by this state; once it returns, the state is on disk.

        Parameters
        ----------
        values : dict
            Anything that JSON holds; tuples come back as lists. Floats come back bit for
            bit, infinities and NaN (one for all) included.
        arrays : dict of str to ndarray
            Arrays of numbers, booleans, text or dates. They come back little-endian.

        Raises
        ------
        ValueError
            Where the file is not one that ``load`` or ``save`` of this run has seen.
        OSError
            Where it cannot be written. The file stays as it is, and no other is left.
        """
        header, parts = _pack(self.identity, values, arrays)
        self._check_mine()
        if not self._cleaned:
            self._remove_leftovers()
        temporary = self._temporary
        try:
            with open(temporary, "wb") as file:
                _write(file, header, parts)
                # Before it has its name, so that an interrupt finds no file unknown to us.
                self._accepted = _stamp(os.fstat(file.fileno()))
            os.replace(temporary, self.path)
        except BaseException:
            _remove(temporary)
            raise
        _sync_folder(os.path.dirname(self.path))

    @property
    def _temporary(self) -> str:
        """The file that a state is first written to."""
        # On most systems the main thread's number is that of the process.
        return f"{self.path}.{threading.get_native_id()}.tmp"

    def _check_place(self) -> None:
        """Raise where no file could be written, before any work is done for it."""
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise ValueError(f"{self.name} is not valid: there is no folder {folder!r}.")
        try:
            os.lstat(self._temporary)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise ValueError(
                    f"{self.name} is not valid: its name is too long for the folder {folder!r}, "
                    "where a temporary file has the same name and up to 25 characters more."
                ) from None
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            kind = "a folder" if os.path.isdir(self.path) else "no ordinary file"
            raise ValueError(f"{self.name} is {kind}: it takes the path of a file.")
        effective = os.access in os.supports_effective_ids
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
            raise ValueError(
                f"{self.name} cannot be written: the folder {folder!r} is not writable."
            )

    def _read(self, file: BinaryIO) -> State:
        """Return the state in the file if the file is this run's."""
        # Not the whole of a file that is something else, however large.
        if file.read(len(MAGIC)) != MAGIC:
            raise ValueError(
                f"{self.name} is not a checkpoint of shareboost: give another path, or delete "
                "the file."
            )
        content = file.read()
        version, length = _LENGTHS.unpack_from(content.ljust(_LENGTHS.size, b"\0"))
        if len(content) >= _LENGTHS.size and version != VERSION:
            raise ValueError(
                f"{self.name} has version {version} of the format, and this shareboost reads "
                f"version {VERSION}: give another path, or delete the file."
            )
        body = memoryview(content)[: max(0, len(content) - _SUM_BYTES)]
        if content[len(body) :] != _checksum(MAGIC, body):
            raise ValueError(
                f"{self.name} is damaged: it is cut short, or bytes of it were changed. Give "
                "another path, or delete the file."
            )
        data = body[_LENGTHS.size + length :]
        with self.whole():
            header = json.loads(bytes(body[_LENGTHS.size : _LENGTHS.size + length]))
            identity, values, arrays = (header[key] for key in ("identity", "values", "arrays"))
            found = {name: _array(data, *about) for name, about in arrays.items()}
            identity, values = dict(identity), dict(values)
        self._check_identity(identity)
        return values, found

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Turn whatever is raised by a content that nobody wrote into one error."""
        try:
            yield
        except _IMPOSSIBLE as error:
            told = f"{type(error).__name__}: {str(error)[:200]}"
            raise ValueError(
                f"{self.name} holds what no run writes ({told}). Give another path, or delete "
                "the file."
            ) from None

    def _check_identity(self, found: dict[str, str]) -> None:
        """Raise where the file's run is another, and name what differs."""
        words = dict.fromkeys([*self.identity, *found])
        others = [word for word in words if self.identity.get(word) != found.get(word)]
        if others:
            raise ValueError(
                f"{self.name} is not this run's: it was written by a run with other "
                f"{', '.join(others)}. Give the same data and parameters, another path, or "
                "delete the file."
            )

    def _check_mine(self) -> None:
        """Raise where the file to be replaced is not the one loaded or saved last."""
        try:
            now = _stamp(os.stat(self.path))
        except FileNotFoundError:
            return
        if self._accepted is None:
            raise ValueError(
                f"{self.name} came up while this run was under way, and is not overwritten: give "
                "every run a path of its own."
            )
        if now != self._accepted:
            # Perhaps only a file system whose stamps do not last: what it holds decides.
            self.load()

    def _remove_leftovers(self) -> None:
        """Remove the temporary files of runs that were killed as they wrote to this path."""
        folder, file_name = os.path.split(self.path)
        ours = re.compile(re.escape(file_name) + r"\.(\d+)\.tmp")
        for entry in os.listdir(folder):
            if (found := ours.fullmatch(entry)) and not _is_alive(int(found[1])):
                _remove(os.path.join(folder, entry))
        self._cleaned = True


def _array(data: memoryview, dtype: str, shape: list[int], offset: int) -> NDArray[Any]:
    """Return an array of the file, where all of it lies within the data."""
    kind = np.dtype(str(dtype))
    if kind.char not in _PLAIN or kind.hasobject or kind.shape:
        raise ValueError(f"an array has the type {dtype!r}")
    if type(offset) is not int or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError("an array has an impossible place or shape")
    if not 0 <= offset <= offset + math.prod(shape) * kind.itemsize <= len(data):
        raise ValueError("an array lies outside the file")
    return np.ndarray(shape, kind, data, offset).copy()


def _pack(
    identity: dict[str, str], values: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> tuple[bytes, list[bytes]]:
    """Return the header and the bytes of every array."""
    table: dict[str, tuple[str, tuple[int, ...], int]] = {}
    parts: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        if array.dtype.char not in _PLAIN:
            raise TypeError(
                f"arrays has dtype {array.dtype} for {name!r}: a checkpoint takes numbers, "
                "booleans, text and dates."
            )
        dtype = array.dtype.newbyteorder("<")
        parts.append(array.astype(dtype, copy=False).tobytes())
        table[name] = dtype.str, array.shape, offset
        offset += array.nbytes
    header = json.dumps({"identity": identity, "values": values, "arrays": table})
    return header.encode(), parts


def _write(file: BinaryIO, header: bytes, parts: list[bytes]) -> None:
    """Write a whole checkpoint and wait until it is on disk."""
    pieces = (MAGIC, _LENGTHS.pack(VERSION, len(header)), header, *parts)
    for piece in (*pieces, _checksum(*pieces)):
        file.write(piece)
    file.flush()
    os.fsync(file.fileno())


def _checksum(*pieces: bytes | memoryview) -> bytes:
    """Return the digest of the pieces, one after the other."""
    checksum = hashlib.blake2b(digest_size=_SUM_BYTES)
    for piece in pieces:
        checksum.update(piece)
    return checksum.digest()


def _is_alive(thread: int) -> bool:
    """Return whether a thread of this machine, not this one, has that number."""
    if os.name == "nt" or thread == threading.get_native_id():
        return False
    try:
        os.kill(thread, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        pass
    return True


def _remove(path: str) -> None:
    """Remove a file if it is there."""
    with suppress(FileNotFoundError):
        os.remove(path)


def _stamp(stat: os.stat_result) -> Stamp:
    """Return what is the same for as long as nobody replaces or writes to a file."""
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _sync_folder(folder: str) -> None:
    """Wait until the folder's entries are on disk, on systems where folders can be synced."""
    if os.name == "nt":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # a folder that may be written to and not listed
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # network file systems
            raise
    finally:
        os.close(descriptor)
