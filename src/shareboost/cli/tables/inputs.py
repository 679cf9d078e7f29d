"""The columns of X, and the columns of a table that they are made from."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io.model_file import Levels, level_name
from ..errors import CommandError, listed, say


@dataclass(frozen=True)
class Inputs:
    """The columns of X.

    Attributes
    ----------
    names : sequence of str
        Their names, that of the table's column or, for one of text, ``column=level``.
    levels : list, optional
        For each column of X, the column of text and the text that it is 1 for, or None.
    """

    names: Sequence[str]
    levels: Levels | None = None

    @classmethod
    def of_table(cls, columns: dict[str, list[str] | None]) -> Inputs:
        """Return those of a table's columns, each with the texts that it holds, or None."""
        levels: Levels = []
        names = []
        for column, texts in columns.items():
            levels += [None] if texts is None else [(column, text) for text in texts]
            names += [column] if texts is None else [level_name(column, text) for text in texts]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise CommandError(f"Columns of text would make columns of one name: {listed(twice)}.")
        return cls(names, levels if any(levels) else None)

    @classmethod
    def of_model(cls, clf: Any) -> Inputs:
        """Return those of a fitted classifier."""
        return cls(list(clf.path_.input_names), getattr(clf, "levels_in_", None))

    def columns(self, used: Iterable[int]) -> dict[str, dict[str | None, int]]:
        """Return the table's columns that some columns of X are made from.

        For each its texts, or None for a number, and the column of X of each.
        """
        found: dict[str, dict[str | None, int]] = {}
        for place in used:
            pair = self.levels[place] if self.levels else None
            column, text = (self.names[place], None) if pair is None else pair
            found.setdefault(column, {})[text] = place
        return found


def columns_with_gaps(X: Any, inputs: Inputs | None) -> list[str]:
    """Return the names of the columns of X, dense or sparse, that have missing values."""
    sparse = hasattr(X, "indptr")
    values = X.data if sparse else X
    if values.dtype.kind != "f" or not np.isnan(values.sum()):
        return []
    missing = np.isnan(values)
    places = np.unique(X.indices[missing]) if sparse else np.flatnonzero(missing.any(axis=0))
    return [f"x{j}" if inputs is None else inputs.names[j] for j in places.tolist()]


def check_columns(needed: Iterable[str], there: Container[str], name: str) -> None:
    """Raise where a table has not all columns that are needed."""
    if missing := [column for column in needed if column not in there]:
        raise CommandError(
            f"{name} has not all columns that the model reads: {listed(missing, 20)} "
            f"{'is' if len(missing) == 1 else 'are'} missing."
        )


class Encoder:
    """Makes rows of X from blocks of a table.

    Parameters
    ----------
    inputs : Inputs
    used : list of int, optional
        The columns of X that are made, in that order, and no others. None: all of them.
    """

    def __init__(self, inputs: Inputs, used: list[int] | None = None):
        every = list(range(len(inputs.names)))
        made = every if used is None else used
        self.n_columns = len(made)
        self._known = {column: set(own) for column, own in inputs.columns(every).items()}
        place = {column: i for i, column in enumerate(made)}
        self._columns = {
            column: {text: place[j] for text, j in own.items()}
            for column, own in inputs.columns(made).items()
        }
        self._unknown: dict[str, tuple[int, str]] = {}  # rows, and a text

    @property
    def numbers(self) -> list[str]:
        """The table's columns of numbers that are needed."""
        return [column for column, places in self._columns.items() if None in places]

    @property
    def texts(self) -> list[str]:
        """The table's columns of text that are needed."""
        return [column for column, places in self._columns.items() if None not in places]

    def rows(self, batch: Any) -> NDArray[np.float64]:
        """Return the rows of X of a block, (n, columns that are made)."""
        X = np.zeros((batch.num_rows, self.n_columns))
        for column, places in self._columns.items():
            values = batch.column(column)
            if None in places:
                X[:, places[None]] = values.to_numpy(zero_copy_only=False)
            else:
                self._mark(X, column, values, places)
        return X

    def _mark(
        self, X: NDArray[np.float64], column: str, values: Any, places: dict[Any, int]
    ) -> None:
        """Set 1 in the column of X of each row's text."""
        encoded = values.fill_null("").dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        where = np.array([places.get(text, -1) for text in texts], dtype=np.intp)
        own = encoded.indices.to_numpy()
        rows = np.flatnonzero(where[own] >= 0)
        X[rows, where[own][rows]] = 1.0
        unknown = [k for k, text in enumerate(texts) if text and text not in self._known[column]]
        if unknown:
            count, text = self._unknown.get(column, (0, texts[unknown[0]]))
            self._unknown[column] = count + int(np.isin(own, unknown).sum()), text

    def tell_unknown(self, name: str) -> None:
        """Say which columns held texts that there is no column of X for."""
        for column, (count, text) in self._unknown.items():
            say(
                f"Warning: column {column!r} of {name} has {count} rows with texts that the model "
                f"does not know, {text!r} for one: they count as none of those it knows."
            )
