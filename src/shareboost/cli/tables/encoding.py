"""From the numbers and texts of a table to the columns of X and the labels."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io.model_file import Levels, level_name
from ..errors import CommandError, listed, say
from .sources import imported

# A whole number of up to 15 digits. Codes such as 007 are texts.
_WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d{0,14}))(?:\.0*)?", re.ASCII)


@dataclass(frozen=True)
class Inputs:
    """The columns of X."""

    names: Sequence[str]  # that of the table's column or, for one of text, ``column=level``
    levels: Levels | None = None  # perhaps the column of text and the text that each is 1 for
    is_named: bool = True  # else the names are numbers alone

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
        levels, is_named = getattr(clf, "levels_in_", None), hasattr(clf, "feature_names_in_")
        return cls(clf.path_.input_names, levels, is_named)

    def columns(self, used: Iterable[int] | None = None) -> dict[str, dict[str | None, int]]:
        """Return the table's columns that some columns of X, or all, are made from.

        For each, its texts, or None for a number, and which of the columns of X each makes.
        """
        columns: dict[str, dict[str | None, int]] = {}
        for i, j in enumerate(range(len(self.names)) if used is None else used):
            pair = self.levels[j] if self.levels else None
            column, text = (self.names[j], None) if pair is None else pair
            columns.setdefault(column, {})[text] = i
        return columns


def check_gaps(X: Any, inputs: Inputs, name: str) -> None:
    """Raise where columns of X, dense or sparse, have missing values."""
    sparse = hasattr(X, "indptr")
    values = X.data if sparse else X
    if values.dtype.kind != "f" or not np.isnan(values.sum()):
        return
    missing = np.isnan(values)
    columns = np.unique(X.indices[missing]) if sparse else np.flatnonzero(missing.any(axis=0))
    told = f"Columns {listed([inputs.names[j] for j in columns.tolist()])} of {name}"
    raise CommandError(f"{told} have missing values, which only --pool stumps takes.")


class Encoder:
    """Makes rows of X from blocks of a table, which has the columns ``there``.

    ``used`` are the columns of X that are made, in that order, and no others; None for all.
    """

    def __init__(self, inputs: Inputs, used: list[int] | None, there: Container[str], name: str):
        self._columns, self._name = inputs.columns(used), name
        if missing := [column for column in self._columns if column not in there]:
            told = f"{name} lacks columns that the model reads"
            raise CommandError(f"{told}: {listed(missing, 20)}.")
        self.n_columns = sum(map(len, self._columns.values()))
        self.numbers = [column for column, made in self._columns.items() if None in made]
        self.texts = [column for column, made in self._columns.items() if None not in made]
        self._known = inputs.columns()
        self._told: set[str] = set()  # columns of which it was said that they have unknown texts

    def rows(self, batch: Any) -> NDArray[np.float64]:
        """Return the rows of X of a block, (n, columns that are made)."""
        X = np.zeros((batch.num_rows, self.n_columns))
        for column, made in self._columns.items():
            values = batch.column(column)
            if None in made:
                X[:, made[None]] = values.to_numpy(zero_copy_only=False)
                continue
            texts, codes = distinct([values.fill_null("").dictionary_encode()])
            columns = np.array([made.get(text, -1) for text in texts], dtype=np.intp)[codes]
            rows = np.flatnonzero(columns >= 0)
            X[rows, columns[rows]] = 1.0
            unknown = [text for text in texts if text and text not in self._known[column]]
            if unknown and column not in self._told:
                self._told.add(column)
                say(
                    f"Warning: column {column!r} of {self._name} has texts that the model does not "
                    f"know, {unknown[0]!r} for one: they count as none of those it knows."
                )
        return X


def distinct(blocks: list[Any]) -> tuple[list[str], NDArray[Any]]:
    """Return the different texts of dictionary-encoded blocks, and each row's place among them."""
    column = imported("pyarrow").chunked_array(blocks).unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    return column.chunk(0).dictionary.to_pylist(), codes


def labels_of(texts: Sequence[str], target: str, name: str) -> NDArray[Any]:
    """Return texts as labels: integers where all are whole numbers, else as they are."""
    if "" in texts:
        raise CommandError(f"The target {target!r} of {name} has rows without a label.")
    whole = [_WHOLE.fullmatch(text) for text in texts]
    if all(whole):
        return np.array([int(match[1]) for match in whole if match])
    numbers = [number_of(text) for text in texts]
    if None not in numbers and (rest := [n for n in numbers if n and not n.is_integer()]):
        told = f"The target {target!r} holds numbers that are not whole, for instance {rest[0]}"
        raise CommandError(f"{told}: a classifier takes labels of classes.")
    return np.array(texts, dtype=object)


def labels_among(texts: list[str], classes: NDArray[Any], target: str, name: str) -> NDArray[Any]:
    """Return texts as those labels of a trained model that they stand for."""
    known = {_plain(str(label)): label for label in classes}
    if unknown := [text for text in map(_plain, texts) if text not in known]:
        told = f"The target {target!r} of {name} has labels that the training had not"
        raise CommandError(f"{told}: {listed(unknown)}.")
    return np.array([known[_plain(text)] for text in texts], dtype=classes.dtype)


def _plain(label: str) -> str:
    """Return a whole number in its plain form, another label as it is."""
    match = _WHOLE.fullmatch(label)
    return label if match is None else str(int(match[1]))


def number_of(text: str) -> float | None:
    """Return the number that a text is, or None."""
    try:
        return float(text)
    except ValueError:
        return None
