"""Rows of a table in a file: to train on, to measure a model on, to predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io.model_file import MOST_INPUTS
from ..errors import CommandError, listed
from .columnar import COLUMNAR, Columnar, NotNumbersError, filled, survey
from .encoding import (
    Encoder,
    Inputs,
    check_columns,
    check_labels,
    columns_with_gaps,
    distinct,
    labels_among,
    labels_of,
)
from .sources import Matrix, Source, imported, read_matrix

BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Asked:
    """What is asked of a table to train on."""

    target: str | None  # the column of the classes
    levels: int | None = None  # the most texts of a column, each a column of X; None: no texts
    drop: tuple[str, ...] = ()  # columns to leave out
    holdout: float | None = None  # the share of the rows to hold out
    seed: int = 0


@dataclass
class Training:
    """Rows to train on, where X is an array or a sparse matrix, and rows held out, (X, y)."""

    X: Any
    y: NDArray[Any]
    held_out: tuple[Any, NDArray[Any]] | None
    inputs: Inputs | None  # the columns of X, where the table names them
    with_gaps: list[str]  # columns with missing values


def named(X: Any, inputs: Inputs | None) -> Any:
    """Return an array as a frame, without a copy, where its columns have names."""
    if inputs is None:
        return X
    pandas = imported("pandas", "Tables with names need pandas")
    return pandas.DataFrame(X, columns=list(inputs.names), copy=False)


def read_training(source: Source, asked: Asked) -> Training:
    """Return the rows of a file to train on, and those held out, by class and at random."""
    with source.plain() as path:
        if source.format in COLUMNAR:
            return _from_columns(Columnar(source, path), asked)
        return _from_matrix(source, path, asked)


def _from_columns(table: Columnar, asked: Asked) -> Training:
    name = table.name
    kinds = table.kinds()
    columns = list(kinds)
    if asked.target is None:
        raise CommandError(
            f"--target takes the column of {name} with the classes: {listed(columns)}."
        )
    for option, wanted in (("--target", (asked.target,)), ("--drop", asked.drop)):
        if missing := [column for column in wanted if column not in kinds]:
            separators = len(columns) == 1 and {";", "\t"} & set(columns[0])
            hint = ": CSV is separated by commas, and --format tsv by tabs" if separators else ""
            told = f"{option}: {name} has no column {listed(missing)}"
            raise CommandError(f"{told}. It has {listed(columns)}{hint}.")
    for column in (asked.target, *asked.drop):
        kinds.pop(column, None)
    if "" in kinds:
        told = f"Column {columns.index('') + 1} of {name} has no name in the header"
        raise CommandError(f"{told}: pandas writes its index so unless index=False.")
    if not kinds:
        raise CommandError(f"{name} has no column beside {asked.target!r} to learn from.")
    seen = None
    while seen is None:
        try:
            seen = survey(table, kinds, asked.target, asked.levels)
        except NotNumbersError as error:  # rarely: the first block has told of most texts
            kinds[error.column] = True
    inputs = Inputs.of_table({c: sorted(seen.texts[c]) if kinds[c] else None for c in kinds})
    texts, places = distinct(seen.targets)
    y = labels_of(texts, asked.target, name)[places]
    order, n_train = _order(y, asked)
    X = filled(table, seen, Encoder(inputs, None, kinds, name), np.argsort(order))
    y = y[order]
    gaps = [column for column in seen.numbers if column in seen.gaps]
    held_out = None if asked.holdout is None else (X[n_train:], y[n_train:])
    return Training(X[:n_train], y[:n_train], held_out, inputs, gaps)


def _from_matrix(source: Source, path: str, asked: Asked) -> Training:
    if asked.drop:
        raise CommandError(f"--drop takes columns of CSV, TSV and Parquet, not of {source.name}.")
    X, labels, names = read_matrix(source, path, asked.target, "train")
    y = np.asarray(labels)
    if X.shape[1] > MOST_INPUTS:
        told = (
            f"{source.name} has {X.shape[1]:,} columns, and a model takes at most {MOST_INPUTS:,}"
        )
        raise CommandError(f"{told}: number the indices of an svmlight file without large gaps.")
    check_labels([str(label) for label in np.unique(y)], asked.target or "y", source.name)
    inputs = None if names is None else Inputs(names)
    gaps = columns_with_gaps(X, inputs)
    if asked.holdout is None:
        return Training(X, y, None, inputs, gaps)
    order, n_train = _order(y, asked)
    train, held_out = order[:n_train], order[n_train:]
    return Training(X[train], y[train], (X[held_out], y[held_out]), inputs, gaps)


def _order(y: NDArray[Any], asked: Asked) -> tuple[NDArray[np.intp], int]:
    """Return the rows to train on, then those held out, and how many the first are."""
    rows = np.arange(len(y))
    if asked.holdout is None:
        return rows, len(y)
    from sklearn.model_selection import train_test_split

    try:
        train, held_out = train_test_split(
            rows, test_size=asked.holdout, stratify=y, random_state=asked.seed
        )
    except ValueError as error:
        told = f"--holdout {asked.holdout:g} does not fit {len(y)} rows: {error}"
        raise CommandError(told) from None
    return np.r_[np.sort(train), np.sort(held_out)], len(train)


def read_labelled(
    source: Source, target: str | None, inputs: Inputs | None, n: int, classes: NDArray[Any]
) -> tuple[Any, NDArray[Any]]:
    """Return X and y of a table, with the n columns, perhaps named, and classes of another."""
    with source.plain() as path:
        if source.format not in COLUMNAR:
            matrix = read_matrix(source, path, target, "test")
            X = _in_order(matrix, inputs, n, source.name)
            labels, places = np.unique(np.asarray(matrix.y), return_inverse=True)
            texts = [str(label) for label in labels]
            return X, labels_among(texts, classes, target or "y", source.name)[places]
        if target is None:
            raise CommandError(f"--target takes the column of {source.name} with the classes.")
        table = Columnar(source, path)
        columns = table.kinds()
        encoder = Encoder(inputs or Inputs.numbered(n), None, columns, table.name)
        if target not in columns:
            raise CommandError(f"{table.name} has no column {target!r}.")
        seen = survey(table, dict.fromkeys(encoder.numbers, False), target, levels=None)
        texts, places = distinct(seen.targets)
        y = labels_among(texts, classes, target, table.name)[places]
        X = filled(table, seen, encoder, np.arange(seen.n_rows))
        encoder.tell_unknown()
        return X, y


def blocks_for(clf: Any, source: Source) -> Iterator[Any]:
    """Yield rows of X for a fitted classifier, some at a time, from a table.

    Columns are matched by name; others than it reads are left out. The blocks are frames of these
    columns, which the classifier finds by name, or where it was trained on columns without names
    arrays of all columns, the others 0.
    """
    inputs, used = Inputs.of_model(clf), clf.columns_.tolist()
    n, has_names = clf.n_features_in_, hasattr(clf, "feature_names_in_")
    with source.plain() as path:
        if source.format in COLUMNAR:
            table = Columnar(source, path)
            blocks: Iterator[Any] = _columnar_blocks(table, inputs, used)
        else:
            matrix = read_matrix(source, path, None, "test", labelled=False)
            by_name = has_names or matrix.names is not None
            used = used if by_name else list(range(n))
            X = _in_order(matrix, inputs if by_name else None, n, source.name, used)
            blocks = (X[start : start + BLOCK_ROWS] for start in range(0, X.shape[0], BLOCK_ROWS))
        read = Inputs([inputs.names[j] for j in used])
        for X in blocks:
            if not clf.path_.features.allows_nan and (gaps := columns_with_gaps(X, read)):
                told = f"Columns {listed(gaps)} of {source.name} have missing values"
                raise CommandError(f"{told}, which only models of --pool stumps take.")
            if has_names and used:
                yield named(X, read)
                continue
            if X.shape[1] < n:
                whole = np.zeros((X.shape[0], n), dtype=X.dtype)
                whole[:, used] = X
                X = whole
            yield named(X, inputs if has_names else None)


def _columnar_blocks(table: Columnar, inputs: Inputs, used: list[int]) -> Iterator[Any]:
    """Yield blocks of some columns of X."""
    columns = table.kinds()
    encoder = Encoder(inputs, used, columns, table.name)
    # For a model of no column all that counts is how many rows there are.
    texts = encoder.texts if used else [next(iter(columns))]
    for batch in table.blocks(encoder.numbers, texts, "predicting"):
        yield encoder.rows(batch)
    encoder.tell_unknown()


def _in_order(
    matrix: Matrix, inputs: Inputs | None, n: int, name: str, used: list[int] | None = None
) -> Any:
    """Return a matrix with n columns, or by name with those that are used, in their order."""
    X = matrix.X
    if inputs is not None and matrix.names is not None:
        where = {column: j for j, column in enumerate(matrix.names)}
        names = [inputs.names[j] for j in (range(n) if used is None else used)]
        check_columns(names, where, name)
        return X[:, [where[column] for column in names]]
    if inputs is not None:
        told = f"{name} has no names of columns, and the model was trained on named ones"
        raise CommandError(f"{told}: an NPZ file takes them in an array names.")
    if hasattr(X, "indptr"):  # indices beyond are left out, missing ones are 0
        X.resize((X.shape[0], n))
    elif X.shape[1] != n:
        raise CommandError(f"{name} has {X.shape[1]} columns, and the model takes {n}.")
    return X
