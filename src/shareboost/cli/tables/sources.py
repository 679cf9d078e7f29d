"""Where a table comes from: a file or stdin, its format, and its bytes decompressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ...progress import BytesBar
from ..errors import CommandError
from .libraries import pyarrow_for

STDIN = "-"
# The format by the end of a file's name.
SUFFIXES = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "parquet": "parquet",
    "pq": "parquet",
    "npz": "npz",
    "svmlight": "svmlight",
    "svm": "svmlight",
    "libsvm": "svmlight",
}
FORMATS = ("csv", "tsv", "parquet", "npz", "svmlight")
COMPRESSED = ("gz", "bz2", "xz", "zst")
# Compressions by the bytes that a compressed file begins with, whatever its name.
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
DECOMPRESSORS: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file),
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": lambda file: _zstandard(file),
}
PEEKED = 1 << 14
LONGEST_LINE = 1 << 26  # bytes that are looked through for the end of the header
DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError)


class Counted:
    """A stream of bytes that counts how many were read, compressed and not."""

    def __init__(self, raw: Any, stream: Any, name: str, bar: BytesBar | None):
        self._raw, self._stream, self._name, self._bar = raw, stream, name, bar
        self.n_bytes = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        try:
            found: bytes = self._stream.read(size)
        except DAMAGED as error:
            if self._stream is self._raw:  # the disk's own error
                raise
            raise CommandError(f"{self._name} is compressed and damaged: {error}.") from None
        self.n_bytes += len(found)
        if self._bar is not None:
            self._bar.at(self._raw.tell() if self._raw.seekable() else self.n_bytes)
        return found


@dataclass(frozen=True)
class Source:
    """A table that can be opened.

    Attributes
    ----------
    path : str
        Of a file; ``-`` is stdin, which can be opened once.
    format : str
        One of ``FORMATS``.
    name : str
        What errors call it.
    """

    path: str
    format: str
    name: str

    @contextmanager
    def open(self, what: str | None) -> Iterator[Counted]:
        """Open the stream of its decompressed bytes; a bar, where it has a name, shows how far."""
        with self._raw() as raw:
            size = os.fstat(raw.fileno()).st_size if self.path != STDIN else None
            bar = None if what is None else BytesBar(what, size)
            stream = Counted(raw, _decompressed(raw), self.name, bar)
            yield stream
            if bar is not None:
                bar.end(stream.n_bytes)

    @contextmanager
    def _raw(self) -> Iterator[Any]:
        if self.path == STDIN:
            stdin: Any = sys.stdin.buffer
            yield stdin if hasattr(stdin, "peek") else io.BufferedReader(stdin)
            return
        if os.path.isdir(self.path):
            raise CommandError(f"{self.path} is a folder: it takes a file.")
        with open(self.path, "rb") as file:
            yield file

    def compression(self) -> str | None:
        """Return how its bytes are compressed, None where they are not."""
        with self._raw() as raw:
            return _compression(raw)

    def head(self) -> bytes:
        """Return the first decompressed bytes, a whole line at least."""
        start = b""
        with self.open(None) as stream:
            while b"\n" not in start and len(start) < LONGEST_LINE:
                more = stream.read(PEEKED)
                if not more:
                    break
                start += more
        return start

    def size(self) -> int:
        """Return the number of its decompressed bytes; a compressed file is read for it."""
        if self.compression() is None:
            return os.path.getsize(self.path)
        with self.open("counting") as stream:
            while stream.read(1 << 20):
                pass
            return stream.n_bytes

    @contextmanager
    def again(self) -> Iterator[Source]:
        """Yield a source that can be opened several times, by pyarrow too.

        It is a decompressed copy where the table can be read only once, and of xz, which pyarrow
        does not read.
        """
        once = self.path == STDIN or stat.S_ISFIFO(os.stat(self.path).st_mode)
        if not once and self.compression() != "xz":
            yield self
            return
        with self.whole() as file:
            yield Source(file.name, self.format, self.name)

    @contextmanager
    def whole(self) -> Iterator[BinaryIO]:
        """Yield a file of its decompressed bytes in which one can go back and forth."""
        with tempfile.TemporaryDirectory(prefix="shareboost-") as folder:
            copy = Path(folder) / "table"
            with self.open("copying") as stream, copy.open("wb") as file:
                shutil.copyfileobj(stream, file, 1 << 20)
            with copy.open("rb") as again:
                yield again

    @contextmanager
    def seekable(self) -> Iterator[BinaryIO]:
        """Yield the file itself where it is plain, else a decompressed copy."""
        with self._raw() as raw:
            if raw.seekable() and _decompressed(raw) is raw:
                yield raw
                return
        with self.whole() as file:
            yield file


def source_of(path: str, format_: str | None) -> Source:
    """Return the source of a file, or of stdin for ``-``; its format by its name unless told."""
    if format_ is not None and format_ not in FORMATS:
        raise CommandError(f"--format {format_} is not known: it takes {', '.join(FORMATS)}.")
    if path == STDIN:
        return Source(path, format_ or "csv", "stdin")
    suffixes = [suffix[1:].lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    found = format_ or SUFFIXES.get(suffixes[-1] if suffixes else "")
    if found is None:
        raise CommandError(
            f"{path} does not tell its format by its name: say it with --format, one of "
            f"{', '.join(FORMATS)}."
        )
    return Source(path, found, path)


def _compression(raw: Any) -> str | None:
    start = raw.peek(6)
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)


def _decompressed(raw: Any) -> Any:
    """Return the stream of a file's own bytes."""
    compression = _compression(raw)
    return raw if compression is None else DECOMPRESSORS[compression](raw)


def _zstandard(file: Any) -> Any:
    pyarrow = pyarrow_for("Zstandard files")
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd")
