"""Where a table comes from: a file or stdin, decompressed. And the tables that are matrices."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CommandError, listed
from ..files import FORMATS, STDIN

# Formats by the end of a file's name, beside their own names.
SUFFIXES = {"tab": "tsv", "pq": "parquet", "svm": "svmlight", "libsvm": "svmlight"}
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
# By the bytes that a compressed file begins with, whatever its name.
DECOMPRESSORS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda file: imported("pyarrow").CompressedInputStream(file, "zstd"),
}


class Source(NamedTuple):
    """A table in a file, or in stdin for ``-``; its format, one of ``FORMATS``; its name."""

    path: str
    format: str
    name: str

    @contextmanager
    def plain(self) -> Iterator[str]:
        """Yield the path of a plain file: the table's own, or a temporary copy, decompressed."""
        stdin: Any = sys.stdin.buffer
        with io.BufferedReader(stdin) if self.path == STDIN else open(self.path, "rb") as raw:
            start = raw.peek(6)
            opener = next((DECOMPRESSORS[m] for m in DECOMPRESSORS if start.startswith(m)), None)
            if opener is None and self.path != STDIN and raw.seekable():
                yield self.path
                return
            with tempfile.TemporaryDirectory(prefix="shareboost-") as folder:
                path = os.path.join(folder, "table")
                self._copy(raw if opener is None else opener(raw), path)
                yield path

    def _copy(self, stream: Any, path: str) -> None:
        """Copy the stream, which may decompress another, to a file."""
        with open(path, "wb") as file:
            try:
                shutil.copyfileobj(stream, file, 1 << 20)
            except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
                if getattr(error, "errno", None) is not None:  # the disk's own error
                    raise
                told = f"{self.name} is compressed and damaged: {error}."
                raise CommandError(told) from None


def source_of(path: str, format_: str | None) -> Source:
    """Return the source of a file, or of stdin for ``-``; its format by its name unless told."""
    if format_ is not None and format_ not in FORMATS:
        raise CommandError(f"--format {format_} is not known: it takes {', '.join(FORMATS)}.")
    if path == STDIN:
        return Source(path, format_ or "csv", "stdin")
    end = next((end for end in COMPRESSED if path.lower().endswith(end)), "")
    suffix = Path(path.lower().removesuffix(end)).suffix[1:]
    format_ = format_ or SUFFIXES.get(suffix, suffix)
    if format_ not in FORMATS:
        told = f"{path} does not tell its format by its name"
        raise CommandError(f"{told}: say it with --format, one of {', '.join(FORMATS)}.")
    return Source(path, format_, path)


def imported(name: str) -> Any:
    """Return a module of the extra ``command``, or raise an error that names it."""
    try:
        return import_module(name)
    except ImportError:
        told = f"This table needs {name}: pip install 'shareboost[command]' brings it."
        raise CommandError(told) from None


def read_matrix(source: Source, path: str, part: str) -> tuple[Any, NDArray[Any] | None]:
    """Return the matrix in a plain NPZ or svmlight file and the labels of its rows.

    The arrays of an NPZ file are X and y, or else those of the ``part``, ``train`` or ``test``; y
    may be missing.
    """
    if source.format == "svmlight":
        return _svmlight(source.name, path)
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            return _npz(arrays, source.name, part)
    except (CommandError, MemoryError):
        raise
    except Exception as error:  # NumPy, zipfile and zlib raise many kinds for a damaged file
        raise CommandError(f"{source.name} is no NPZ file that can be read: {error}.") from error


def _npz(arrays: Any, name: str, part: str) -> tuple[Any, NDArray[Any] | None]:
    end = "" if "X" in arrays else f"_{part}"
    if f"X{end}" not in arrays:
        told = f"{name} has no array X or X{end}, but {listed(list(arrays))}"
        raise CommandError(f"{told}: it takes X and y, or X_train and y_train.")
    X, y = arrays[f"X{end}"], arrays.get(f"y{end}")
    if X.ndim != 2 or not len(X) or X.dtype.kind not in "biuf":
        told = f"X{end} of {name} has shape {X.shape} and type {X.dtype}"
        raise CommandError(f"{told}: it takes a matrix of numbers.")
    if y is not None and y.shape != (len(X),):
        raise CommandError(f"y{end} of {name} has shape {y.shape}: it takes {len(X)} labels.")
    return X, y


def _svmlight(name: str, path: str) -> tuple[Any, NDArray[Any]]:
    """Read a sparse file. Column i of X is the index i of the file, whether it counts from 0 or 1.

    So nothing is guessed: where it counts from 1, column 0 is empty and never chosen.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        with open(path, "rb") as file:
            X, y = load_svmlight_file(file, zero_based=True)
    except (ValueError, UnicodeDecodeError, OverflowError) as error:
        raise CommandError(f"{name} is no svmlight file: {error}.") from None
    if not X.shape[0] or not X.shape[1]:
        raise CommandError(f"{name} is empty: svmlight takes a label and values per row.")
    whole = y.astype(np.int64)
    return X, whole if np.array_equal(whole, y) else y
