"""What a fit asks of the backend that has its arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Map

if TYPE_CHECKING:
    from ..gram import Gram
    from ..model import Model
    from ..pools.base import Pool
    from ..pools.features import Features


class Backend(ABC):
    """NumPy's arrays, or the tensors of a torch device, and what is computed there.

    Code that both run takes ``xp``, the module of functions such as ``exp``, which bear the
    same names, and ``shareboost.arrays``; the methods here are what they do not have in common.
    The arrays of the rows, the weights W and all that a solver holds live here. What crosses to
    the host is what decides: scores of atoms, once a round, and some numbers an evaluation.
    """

    xp: Any  # the module of functions: numpy or torch
    # What tells one kind of backend from another: their sums differ in the last bits.
    name: str | None
    # Whether ``correlated`` gives a column the same bits whatever other columns are beside it.
    columns_apart: bool

    @abstractmethod
    def deterministic(self) -> AbstractContextManager[Map]:
        """Return a context in which sums are reproducible; it gives the ``map`` of blocks."""

    @abstractmethod
    def edges(self, n_rows: int, n_classes: int) -> list[int]:
        """Return where the blocks of so many rows begin, and at last where they end."""

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """Return rows of X, dense or sparse, here, in their own type."""

    @abstractmethod
    def form(self, pool: Pool) -> Pool:
        """Return the form of a pool that computes here; raise where it has none.

        Of a fitted pool it is fitted: it has the same atoms, scales and meaning of statistics, so
        that those of rows at unlike places add up.
        """

    def check(self, form: Pool, penalty: Any, X: Any) -> None:
        """Raise where what is asked for cannot be computed here."""
        return

    @abstractmethod
    def columns(self, features: Features, X: Any) -> Any:
        """Return the columns of chosen atoms for rows that are here, (rows, n_columns).

        SciPy's sparse rows may have sparse columns.
        """

    @abstractmethod
    def scores(self, model: Model, rows: Any) -> Array:
        """Return the scores of rows that are here, (rows, k)."""

    @abstractmethod
    def best(self, model: Model, rows: Any) -> Array:
        """Return the number of the class of the highest score, (rows,); the first of equals."""

    @abstractmethod
    def gram(self, rounding: float) -> Gram:
        """Return an empty Gram matrix of columns that are here."""

    @abstractmethod
    def asarray(self, values: Any, dtype: Any = None) -> Array:
        """Return NumPy's values as an array here."""

    @abstractmethod
    def numpy(self, array: Array) -> NDArray[Any]:
        """Return an array of this backend as NumPy's."""

    @abstractmethod
    def zeros(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """Return an array of zeros of that NumPy type."""

    @abstractmethod
    def product(self, W: Array, columns: Array, out: Array) -> None:
        """Write ``W @ columns``, (k, n), of the same type, to out."""

    @abstractmethod
    def correlated(self, rows: Array, columns: Array) -> Array:
        """Return ``rows @ columns.T`` for the few rows of a residual, (k, n)."""

    @abstractmethod
    def inner(self, rows: Array, columns: Array) -> Array:
        """Return ``rows @ columns.T`` for any number of rows."""


@dataclass(frozen=True)
class ClusterRun:
    """How a fit used the cluster.

    Attributes
    ----------
    refit : str
        Where the weights were refit.
    rows : str
        Whether the workers held the encoded rows, or made them anew for every pass.
    n_rows, n_blocks : int
        Rows of positive weight, and the blocks that they lie in.
    """

    refit: str
    rows: str
    n_rows: int
    n_blocks: int
