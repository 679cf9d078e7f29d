"""A first pass over a table: how many rows, which columns hold text, of what range numbers are.

The second pass then writes every value to its place in a matrix that is as narrow as it may be,
so that nothing is held twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CommandError, listed
from .columnar import Columnar, NotNumbersError
from .inputs import Encoder, Inputs
from .labels import LabelTexts

# Narrow enough for a CSV file of one digit a value.
INTEGERS = [np.dtype(kind) for kind in ("int8", "uint8", "int16", "uint16", "int32")]
# Doubles take at most so many times the bytes of the file; singles where they would take more.
MOST_FOR_DOUBLES = 2


@dataclass
class Numbers:
    """What a column of numbers holds."""

    low: float = np.inf
    high: float = -np.inf
    whole: bool = True
    gaps: bool = False

    def add(self, values: NDArray[np.float64]) -> None:
        """Take note of some values."""
        low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        if np.isnan(low):
            self.gaps = True
            values = values[~np.isnan(values)]
            low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
        if self.whole:
            self.whole = bool((np.rint(values) == values).all())


@dataclass
class Survey:
    """What a table holds.

    Attributes
    ----------
    numbers : dict
        Of the columns of numbers.
    texts : dict
        The different texts of the columns of text.
    labels : LabelTexts
        Of the target.
    n_rows : int
    """

    numbers: dict[str, Numbers] = field(default_factory=dict)
    texts: dict[str, set[str]] = field(default_factory=dict)
    labels: LabelTexts = field(default_factory=LabelTexts)
    n_rows: int = 0

    def inputs(self, order: list[str]) -> Inputs:
        """Return the columns of X, in the order of the table."""
        return Inputs.of_table(
            {c: sorted(self.texts[c]) if c in self.texts else None for c in order}
        )

    @property
    def with_gaps(self) -> list[str]:
        """The columns of numbers with missing values."""
        return [column for column, numbers in self.numbers.items() if numbers.gaps]

    def dtype(self, n_columns: int, table: Columnar) -> np.dtype[Any]:
        """Return the type of X: integers where all are whole, else floats."""
        found = self.numbers.values()
        if all(numbers.whole and not numbers.gaps for numbers in found):
            low = min((numbers.low for numbers in found), default=0.0)
            high = max((numbers.high for numbers in found), default=0.0)
            for kind in INTEGERS:
                if np.iinfo(kind).min <= min(low, 0.0) and max(high, 1.0) <= np.iinfo(kind).max:
                    return kind
        doubles = 8 * self.n_rows * n_columns
        return np.dtype(np.float64 if doubles <= MOST_FOR_DOUBLES * table.n_bytes() else np.float32)


@dataclass(frozen=True)
class TextChoice:
    """What is done with columns of text: an error, or a column of X for each text."""

    one_hot: bool = False
    most_levels: int = 50

    def refuse(self, columns: list[str], name: str) -> CommandError:
        """Return the error of columns of text where there may be none."""
        which = (
            f"Column {listed(columns)} of {name} holds"
            if len(columns) == 1
            else (f"Columns {listed(columns)} of {name} hold")
        )
        return CommandError(
            f"{which} text. Choose: --text one-hot makes a feature of each text (up to "
            f"{self.most_levels}, see --levels), --drop COLUMN leaves a column out."
        )


def survey(table: Columnar, kinds: dict[str, bool], target: str, choice: TextChoice) -> Survey:
    """Read a table once; ``kinds`` tells which columns hold text, and learns of more.

    A column that turns out to hold text begins the pass anew, which is rare: the first block
    has told most of them.
    """
    while True:
        texts = [column for column, text in kinds.items() if text]
        if texts and not choice.one_hot:
            raise choice.refuse(texts, table.source.name)
        try:
            return _pass(table, kinds, target, choice)
        except NotNumbersError as error:
            kinds[error.column] = True


def survey_known(table: Columnar, encoder: Encoder, target: str) -> Survey:
    """Read a table once whose columns are known; texts are not gathered, they become 0 and 1.

    Raises
    ------
    NotNumbersError
        Where a column of numbers holds text.
    """
    return _pass(table, dict.fromkeys(encoder.numbers, False), target, TextChoice())


def filled(
    table: Columnar, found: Survey, encoder: Encoder, places: NDArray[np.intp]
) -> NDArray[Any]:
    """Return X of a table that was surveyed, each row at its place."""
    X = np.empty((found.n_rows, encoder.n_columns), dtype=found.dtype(encoder.n_columns, table))
    done = 0
    for batch in table.blocks(encoder.numbers, encoder.texts):
        X[places[done : done + batch.num_rows]] = encoder.rows(batch)
        done += batch.num_rows
    if done != found.n_rows:
        raise CommandError(f"{table.source.name} was changed while it was read.")
    return X


def _pass(table: Columnar, kinds: dict[str, bool], target: str, choice: TextChoice) -> Survey:
    found = Survey(
        {column: Numbers() for column, text in kinds.items() if not text},
        {column: set() for column, text in kinds.items() if text},
    )
    for batch in table.blocks(found.numbers, [*found.texts, target], "looking at the columns"):
        found.n_rows += batch.num_rows
        found.labels.add(batch.column(target))
        for column, numbers in found.numbers.items():
            numbers.add(batch.column(column).to_numpy(zero_copy_only=False))
        for column, texts in found.texts.items():
            texts.update(filter(None, batch.column(column).unique().to_pylist()))
            if len(texts) > choice.most_levels:
                raise CommandError(
                    f"Column {column!r} of {table.source.name} has more than "
                    f"{choice.most_levels} different texts: --levels allows more, --drop "
                    f"{column} leaves it out."
                )
    if not found.n_rows:
        raise CommandError(f"{table.source.name} has a header and no rows.")
    _check_finite(found, table.source.name)
    return found


def _check_finite(found: Survey, name: str) -> None:
    infinite = [
        c for c, n in found.numbers.items() if np.isinf([n.low, n.high]).any() and n.low <= n.high
    ]
    if infinite:
        raise CommandError(f"Columns {listed(infinite)} of {name} hold infinite numbers.")
