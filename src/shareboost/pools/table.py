"""Training rows as the fit of a pool reads them."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from ..arrays import is_sparse, numpy_type

Vector = NDArray[np.float64]
Answer = TypeVar("Answer")
Item = TypeVar("Item")

# What the answer of a block takes at most, about: many may wait to be merged on one machine.
ANSWER_BYTES = 1 << 26
# What the rows take, about, that a pool is fitted on where it cannot be on blocks of a cluster.
SAMPLE_BYTES = 1 << 28
# Never fewer rows than these.
SMALLEST_SAMPLE = 1000


class Table(ABC):
    """Training rows of positive weight: an array, a tensor, or blocks on a cluster's machines.

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

    def gathered(self, random_state: Any = 0) -> tuple[Any, Vector]:
        """Return rows and their weights here, for a pool that takes no passes over blocks.

        All rows where they are one array; else a random sample of about ``SAMPLE_BYTES``, by the
        random state if it is an integer.
        """
        seed = random_state if isinstance(random_state, (int, np.integer)) else 0
        return self.sample(self._sample_size(), np.random.RandomState(seed))

    def _sample_size(self) -> int:
        """Return how many rows are gathered."""
        n_rows = SAMPLE_BYTES // max(1, self.n_columns * self.dtype.itemsize)
        if self.sparse:
            # A pool may write sparse rows out, so that their number counts too.
            stored = self.ask(stored_entries, operator.add, "entries of sparse rows")
            each = max(1, stored * (self.dtype.itemsize + 4) // max(1, self.n_rows))
            n_rows = min(SAMPLE_BYTES // each, 8 * n_rows)
        return max(SMALLEST_SAMPLE, n_rows)


class Whole(Table):
    """Rows of one array, SciPy's matrix or tensor, as one block."""

    def __init__(self, X: Any, weight: Vector | None = None):
        self.n_rows, self.n_columns = X.shape
        self.dtype = numpy_type(X)
        self.sparse = is_sparse(X)
        self.rows = X, np.ones(X.shape[0]) if weight is None else weight

    def ask(
        self,
        question: Callable[[Any, Vector], Answer],
        merge: Callable[[Answer, Answer], Answer],
        what: str,
    ) -> Answer:
        return question(*self.rows)

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        X, weight = self.rows
        return (X.tocsr() if self.sparse else X)[rows], weight[rows]

    def gathered(self, random_state: Any = 0) -> tuple[Any, Vector]:
        return self.rows


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
