"""Rows for a model that is trained, from a file: its columns, matched by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CommandError, listed
from .columnar import COLUMNAR, Columnar
from .inputs import Encoder, Inputs, check_columns, columns_with_gaps
from .labels import text_of
from .matrices import OTHERS, Matrix, read_matrix, with_columns
from .sources import Source
from .survey import filled, survey_known
from .training import named

BLOCK_ROWS = 8192


def blocks_for(clf: Any, source: Source) -> Iterator[Any]:
    """Yield rows of X for a fitted classifier, some at a time, from a table.

    Columns are matched by name; others than it reads are left out. The blocks are frames of these
    columns, which the classifier finds by name, or where it was trained on columns without names
    arrays of all columns, the others 0.
    """
    inputs, needed = Inputs.of_model(clf), clf.columns_.tolist()
    has_names = hasattr(clf, "feature_names_in_")
    with source.again() as opened:
        if opened.format in COLUMNAR:
            blocks: Iterator[Any] = _columnar_blocks(Columnar(opened), inputs, needed)
        else:
            matrix = read_matrix(opened, None, OTHERS, labelled=False)
            own = inputs if has_names or matrix.names is not None else None
            X = in_order(matrix, own, clf.n_features_in_, source.name, needed)
            needed = list(range(clf.n_features_in_)) if own is None else needed
            blocks = (X[start : start + BLOCK_ROWS] for start in range(0, X.shape[0], BLOCK_ROWS))
        read = Inputs([inputs.names[j] for j in needed])
        for X in blocks:
            _check_gaps(X, read, clf, source.name)
            if has_names and needed:
                yield named(X, read)
            else:
                X = _among_all(X, needed, clf.n_features_in_)
                yield named(X, inputs) if has_names else X


def _among_all(X: Any, columns: list[int], n: int) -> Any:
    """Return rows of n columns that have those columns, and 0 in the others."""
    if X.shape[1] == n:
        return X
    found = np.zeros((X.shape[0], n), dtype=X.dtype)
    found[:, columns] = X
    return found


def read_labelled(
    source: Source, target: str | None, inputs: Inputs | None, n: int, classes: NDArray[Any]
) -> tuple[Any, NDArray[Any]]:
    """Return X and y of a table, with the columns and classes of another.

    Parameters
    ----------
    source : Source
    target : str, optional
        The column of labels.
    inputs : Inputs, optional
        The columns of X, where they have names.
    n : int
        Their number.
    classes : ndarray
    """
    with source.again() as opened:
        if opened.format not in COLUMNAR:
            found = read_matrix(opened, target, OTHERS)
            X = in_order(found, inputs, n, source.name)
            labels = np.asarray(found.y)
            _check_known(labels, classes, source.name)
            return X, labels
        if target is None:
            raise CommandError(f"--target takes the column of {source.name} with the classes.")
        own = inputs or Inputs([f"x{i}" for i in range(n)])
        return _labelled(Columnar(opened), own, target, classes)


def _labelled(
    table: Columnar, inputs: Inputs, target: str, classes: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return X, as narrow as a table to train on would be, and y."""
    name = table.source.name
    encoder = Encoder(inputs)
    names = table.kinds()
    check_columns([*encoder.numbers, *encoder.texts], names, name)
    if target not in names:
        raise CommandError(f"{name} has no column {target!r}.")
    found = survey_known(table, encoder, target)
    y = found.labels.labels_among(classes, target, name)
    X = filled(table, found, encoder, np.arange(found.n_rows))
    encoder.tell_unknown(name)
    return X, y


def _columnar_blocks(
    table: Columnar, inputs: Inputs, used: list[int]
) -> Iterator[NDArray[np.float64]]:
    """Yield blocks of some columns of X."""
    encoder = Encoder(inputs, used)
    names = table.kinds()
    check_columns([*encoder.numbers, *encoder.texts], names, table.source.name)
    numbers, texts = encoder.numbers, encoder.texts
    if not numbers and not texts:  # a model of no column: all that counts is how many rows
        texts = [next(iter(names))]
    for batch in table.blocks(numbers, texts, "predicting"):
        yield encoder.rows(batch)
    encoder.tell_unknown(table.source.name)


def in_order(
    found: Matrix,
    inputs: Inputs | None,
    n: int,
    name: str,
    needed: list[int] | None = None,
) -> Any:
    """Return a matrix with n columns, or by name with those that are needed, in their order."""
    X = found.X
    if inputs is not None and found.names is not None:
        where = {column: place for place, column in enumerate(found.names)}
        own = [inputs.names[j] for j in (range(n) if needed is None else needed)]
        check_columns(own, where, name)
        return X[:, [where[column] for column in own]]
    if inputs is not None:
        raise CommandError(
            f"{name} has no names of columns, and the model was trained on named ones: an NPZ "
            "file takes them in an array names."
        )
    if hasattr(X, "indptr"):
        return with_columns(X, n)
    if X.shape[1] != n:
        raise CommandError(f"{name} has {X.shape[1]} columns, and the model takes {n}.")
    return X


def _check_gaps(X: Any, inputs: Inputs, clf: Any, name: str) -> None:
    """Raise where a model that takes no missing values meets some."""
    if not clf.path_.features.allows_nan and (gaps := columns_with_gaps(X, inputs)):
        raise CommandError(
            f"Columns {listed(gaps)} of {name} have missing values, which this model does not "
            "take: only models of --pool stumps do."
        )


def _check_known(labels: NDArray[Any], classes: NDArray[Any], name: str) -> None:
    """Raise for labels that are none of the classes."""
    if unknown := sorted(set(labels.tolist()) - set(classes.tolist()), key=str):
        raise CommandError(
            f"{name} has labels that the training had not: "
            f"{listed([text_of(label) for label in unknown])}."
        )
