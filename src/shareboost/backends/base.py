"""What a fit asks of the backend that has its arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..arrays import Array, Map, Scalar, Starts
    from ..gram import Gram
    from ..model import Model
    from ..pools.base import Pool
    from ..pools.features import Features


class Backend(ABC):
    """NumPy's arrays, or the tensors of a torch device, and what is computed there.

    Code that both run takes ``xp``, the module of functions such as ``exp``, which bear the
    same names; the methods here are what they do not have in common. The arrays of the rows,
    the weights W and all that a solver holds live here. What crosses to the host is what
    decides: scores of atoms, once a round, and some numbers an evaluation.
    """

    xp: Any  # the module of functions: numpy or torch
    # Whether ``correlated`` gives a column the same bits whatever other columns are beside it.
    columns_apart: bool

    @abstractmethod
    def settled(self) -> AbstractContextManager[Map]:
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

    @property
    @abstractmethod
    def name(self) -> str | None:
        """What tells one kind of backend from another: their sums differ in the last bits."""

    @abstractmethod
    def check_beside(self, X: Any, what: str) -> None:
        """Raise where further rows, those of a device, are not on this one."""

    def check(self, form: Pool, penalty: Any, X: Any) -> None:
        """Raise where what is asked for cannot be computed here."""
        return

    @abstractmethod
    def columns(self, features: Features, X: Any) -> Array:
        """Return the columns of chosen atoms for rows that are here, (rows, n_columns), dense."""

    @abstractmethod
    def transformed(self, features: Features, rows: Any) -> Any:
        """Return the columns of chosen atoms for a user: sparse ones of sparse rows stay so."""

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
    def numbers(self, scalars: Sequence[Scalar]) -> list[float]:
        """Return scalars, and vectors of them, as one list of numbers, fetched all at once."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an array of that NumPy type with any content."""

    @abstractmethod
    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """Return the array in that NumPy type, itself where it has it."""

    @abstractmethod
    def copy(self, array: Array) -> Array:
        """Return a copy."""

    @abstractmethod
    def product(self, W: Array, columns: Array, out: Array) -> None:
        """Write ``W @ columns``, (k, n), of the same type, to out."""

    @abstractmethod
    def correlated(self, rows: Array, columns: Array) -> Array:
        """Return ``rows @ columns.T`` for the few rows of a residual, (k, n)."""

    @abstractmethod
    def inner(self, rows: Array, columns: Array) -> Array:
        """Return ``rows @ columns.T`` for any number of rows."""

    @abstractmethod
    def segments(self, starts: Starts, n: int) -> Any:
        """Return what ``sums_over`` takes for n values that are cut at those starts."""

    @abstractmethod
    def sums_over(self, segments: Any, values: Array) -> Array:
        """Return the sums of values, (n,), from each start up to the next."""

    def less_mean(self, residual: Array, mean: Array, weight: Array) -> Array:
        """Return ``residual - mean * weight``, (k, n), which holds until this is called again."""
        return residual - mean[:, None] * weight

    def wide(self, array: Array) -> Array:
        """Return the array in float64."""
        return self.cast(array, np.dtype(np.float64))

    def zeros(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """Return an array of zeros of that NumPy type."""
        found = self.empty(shape, np.dtype(dtype))
        found[:] = 0.0
        return found


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
