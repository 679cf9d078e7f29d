"""How well sets of chosen columns agree: how often each is chosen, and how stable all are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import pandas_for
from .intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    import pandas as pd


# How many names a Stability shows.
SHOWN = 5


@dataclass(frozen=True, repr=False, eq=False)
class Stability:
    """Which columns were chosen in each resample: how often each, and how stably all.

    Attributes
    ----------
    selections : ndarray of bool of shape (n_resamples, n_columns)
        Whether the model of a resample reads a column.
    names : ndarray of str of shape (n_columns,)
    frequencies : ndarray of shape (n_columns,)
        Fraction of the resamples that chose each column.
    n_features : ndarray of int of shape (n_resamples,)
        How many columns each resample chose.
    index : float
        Agreement of the sets beyond chance: 1 where all are the same, 0 on average where
        they are drawn at random; above 0.75 is commonly called excellent, below 0.4 poor.
    interval : tuple (low, high)
        95 % confidence interval of the index.

    References
    ----------
    Nogueira, Sechidis and Brown, "On the Stability of Feature Selection Algorithms",
    JMLR 18(174), 2018: Definition 4 for the index, Corollary 9 for the interval.
    """

    selections: NDArray[np.bool_]
    names: NDArray[Any]

    def __repr__(self) -> str:
        n, d = self.selections.shape
        low, high = self.interval
        top = [f"{self.names[j]} {self.frequencies[j]:.2f}" for j in self.order[:SHOWN]]
        more = ", ..." if d > SHOWN else ""
        return (
            f"<Stability over {n} resamples: index {self.index:.2f} ({low:.2f} to {high:.2f}), "
            f"{self.n_features.mean():.1f} of {d} columns on average; {', '.join(top)}{more}>"
        )

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """Fraction of the resamples that chose each column, (n_columns,)."""
        return self.selections.mean(axis=0)

    @cached_property
    def n_features(self) -> NDArray[np.intp]:
        """How many columns each resample chose, (n_resamples,)."""
        return self.selections.sum(axis=1)

    @cached_property
    def index(self) -> float:
        """Return 1 - mean_f(s_f^2) / (q (1 - q)), with q the mean fraction chosen.

        s_f^2 is the unbiased variance of column f's choice over resamples, q (1 - q) what
        it is on average for random sets of as many columns. Where every set is empty, or
        every set holds all columns, that is 0 / 0; the sets are the same, so it is 1.
        """
        if (by_chance := self._by_chance) == 0:
            return 1.0
        return float(1 - self.selections.var(axis=0, ddof=1).mean() / by_chance)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Return the index less and plus 1.96 standard errors, the latter cut at 1.

        The resamples share rows: it tells what many more resamples of *these* rows would
        give, not what other rows would. It is asymptotic, too narrow for few resamples.
        """
        reach = NORMAL_QUANTILE * self._standard_error
        return self.index - reach, min(1.0, self.index + reach)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a column of X as a pandas frame, the most frequent first."""
        pd = pandas_for("names and frequencies")
        order = self.order
        return pd.DataFrame(
            {"feature": self.names[order], "frequency": self.frequencies[order]},
            index=pd.Index(order, name="column"),
        )

    @property
    def order(self) -> NDArray[np.intp]:
        """The columns by falling frequency, those of equal frequency in their own order."""
        return np.argsort(-self.frequencies, kind="stable")

    @property
    def _by_chance(self) -> float:
        """The variance q (1 - q) of a random choice."""
        q = self.selections.mean()
        return float(q * (1 - q))

    @property
    def _standard_error(self) -> float:
        """The asymptotic standard error of the index, by the delta method."""
        if (by_chance := self._by_chance) == 0:
            return 0.0
        n, d = self.selections.shape
        q = self.selections.mean()
        share = self.n_features / d  # k_i / d
        overlap = self.selections @ self.frequencies / d
        influence = overlap - q * share + self.index / 2 * (2 * q * share - share - q + 1)
        return float(2 * np.sqrt(influence.var() / n) / by_chance)
