"""What a pool of candidate features must answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


class Features(Protocol):
    """The chosen atoms as plain arrays: all that prediction needs of a pool."""

    @property
    def ids(self) -> NDArray[np.intp]:
        """Ids of the atoms in the order they were chosen."""

    @property
    def n_columns(self) -> int:
        """Number of columns the atoms make together."""

    def columns(self, X: Any) -> Any:
        """Return the atoms' columns for the rows of X, (rows, n_columns), in X's units."""

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Return a readable name for each column."""

    def first(self, n_atoms: int) -> Self:
        """Return the first ``n_atoms`` atoms alone."""


class Pool(BaseEstimator, ABC):
    """A large, often implicit, set of candidate features ("atoms").

    A pool knows how to score all of its atoms against a residual and how to compute
    the columns of one. It knows nothing of losses, rounds or labels.

    ``stats`` must *add* over blocks of rows: the paper ranks an atom by the norm of a
    sum over examples, and the norm of a sum is not the sum of norms. Only the total
    over all blocks is scored.

    Fitting sets ``n_atoms_`` and ``dtype_`` (the floating type of its columns).
    """

    n_atoms_: int
    dtype_: np.dtype[Any]

    @abstractmethod
    def fit(self, X: Any, weight: NDArray[np.float64], centred: bool = True) -> Self:
        """Learn what defines the atoms from rows of positive weight.

        ``centred`` tells whether columns will be trained on about their mean, as they
        are where there is an intercept.
        """

    @abstractmethod
    def encode(self, X: Any, rows: slice) -> Any:
        """Return a block of rows of X in the form that ``stats`` and ``columns`` read."""

    @abstractmethod
    def stats(self, data: Any, residual: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return a statistic of the block that adds over blocks; residual is (k, n)."""

    @abstractmethod
    def scores(
        self, stats: NDArray[np.float64], residual_sum: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the l1 norm over classes of each atom's correlation, (n_atoms,).

        ``residual_sum``, shape (k,), is the total residual of each class. It is zero
        once the intercept is exactly refit; pools subtract an atom's mean times it,
        which equals correlating with the centred atom. Without an intercept it is
        passed as zero. An atom that must never be chosen scores ``-inf``.
        """

    @abstractmethod
    def columns(self, data: Any, atom: int) -> NDArray[np.floating]:
        """Return the columns of one atom on a block, (columns of the atom, n), in X's units."""

    @abstractmethod
    def scales(self, atom: int) -> NDArray[np.float64]:
        """Return what each of the atom's columns is divided by in training."""

    @abstractmethod
    def features(self, atoms: Sequence[int]) -> Features:
        """Return the given atoms as plain arrays, apart from the pool."""
