"""Tables with named columns, a block of rows at a time: CSV, TSV and Parquet, by pyarrow.

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
from typing import Any

from ...progress import BytesBar
from ..errors import CommandError, listed
from .libraries import pyarrow_for
from .sources import Source

# The longest row that can be read, unless the header is long; pyarrow holds several at a time.
BLOCK_BYTES = 2 << 20
NUMBER_BYTES = 32  # that a number may take, and its separator
# Numbers of a block of Parquet.
BLOCK_CELLS = 1 << 20
SEPARATORS = {"csv": ",", "tsv": "\t"}
COLUMNAR = (*SEPARATORS, "parquet")

_NOT_A_NUMBER = re.compile(r"In CSV column #(\d+): .*conversion error to \w+: invalid value '(.*)'")
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+): ?(.*)")


class NotNumbersError(CommandError):
    """A column of numbers holds text."""

    def __init__(self, column: str, value: str, name: str):
        self.column, self.value = column, value
        super().__init__(
            f"Column {column!r} of {name} holds {value[:40]!r}, and takes numbers alone."
        )


class Columnar:
    """A table of CSV, TSV or Parquet.

    Parameters
    ----------
    source : Source
        One that can be opened several times.
    """

    def __init__(self, source: Source):
        self.source = source
        self._arrow = pyarrow_for("CSV, TSV and Parquet files")
        self._block_bytes = BLOCK_BYTES

    def kinds(self) -> dict[str, bool]:
        """Return the names of the columns, and whether each holds text as far as its head tells."""
        if self.source.format == "parquet":
            with self._parquet() as file:
                schema = file.schema_arrow
        else:
            with self._rows({}) as (reader, _):
                schema = reader.schema
        with self._told():
            _check_names(schema.names, self.source.name)
            return {field.name: self._is_text(field.type) for field in schema}

    def blocks(
        self, numbers: Iterable[str], texts: Iterable[str], what: str = "reading"
    ) -> Iterator[Any]:
        """Yield record batches of these columns: doubles, NaN where missing, and strings.

        Raises
        ------
        NotNumbersError
            Where a column of numbers holds something else.
        """
        types = dict.fromkeys(numbers, self._arrow.float64())
        types |= dict.fromkeys(texts, self._arrow.string())
        if self.source.format == "parquet":
            yield from self._parquet_blocks(types)
            return
        with self._rows(types) as (reader, file):
            size = file.size()
            bar = BytesBar(what, size)
            while True:
                with self._told():
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        break
                bar.at(file.tell())
                yield batch
            bar.end(size)

    def n_bytes(self) -> int:
        """Return how many bytes the table takes, decompressed."""
        if self.source.format != "parquet":
            return self.source.size()
        with self._parquet() as file:
            return int(file.metadata.num_rows * file.metadata.num_columns * 8)

    @contextmanager
    def _rows(self, types: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Open the rows of a CSV file, and the file; without types the first block tells them."""
        csv, start = self._arrow.csv, self.source.head()
        _check_start(start, self.source.name, self.source.format)
        separator = SEPARATORS[self.source.format]
        header = start.partition(b"\n")[0]
        # A block holds the header and a row of numbers, however many columns there are.
        columns = header.count(separator.encode()) + 1
        self._block_bytes = max(BLOCK_BYTES, len(header) + NUMBER_BYTES * columns)
        with (
            self._told(),
            self._file(self.source.path) as file,
            csv.open_csv(
                self._decompressed(file),
                csv.ReadOptions(block_size=self._block_bytes),
                csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                csv.ConvertOptions(column_types=types, include_columns=list(types)),
            ) as reader,
        ):
            yield reader, file

    def _file(self, path: str) -> Any:
        """Open a file for pyarrow.

        Its threads read ahead, also after an error, and must not call Python: where they do when
        the interpreter ends, the process hangs or aborts.
        """
        return self._arrow.OSFile(os.fsencode(path), "rb")

    def _decompressed(self, file: Any) -> Any:
        compression = self.source.compression()
        return file if compression is None else self._arrow.CompressedInputStream(file, compression)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn pyarrow's errors into ones that name the column or the row."""
        name = self.source.name
        try:
            yield
        except self._arrow.ArrowInvalid as error:
            text = str(error)
            if found := _NOT_A_NUMBER.search(text):
                column = list(self.kinds())[int(found[1])]
                raise NotNumbersError(column, found[2], name) from None
            if found := _RAGGED.search(text):
                row = f"Row {found[1]}" if found[1] else f"The row {found[4][:40]!r}"
                raise CommandError(
                    f"{row} of {name} has {found[3]} values, and the header {found[2]} names."
                ) from None
            if "straddling" in text:
                raise CommandError(
                    f"{name} has a row of more than {self._block_bytes:,} bytes, or a quote that "
                    "is not closed: Parquet and NPZ take rows of any length."
                ) from None
            if "Empty CSV" in text:
                raise CommandError(
                    f"{name} has no complete line. It takes a header and rows, each with a line "
                    "end, and every quote closed."
                ) from None
            raise CommandError(f"{name} cannot be read: {text}") from None
        except OSError as error:
            if self.source.compression() is None:  # the disk's own error
                raise
            raise CommandError(f"{name} is compressed and damaged: {error}.") from None
        except UnicodeDecodeError as error:
            raise CommandError(f"{name} is not in UTF-8: {error}.") from None

    def _parquet_blocks(self, types: dict[str, Any]) -> Iterator[Any]:
        rows = max(1, BLOCK_CELLS // max(1, len(types)))
        with self._parquet() as file:
            for batch in file.iter_batches(batch_size=rows, columns=list(types)):
                found = {name: self._cast(batch, name, types[name]) for name in types}
                yield self._arrow.record_batch(found)

    def _cast(self, batch: Any, name: str, type_: Any) -> Any:
        column = batch.column(batch.schema.get_field_index(name))
        try:
            return column.cast(type_, safe=False)
        except (self._arrow.ArrowInvalid, self._arrow.ArrowNotImplementedError):
            raise NotNumbersError(name, str(column[0]), self.source.name) from None

    @contextmanager
    def _parquet(self) -> Iterator[Any]:
        with self.source.seekable() as plain, self._file(plain.name) as file:
            try:
                yield self._arrow.parquet.ParquetFile(file)
            except (self._arrow.ArrowException, OSError) as error:
                raise CommandError(f"{self.source.name} is no Parquet file: {error}") from None

    def _is_text(self, type_: Any) -> bool:
        """Return whether a column of that type is no column of numbers."""
        types = self._arrow.types
        number = types.is_integer(type_) or types.is_floating(type_) or types.is_null(type_)
        if self.source.format == "parquet":  # where true and false are no texts
            number = number or types.is_boolean(type_) or types.is_decimal(type_)
        return not number


def _check_start(start: bytes, name: str, format_: str) -> None:
    """Raise for the first bytes of a file that is no table of text."""
    if not start.strip():
        raise CommandError(f"{name} is empty: {format_.upper()} takes a header and rows.")
    if b"\0" in start:
        raise CommandError(f"{name} is a binary file, and no {format_.upper()}: see --format.")


def _check_names(names: list[str], name: str) -> None:
    """Raise for names that come twice."""
    if twice := [column for column, count in Counter(names).items() if count > 1]:
        raise CommandError(f"{name} has columns of the same name: {listed(twice)}.")
