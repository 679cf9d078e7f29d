"""Tables with named columns, a block of rows at a time: CSV, TSV and Parquet, by pyarrow.

A first pass finds how many rows there are, the texts of columns of text and the range of the
numbers. A second writes every value to its place in a matrix as narrow as it may be, so that
nothing is held twice.

Measured on CSV files of 1 GB: pyarrow in blocks of 4 MB took 0.3 to 0.4 GB where its whole
table took 2.7 to 7.3 GB and a whole frame of polars 1.2 to 4.7 GB. pandas in chunks took 0.2 GB for
the first of two files, but does not tell rows that are too short from missing values.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...progress import BytesBar
from ..errors import CommandError, listed
from .sources import imported

if TYPE_CHECKING:
    from .encoding import Encoder
    from .sources import Source

# The longest row that can be read, unless the header is long; pyarrow holds several at a time.
BLOCK_BYTES = 2 << 20
NUMBER_BYTES = 32  # that a number may take, and its separator
BLOCK_CELLS = 1 << 20  # of a block of Parquet
PEEKED = 1 << 14
LONGEST_LINE = 1 << 26  # bytes that are looked through for the end of the header
SEPARATORS = {"csv": ",", "tsv": "\t"}
COLUMNAR = (*SEPARATORS, "parquet")
# Narrow enough for a CSV file of one digit a value.
INTEGERS = [np.dtype(kind) for kind in ("int8", "uint8", "int16", "uint16", "int32")]
# Doubles take at most so many times the bytes of the file; singles where they would take more.
MOST_FOR_DOUBLES = 2

_NOT_A_NUMBER = re.compile(r"In CSV column #(\d+): .*conversion error to \w+: invalid value '(.*)'")


class Columnar:
    """A table of CSV, TSV or Parquet, in the plain file of a source."""

    def __init__(self, source: Source, path: str):
        self.path, self.format, self.name = path, source.format, source.name
        self._arrow = imported("pyarrow")
        self._readers = imported(f"pyarrow.{'parquet' if self.format == 'parquet' else 'csv'}")

    def kinds(self) -> dict[str, bool]:
        """Return the names of the columns, and whether each holds text as far as its head tells."""
        with self._opened({}) as (reader, _):
            schema = reader.schema_arrow if self.format == "parquet" else reader.schema
            if twice := [name for name, count in Counter(schema.names).items() if count > 1]:
                raise CommandError(f"{self.name} has columns of the same name: {listed(twice)}.")
            return {column.name: self._is_text(column.type) for column in schema}

    def blocks(
        self, numbers: Iterable[str], texts: Iterable[str], what: str = "reading"
    ) -> Iterator[Any]:
        """Yield record batches of these columns: doubles, NaN where missing, and strings."""
        types = dict.fromkeys(numbers, self._arrow.float64())
        types |= dict.fromkeys(texts, self._arrow.string())
        with self._opened(types) as (reader, file):
            if self.format == "parquet":
                n_rows = max(1, BLOCK_CELLS // max(1, len(types)))
                for batch in reader.iter_batches(batch_size=n_rows, columns=list(types)):
                    cast = {name: self._cast(batch, name, type_) for name, type_ in types.items()}
                    yield self._arrow.record_batch(cast)
                return
            bar = BytesBar(what, file.size())
            for batch in reader:
                bar.at(file.tell())
                yield batch
            bar.end(file.size())

    def n_bytes(self) -> int:
        """Return how many bytes the table takes."""
        if self.format != "parquet":
            return os.path.getsize(self.path)
        with self._opened({}) as (reader, _):
            return int(reader.metadata.num_rows * reader.metadata.num_columns * 8)

    @contextmanager
    def _opened(self, types: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Open the table; without types the first block of a CSV file tells them.

        pyarrow's threads read ahead, also after an error, and must not call Python: where they do
        when the interpreter ends, the process hangs or aborts. So the file is pyarrow's own.
        """
        arrow, csv, block_bytes = self._arrow, self._readers, BLOCK_BYTES
        try:
            with arrow.OSFile(os.fsencode(self.path), "rb") as file:
                if self.format == "parquet":
                    yield self._readers.ParquetFile(file), file
                    return
                separator, header = SEPARATORS[self.format], self._header()
                # A block holds the header and a row of numbers, however many columns there are.
                n_columns = header.count(separator.encode()) + 1
                block_bytes = max(block_bytes, len(header) + NUMBER_BYTES * n_columns)
                options = (
                    csv.ReadOptions(block_size=block_bytes),
                    csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                    csv.ConvertOptions(column_types=types, include_columns=list(types)),
                )
                with csv.open_csv(file, *options) as reader:
                    yield reader, file
        except (arrow.ArrowInvalid, OSError, UnicodeDecodeError) as error:
            told = f"{self.name} cannot be read: {error}"
            if match := _NOT_A_NUMBER.search(str(error)):
                column, value = list(self.kinds())[int(match[1])], match[2][:40]
                told = f"Column {column!r} of {self.name} holds {value!r}, and takes numbers alone."
            elif "straddling" in str(error):
                told = (
                    f"{self.name} has a row of more than {block_bytes:,} bytes, or a quote left "
                    "open."
                )
            raise CommandError(told) from None

    def _header(self) -> bytes:
        """Return the first line; an error where the file is no table of text."""
        with open(self.path, "rb") as file:
            header = file.readline(LONGEST_LINE)
            start = header + file.read(PEEKED)
        format_ = self.format.upper()
        if not start.strip():
            raise CommandError(f"{self.name} is empty: {format_} takes a header and rows.")
        if b"\0" in start:
            raise CommandError(f"{self.name} is a binary file, and no {format_}: see --format.")
        return header.removesuffix(b"\n")

    def _cast(self, batch: Any, name: str, type_: Any) -> Any:
        try:
            return batch.column(name).cast(type_, safe=False)
        except (self._arrow.ArrowInvalid, self._arrow.ArrowNotImplementedError) as error:
            told = f"Column {name!r} of {self.name} takes numbers alone: {error}."
            raise CommandError(told) from None

    def _is_text(self, type_: Any) -> bool:
        types = self._arrow.types
        number = types.is_integer(type_) or types.is_floating(type_) or types.is_null(type_)
        if self.format == "parquet":  # where true and false are no texts
            number = number or types.is_boolean(type_) or types.is_decimal(type_)
        return not number


