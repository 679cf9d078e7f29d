"""Files and streams of the commands: models that they read, and what they write, whole."""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

from ..io.files import check_target, whole_file
from .errors import CommandError

STDIN = STDOUT = "-"
Reads = dict[str, str | None]  # what a command reads, by the names of its arguments
FORMATS = ("csv", "tsv", "parquet", "npz", "svmlight")  # of tables
# What a text begins with that a spreadsheet takes for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def loaded(
    path: str, data: Reads | None = None, outs: Sequence[str | None] = (), force: bool = False
) -> Any:
    """Return the classifier in a model file or stdin, after ``check_files``."""
    check_files({"MODEL": path, **(data or {})}, outs, force)
    from .. import load_model

    if path != STDIN:
        return load_model(path)
    from ..io.model_file import model_of
    from ..io.text import LARGEST_FILE, ModelFormatError

    try:  # one byte more than a model may have is too much to be taken
        return model_of(sys.stdin.buffer.read(LARGEST_FILE + 1))
    except ModelFormatError as error:
        raise CommandError(f"stdin is no model that can be read: {error}.") from None


def check_files(reads: Reads, outs: Sequence[str | None], force: bool) -> None:
    """Raise where a command would read stdin twice, or where it may not write a file."""
    if len(names := [name for name, path in reads.items() if path == STDIN]) > 1:
        told = f"{' and '.join(names)} are both -"
        raise CommandError(f"{told}: stdin can be read once, so one takes a file.")
    for out in outs:
        if out is not None and out != STDOUT:
            check_target(out, force)


@contextmanager
def output(out: str, force: bool) -> Iterator[BinaryIO]:
    """Open a file to write, or stdout for ``-``."""
    if out == STDOUT:
        yield cast(BinaryIO, SimpleNamespace(write=_write_to_stdout))
        sys.stdout.buffer.flush()
        return
    with whole_file(out, force) as file:
        yield file


def _write_to_stdout(data: bytes) -> int:
    """Write all of it: without a buffer (``python -u``) stdout may take a part."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    return len(data)


@contextmanager
def written(out: str) -> Iterator[str]:
    """Yield the path to write a file to; for ``-`` a new one, which goes to stdout once whole."""
    if out != STDOUT:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="shareboost-") as folder:
        path = Path(folder) / "output"
        yield str(path)
        with path.open("rb") as file, output(out, force=False) as stdout:
            shutil.copyfileobj(file, stdout)


def csv_lines(rows: list[list[Any]], safe: bool) -> str:
    """Return rows as CSV; if ``safe``, a single quote goes before texts that look like formulas."""

    def shown(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell

    lines: list[str] = []
    stream: Any = SimpleNamespace(write=lines.append)
    # A cell with a carriage return is quoted only if lines end with one.
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerows([[shown(cell) for cell in row] for row in rows] if safe else rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def shows_bars() -> bool:
    """Return whether progress is shown: on a terminal alone."""
    return sys.stderr.isatty()


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return rows as aligned text; numbers to the right, what holds letters to the left."""
    columns = [[printable(cell) for cell in column] for column in zip(heads, *rows, strict=True)]
    for j, column in enumerate(columns):
        width = max(map(len, column))
        is_number = all(set(cell) <= set("+-.0123456789%e") for cell in column[1:])
        columns[j] = [cell.rjust(width) if is_number else cell.ljust(width) for cell in column]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def printable(text: str) -> str:
    """Return a text from a file without what would steer a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
