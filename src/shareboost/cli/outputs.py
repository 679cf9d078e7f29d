"""Where a command writes: a file that is there whole or not at all, or stdout."""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

from ..io.files import check_target, whole_file

STDOUT = "-"
# What a text begins with that a spreadsheet takes for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def check_output(out: str, force: bool) -> None:
    """Raise where a file may not be written, before the work that it is for."""
    if out != STDOUT:
        check_target(out, force)


@contextmanager
def output(out: str, force: bool) -> Iterator[BinaryIO]:
    """Open a file to write, or stdout for ``-``."""
    if out == STDOUT:
        yield cast(BinaryIO, _Stdout())
        sys.stdout.buffer.flush()
        return
    with whole_file(out, force) as file:
        yield file


class _Stdout:
    """Takes all that is written: without a buffer (``python -u``) stdout may take a part."""

    def write(self, data: bytes) -> int:
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
    if safe:
        rows = [[_safe(cell) for cell in row] for row in rows]
    lines: list[str] = []
    stream: Any = SimpleNamespace(write=lines.append)
    # A cell with a carriage return is quoted only if lines end with one.
    csv.writer(stream, lineterminator="\r\n").writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def _safe(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell


def tell(line: str, *outs: str | None) -> None:
    """Say that something is done: on stdout, or on stderr where an output is on stdout."""
    print(line, file=sys.stderr if STDOUT in outs else sys.stdout)


def hint(line: str) -> None:
    """Tell people what they might do next; programs are not told."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr)


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return rows as aligned text; numbers to the right, what holds letters to the left."""
    cells = [[printable(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(heads))]
    right = [all(_is_figure(row[j]) for row in rows) for j in range(len(heads))]
    lines = (
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )
    return "\n".join(lines)


def printable(text: str) -> str:
    """Return a text from a file without what would steer a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _is_figure(text: str) -> bool:
    return all(letter in "+-.0123456789%e" for letter in text)