class Survey:
    """What a table holds: the range of its numbers, its different texts, and its target's texts."""

    def __init__(self, kinds: dict[str, bool]):
        self.numbers = [column for column, text in kinds.items() if not text]
        self.texts: dict[str, set[str]] = {column: set() for column, text in kinds.items() if text}
        self.n_rows = 0
        self.targets: list[Any] = []  # encoded, block by block
        self.low, self.high, self.whole = 0.0, 1.0, True

    def add(self, values: NDArray[np.float64]) -> None:
        """Take note of some values of a column of numbers."""
        self.low = np.fmin.reduce(values, initial=self.low)
        self.high = np.fmax.reduce(values, initial=self.high)
        self.whole = self.whole and bool((np.rint(values) == values).all())  # NaN is not whole

    def dtype(self, n_columns: int, n_bytes: int) -> np.dtype[Any]:
        """Return the type of X: integers where all are whole, else floats."""
        for kind in INTEGERS if self.whole else []:
            if np.iinfo(kind).min <= self.low and self.high <= np.iinfo(kind).max:
                return kind
        doubles = 8 * self.n_rows * n_columns
        return np.dtype(np.float64 if doubles <= MOST_FOR_DOUBLES * n_bytes else np.float32)


def survey(table: Columnar, kinds: dict[str, bool], target: str, levels: int | None) -> Survey:
    """Read a table once; ``kinds`` tells which columns hold text.

    ``levels`` are the most texts of such a column; None allows no text.
    """
    seen = Survey(kinds)
    if seen.texts and levels is None:
        told = f"{table.name} has text in {listed([*seen.texts])}, which --drop COLUMN leaves out"
        raise CommandError(f"{told}; --one-hot N makes a feature of each, of up to N in a column.")
    for batch in table.blocks(seen.numbers, [*seen.texts, target], "looking at the columns"):
        seen.n_rows += batch.num_rows
        seen.targets.append(batch.column(target).fill_null("").dictionary_encode())
        for column in seen.numbers:
            seen.add(batch.column(column).to_numpy(zero_copy_only=False))
            if np.isinf([seen.low, seen.high]).any():
                raise CommandError(f"Column {column!r} of {table.name} holds infinite numbers.")
        for column, texts in seen.texts.items():
            texts.update(filter(None, batch.column(column).unique().to_pylist()))
            if len(texts) > (levels or 0):
                told = f"Column {column!r} of {table.name} has more than {levels} different texts"
                raise CommandError(f"{told}: --one-hot allows more, --drop {column} leaves it out.")
    if not seen.n_rows:
        raise CommandError(f"{table.name} has a header and no rows.")
    return seen


def filled(table: Columnar, seen: Survey, encoder: Encoder, places: NDArray[Any]) -> NDArray[Any]:
    """Return X of a table that was surveyed, each row at its place."""
    dtype = seen.dtype(encoder.n_columns, table.n_bytes())
    X = np.empty((seen.n_rows, encoder.n_columns), dtype=dtype)
    done = 0
    for batch in table.blocks(encoder.numbers, encoder.texts):
        X[places[done : done + batch.num_rows]] = encoder.rows(batch)
        done += batch.num_rows
    if done != seen.n_rows:
        raise CommandError(f"{table.name} was changed while it was read.")
    return X
