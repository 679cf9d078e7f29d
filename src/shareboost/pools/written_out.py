"""Columns of atoms written out, some rows at a time, for pools that know no faster sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, cast, dense, namespace
from .numbers import ranges
from .table import Table, Vector

if TYPE_CHECKING:
    from .features import Features

# What the columns of some rows take, about, in float64.
CHUNK_BYTES = 1 << 22

Answer = TypeVar("Answer")


class WrittenOut(Table):
    """The columns of atoms as a table, of which there are never more than some rows."""

    def __init__(self, table: Table, features: Features):
        self.n_rows = table.n_rows
        self.n_columns = features.n_columns
        self.dtype = np.dtype(np.float64)
        self.sparse = False
        self._table = table
        self._features = features

    def ask(
        self,
        question: Callable[[Any, Vector], Answer],
        merge: Callable[[Answer, Answer], Answer],
        what: str,
    ) -> Answer:
        return self._table.ask(partial(_answer, question, merge, self._features), merge, what)

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        X, weight = self._table.take(rows)
        return _on_host(self._features, X), weight


def _answer(
    question: Callable[[Any, Vector], Answer],
    merge: Callable[[Answer, Answer], Answer],
    features: Features,
    X: Any,
    weight: Vector,
) -> Answer:
    """Return the answer to a question about the columns for some rows of X."""
    answers = (question(_on_host(features, X[some]), weight[some]) for some in _chunks(features, X))
    return reduce(merge, answers)


def _on_host(features: Features, X: Any) -> NDArray[np.float64]:
    """Return the columns for some rows, (n, columns), in NumPy."""
    columns = dense(features.columns(X))
    return np.asarray(columns if isinstance(columns, np.ndarray) else columns.cpu(), np.float64)


def _chunks(features: Features, X: Any) -> list[slice]:
    """Return ranges of rows whose columns take about ``CHUNK_BYTES``; at least one."""
    step = max(1, CHUNK_BYTES // (8 * max(1, features.n_columns)))
    return ranges(X.shape[0], step) or [slice(0, 0)]


def sums_of_columns(
    features: Features, X: Any, rows: Array, pivot: Vector, scale: Vector, squares: bool
) -> Array:
    """Return ``rows @ z``, (k, columns), with ``z = (columns - pivot) / scale``, in float64.

    For squares ``rows @ z`` above ``rows @ z**2``.
    """
    xp, k = namespace(rows), rows.shape[0]
    centre, unit = (xp.asarray(values, device=rows.device) for values in (pivot, scale))
    shape = k * (1 + squares), features.n_columns
    found = xp.zeros(shape, dtype=xp.float64, device=rows.device)
    for some in _chunks(features, X):
        wide = cast(dense(features.columns(X[some])), np.dtype(np.float64))
        z = xp.asarray((wide - centre) / unit, dtype=rows.dtype)
        found[:k] += rows[:, some] @ z
        if squares:
            found[k:] += rows[:, some] @ z**2
    return found
