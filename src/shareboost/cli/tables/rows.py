"""Rows of a table in a file: to train on, to measure a model on, to predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input_columns import NumberedNames
from ...io.model_file import MOST_INPUTS
from ..errors import CommandError, listed
from .columnar import COLUMNAR, Columnar, filled, survey
from .encoding import Encoder, Inputs, check_gaps, distinct, labels_among, labels_of
from .sources import Source, imported, read_matrix

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
    inputs: Inputs


def named(X: Any, inputs: Inputs) -> Any:
    """Return an array as a frame, without a copy, where its columns have names."""
    if not inputs.is_named:
        return X
    return imported("pandas").DataFrame(X, columns=list(inputs.names), copy=False)


def read_training(source: Source, asked: Asked) -> Training:
    """Return the rows of a file to train on, and those held out, by class and at random."""
    with source.plain() as path:
        if source.format in COLUMNAR:
            return _from_columns(Columnar(source, path), asked)
        return _from_matrix(source, path, asked)


def _from_columns(table: Columnar, asked: Asked) -> Training:
    name, kinds = table.name, table.kinds()
    columns = list(kinds)
    if asked.target is None:
        told = f"--target takes the column of {name} with the classes"
        raise CommandError(f"{told}: {listed(columns)}.")
    for option, wanted in (("--target", (asked.target,)), ("--drop", asked.drop)):
        if missing := [column for column in wanted if column not in columns]:
            told = f"{option}: {name} has no column {listed(missing)}"
            raise CommandError(f"{told}. It has {listed(columns)}.")
        for column in wanted:
            kinds.pop(column, None)
    if "" in kinds:
        told = f"Column {columns.index('') + 1} of {name} has no name in the header"
        raise CommandError(f"{told}: pandas writes its index so unless index=False.")
    if not kinds:
        raise CommandError(f"{name} has no column beside {asked.target!r} to learn from.")
    seen = survey(table, kinds, asked.target, asked.levels)
    inputs = Inputs.of_table({c: sorted(seen.texts[c]) if kinds[c] else None for c in kinds})
    texts, places = distinct(seen.targets)
    y = labels_of(texts, asked.target, name)[places]
    order, n_train = _order(y, asked)
    X = filled(table, seen, Encoder(inputs, None, kinds, name), np.argsort(order))
    y = y[order]
    held_out = None if asked.holdout is None else (X[n_train:], y[n_train:])
    return Training(X[:n_train], y[:n_train], held_out, inputs)


def _from_matrix(source: Source, path: str, asked: Asked) -> Training:
    if asked.drop:
        raise CommandError(f"--drop takes columns of CSV, TSV and Parquet, not of {source.name}.")
    X, y = _labelled_matrix(source, path, asked.target, "train")
    if X.shape[1] > MOST_INPUTS:
        told = (
            f"{source.name} has {X.shape[1]:,} columns, and a model takes at most {MOST_INPUTS:,}"
        )
        raise CommandError(f"{told}: number the indices of an svmlight file without large gaps.")
    inputs = Inputs(NumberedNames(X.shape[1]), is_named=False)
    if asked.holdout is None:
        return Training(X, y, None, inputs)
    order, n_train = _order(y, asked)
    train, held_out = order[:n_train], order[n_train:]
    return Training(X[train], y[train], (X[held_out], y[held_out]), inputs)


def _labelled_matrix(
    source: Source, path: str, target: str | None, part: str
) -> tuple[Any, NDArray[Any]]:
    """Return the matrix of a file and the labels of its rows."""
    if target is not None:
        told = f"--target takes a column of CSV, TSV and Parquet, and {source.name} is none of them"
        raise CommandError(f"{told}: omit it.")
    X, y = read_matrix(source, path, part)
    if y is None:
        raise CommandError(f"{source.name} has X and no array y with the labels of its rows.")
    return X, y


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
    source: Source, target: str | None, inputs: Inputs, classes: NDArray[Any]
) -> tuple[Any, NDArray[Any]]:
    """Return X and y of a table, with the columns and classes of another."""
    with source.plain() as path:
        if source.format not in COLUMNAR:
            X, y = _labelled_matrix(source, path, target, "test")
            labels, places = np.unique(y, return_inverse=True)
            texts = [str(label) for label in labels]
            y = labels_among(texts, classes, "y", source.name)[places]
            return _of_width(X, inputs, source.name), y
        if target is None:
            raise CommandError(f"--target takes the column of {source.name} with the classes.")
        table = Columnar(source, path)
        columns = table.kinds()
        encoder = Encoder(inputs, None, columns, table.name)
        if target not in columns:
            raise CommandError(f"{table.name} has no column {target!r}.")
        seen = survey(table, dict.fromkeys(encoder.numbers, False), target, levels=None)
        texts, places = distinct(seen.targets)
        y = labels_among(texts, classes, target, table.name)[places]
        return filled(table, seen, encoder, np.arange(seen.n_rows)), y


def blocks_for(clf: Any, source: Source) -> Iterator[Any]:
    """Yield rows of X for a fitted classifier, some at a time, from a table.

    Columns are matched by name; others than it reads are left out. The blocks are frames of these
    columns, which the classifier finds by name, or where it was trained on columns without names
    arrays of all columns, the others 0.
    """
    inputs, used = Inputs.of_model(clf), clf.columns_.tolist()
    with source.plain() as path:
        if source.format in COLUMNAR:
            blocks = _columnar_blocks(Columnar(source, path), inputs, used)
            read = Inputs([inputs.names[j] for j in used])
        else:
            X = _of_width(read_matrix(source, path, "test")[0], inputs, source.name)
            blocks = (X[start : start + BLOCK_ROWS] for start in range(0, X.shape[0], BLOCK_ROWS))
            read = inputs
        for X in blocks:
            if not clf.path_.features.allows_nan:
                check_gaps(X, read, source.name)
            if inputs.is_named and used:
                yield named(X, read)
                continue
            if X.shape[1] < clf.n_features_in_:
                whole = np.zeros((X.shape[0], clf.n_features_in_), dtype=X.dtype)
                whole[:, used] = X
                X = whole
            yield named(X, inputs)


def _columnar_blocks(table: Columnar, inputs: Inputs, used: list[int]) -> Iterator[Any]:
    """Yield blocks of some columns of X."""
    columns = table.kinds()
    encoder = Encoder(inputs, used, columns, table.name)
    # For a model of no column all that counts is how many rows there are.
    texts = encoder.texts if used else [next(iter(columns))]
    for batch in table.blocks(encoder.numbers, texts, "predicting"):
        yield encoder.rows(batch)


def _of_width(X: Any, inputs: Inputs, name: str) -> Any:
    """Return a matrix with as many columns as a model takes; those of a sparse one may differ."""
    if inputs.is_named:
        told = f"{name} has no names of columns, and the model was trained on named ones"
        raise CommandError(f"{told}: it takes a table of CSV, TSV or Parquet.")
    n = len(inputs.names)
    if hasattr(X, "indptr"):  # indices beyond are left out, missing ones are 0
        X.resize((X.shape[0], n))
    elif X.shape[1] != n:
        raise CommandError(f"{name} has {X.shape[1]} columns, and the model takes {n}.")
    return X
