"""Training rows as the fit of a pool reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

Vector = NDArray[np.float64]
Answer = TypeVar("Answer")
Item = TypeVar("Item")

# What the answer of a block takes at most, about: many may wait to be merged on one machine.
ANSWER_BYTES = 1 << 26


class Table(ABC):
    """Training rows of positive weight: whole, or in blocks on the machines of a cluster.

    A pool is fitted by questions: pure functions of the rows of a block and their weights. A
    question, its answer and the function that merges two answers can be pickled, and are small
    beside the rows. A block may have any number of rows, none too; all are arrays of one type,
    or all compressed sparse rows.
    """

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    sparse: bool

    @abstractmethod
    def ask(
        self,
        question: Callable[[Any, Vector], Answer],
        merge: Callable[[Answer, Answer], Answer],
        what: str,
    ) -> Answer:
        """Return the answers of all blocks, ``question(X, weight)``, merged into one.

        They are merged in pairs of neighbours, in the order of the rows. ``what`` names the pass
        over the rows in words.
        """

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        """Return the rows of these rising numbers, and their weights, here."""

    def sample(self, n_rows: int, rng: np.random.RandomState) -> tuple[Any, Vector]:
        """Return so many random rows, in their order, and their weights, here.

        All rows where there are no more.
        """
        if n_rows >= self.n_rows:
            return self.take(np.arange(self.n_rows))
        rows = sample_without_replacement(self.n_rows, n_rows, random_state=rng)
        return self.take(np.sort(rows).astype(np.intp))


class Whole(Table):
    """Rows of one array, as one block."""

    def __init__(self, X: Any, weight: Vector):
        self.n_rows, self.n_columns = X.shape
        self.dtype = X.dtype
        self.sparse = sp.issparse(X)
        self._rows = X, weight

    def ask(
        self,
        question: Callable[[Any, Vector], Answer],
        merge: Callable[[Answer, Answer], Answer],
        what: str,
    ) -> Answer:
        return question(*self._rows)

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        X, weight = self._rows
        return (X.tocsr() if self.sparse else X)[rows], weight[rows]


def grouped(items: Iterable[Item], size: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Yield neighbours together, as many as give an answer of ``ANSWER_BYTES``, at least one."""
    group: list[Item] = []
    held = 0
    for item in items:
        if group and held + size(item) > ANSWER_BYTES:
            yield group
            group, held = [], 0
        group.append(item)
        held += size(item)
    if group:
        yield group


def stored_entries(X: Any, weight: Vector) -> int:
    """Return how many entries a sparse block stores."""
    return int(X.nnz)
