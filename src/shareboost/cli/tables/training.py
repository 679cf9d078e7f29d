"""The rows to train on, and those held out, from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io.model_file import MOST_INPUTS
from ..errors import CommandError, listed
from .columnar import COLUMNAR, Columnar
from .inputs import Encoder, Inputs, columns_with_gaps
from .labels import check_labels
from .libraries import pandas_for_names
from .matrices import TRAINING, read_matrix
from .sources import Source
from .survey import TextChoice, filled, survey


@dataclass(frozen=True)
class Asked:
    """What is asked of a table to train on."""

    target: str | None
    text: TextChoice
    drop: tuple[str, ...] = ()
    holdout: float | None = None
    seed: int = 0


@dataclass
class Training:
    """Rows to train on and rows held out.

    Attributes
    ----------
    X, y
        The rows to train on: an array or a sparse matrix.
    held_out : tuple (X, y), optional
    inputs : Inputs, optional
        The columns of X, where the table names them.
    with_gaps : list of str
        Columns with missing values.
    """

    X: Any
    y: NDArray[Any]
    held_out: tuple[Any, NDArray[Any]] | None
    inputs: Inputs | None
    with_gaps: list[str]

    def named(self, X: Any) -> Any:
        """Return X, as a frame that holds no copy where its columns have names."""
        return X if self.inputs is None else named(X, self.inputs)


def named(X: NDArray[Any], inputs: Inputs) -> Any:
    """Return an array as a frame with names of columns, without a copy."""
    return pandas_for_names().DataFrame(X, columns=list(inputs.names), copy=False)


def read_training(source: Source, asked: Asked) -> Training:
    """Return the rows of a file to train on, and those held out, by class and at random."""
    with source.again() as opened:
        if opened.format in COLUMNAR:
            return _from_columns(Columnar(opened), asked)
        return _from_matrix(opened, asked)


def _from_columns(table: Columnar, asked: Asked) -> Training:
    name = table.source.name
    kinds = table.kinds()
    if asked.target is None:
        raise CommandError(
            f"--target takes the column of {name} that holds the classes, one of "
            f"{listed(list(kinds))}."
        )
    for option, columns in (("--target", [asked.target]), ("--drop", asked.drop)):
        if missing := [column for column in columns if column not in kinds]:
            raise CommandError(
                f"{option} names {listed(missing)}, which {name} has not. It has "
                f"{listed(list(kinds))}{_separator_hint(list(kinds))}."
            )
    place = {column: number for number, column in enumerate(kinds, 1)}
    for column in (asked.target, *asked.drop):
        kinds.pop(column, None)
    if "" in kinds:
        raise CommandError(
            f"Column {place['']} of {name} has no name in the header: give it a name, or leave it "
            "out of the file (pandas writes its index so unless index=False)."
        )
    if not kinds:
        raise CommandError(f"{name} has no column beside {asked.target!r} to learn from.")
    found = survey(table, kinds, asked.target, asked.text)
    inputs = found.inputs(list(kinds))
    y = found.labels.labels(asked.target, name)
    places, n_train = _places(y, asked)
    X = filled(table, found, Encoder(inputs), places)
    labels = np.empty_like(y)
    labels[places] = y
    held_out = None if asked.holdout is None else (X[n_train:], labels[n_train:])
    return Training(X[:n_train], labels[:n_train], held_out, inputs, found.with_gaps)


def _separator_hint(names: list[str]) -> str:
    """Return what to do about a header that is one name because of its separators."""
    if len(names) > 1 or not {";", "\t"} & set(names[0]):
        return ""
    return ": CSV is separated by commas, and --format tsv by tabs"


def _from_matrix(source: Source, asked: Asked) -> Training:
    if asked.drop:
        raise CommandError(f"--drop takes columns of CSV, TSV and Parquet, not of {source.name}.")
    X, y, names = read_matrix(source, asked.target, TRAINING)
    if y is None:
        raise CommandError(f"{source.name} has no labels.")
    if X.shape[1] > MOST_INPUTS:
        raise CommandError(
            f"{source.name} has {X.shape[1]:,} columns, and a model takes at most "
            f"{MOST_INPUTS:,}: number the indices of an svmlight file without large gaps."
        )
    check_labels([str(label) for label in np.unique(y)], asked.target or "y", source.name)
    inputs = None if names is None else Inputs(names)
    gaps = columns_with_gaps(X, inputs)
    if asked.holdout is None:
        return Training(X, y, None, inputs, gaps)
    places, n_train = _places(y, asked)
    order = np.argsort(places)
    train, held_out = order[:n_train], order[n_train:]
    return Training(X[train], y[train], (X[held_out], y[held_out]), inputs, gaps)


def _places(y: NDArray[Any], asked: Asked) -> tuple[NDArray[np.intp], int]:
    """Return the place of each row, those held out behind the others, and the number of these."""
    n = len(y)
    if asked.holdout is None:
        return np.arange(n), n
    from sklearn.model_selection import train_test_split

    try:
        train, held_out = train_test_split(
            np.arange(n), test_size=asked.holdout, stratify=y, random_state=asked.seed
        )
    except ValueError as error:
        raise CommandError(f"--holdout {asked.holdout:g} does not fit {n} rows: {error}") from None
    places = np.empty(n, dtype=np.intp)
    places[np.sort(train)] = np.arange(len(train))
    places[np.sort(held_out)] = np.arange(len(train), n)
    return places, len(train)
