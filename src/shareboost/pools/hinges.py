"""Hinges ``max(0, v - t)`` and ``max(0, t - v)``, for additive piecewise linear classifiers."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import beside, columns_type, float_type, standard_namespace, taken
from ..validation import at_least, one_of
from .base import POWERS, Atoms, Floats, Stored, Sums
from .features import INPUTS, Digits, Features, Ids, Integers, Reals, one_each
from .stumps import Binned
from .table import Table, Vector
from .thresholds import digits_apart


@dataclass(frozen=True)
class HingeFeatures(Features):
    """Chosen hinges: a column, a threshold and a side each."""

    kind = "hinges"

    ids: Ids
    column: Annotated[NDArray[np.intp], Integers("columns", below=INPUTS)]
    threshold: Annotated[NDArray[np.float64], Reals("thresholds")]
    below: Annotated[NDArray[np.intp], Integers(below=2)]  # 1 for max(0, t - v)
    digits: Digits  # that tell a threshold from its neighbours

    def columns(self, X: Any) -> Any:
        xp = standard_namespace(X)
        # In float64, as the thresholds are, whatever the type of X.
        above = xp.astype(taken(X, self.column), xp.float64) - beside(X, self.threshold)
        sides = above * beside(X, 1.0 - 2.0 * self.below)
        return xp.astype(xp.where(sides > 0.0, sides, 0.0 * sides), columns_type(X))

    def names(self, input_names: Sequence[str]) -> list[str]:
        names = []
        for j, threshold, below, digits in zip(
            self.column, self.threshold, self.below, self.digits, strict=True
        ):
            sides = [input_names[j], f"{threshold:.{digits}g}"]
            first, second = sides[::-1] if below else sides
            names.append(f"max(0, {first} - {second})")
        return names

    def parts(self, places: NDArray[np.intp]) -> Iterator[tuple[str, dict[str, Any]]]:
        cuts = {"columns": self.column, "thresholds": self.threshold, "below": self.below}
        yield "hinges", {"places": places, **cuts}


class Hinges(Binned):
    """All hinges ``max(0, v - t)`` and ``max(0, t - v)``, of every column and every threshold.

    Sums of hinges of one column are piecewise linear functions of it, so that a classifier of
    hinges is an additive model whose terms are piecewise linear.

    Parameters
    ----------
    max_bins : int, default=32
        The most bins that a column is cut into, at quantiles, as those of ``Stumps``. There are
        two hinges for each threshold between bins.
    scale : {"deviation", "root", "none"}, default="deviation"
        What a hinge is divided by before it is scored and trained on: its standard deviation,
        the square root of that, or 1.

    Notes
    -----
    Rows are put into bins once. A round then adds up residuals, and residuals times values, by
    bin: that takes one pass over the entries of X, however many thresholds there are. Of sparse
    rows only the stored entries are visited. Encoded rows hold a copy of the values and a code of
    one or two bytes for each.
    """

    def __init__(self, max_bins: int = 32, scale: str = "deviation"):
        self.max_bins = max_bins
        self.scale = scale

    def learn(self, table: Table, centred: bool) -> None:
        at_least("max_bins", self.max_bins, 2, "Hinges")
        one_of("scale", self.scale, POWERS, "Hinges")
        self._cut(table)
        self.stored_ = table.sparse
        column = self._column_of(np.arange(self.thresholds_.size))
        # Powers are of the distance to the middle threshold, or to 0 where zeros are not stored.
        self.pivots_ = np.zeros(table.n_columns)
        if table.sparse:
            self.common_codes_ = self._codes_of_zero()
        else:
            middles = self.starts_[:-1] + np.diff(self.starts_) // 2
            cut = np.unique(column)
            self.pivots_[cut] = self.thresholds_[middles[cut]]
        self.offsets_ = self.thresholds_ - self.pivots_[column]
        self.n_atoms_ = 2 * self.thresholds_.size
        self.dtype_, self.sums_dtype_ = float_type(table.dtype), np.dtype(np.float64)
        self.scale_ = np.ones(self.n_atoms_)
        if not self.n_atoms_:
            self.usable_ = np.zeros(0, dtype=bool)
            return
        sums = table.ask(partial(_weights_by_bin, self), operator.add, "moments of hinges")
        first, second = (power[0] for power in self._powers(sums, slice(0, self.n_atoms_)))
        total = sums[-1, 0, 0]
        variance = second / total - (first / total) ** 2 * centred
        self.usable_ = variance > 0.0
        self.scale_ = np.where(self.usable_, variance, 1.0) ** (0.5 * POWERS[self.scale])

    def parts(self, n_classes: int) -> list[slice]:
        """Return ranges of whole columns."""
        return [slice(2 * cuts.start, 2 * cuts.stop) for cuts in super().parts(3 * n_classes)]

    def encode(self, X: Any, rows: slice) -> tuple[Any, Any]:
        """Return in which bin each value is, and the values, column by column."""
        if self.stored_:
            stored = Stored.of(X, rows)
            return self._stored_codes(stored), stored
        block = X[rows]
        return self._codes(block), np.ascontiguousarray(block.T, dtype=self.dtype_)

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return the rows times powers of the values, by bin, (bins + 1, powers, k).

        The powers are 0 and 1, and 2 for squares; the last row has the sum of all rows.
        """
        from ..kernels.stumps import add_powers, add_stored_powers

        first, last = self._columns_of(_cuts_of(part))
        edges = self._bin_edges(first, last)
        if out is None:
            out = np.zeros((edges[-1] + 1, 2 + squares, rows.n_classes))
        codes, values = data
        if isinstance(values, Stored):
            entries = values.values, values.examples, values.pointers[first : last + 1]
            add_stored_powers(codes, *entries, rows.rows, edges, out)
        else:
            columns = codes[first:last], values[first:last], self.pivots_[first:last]
            add_powers(*columns, rows.rows, edges, out)
        out[-1, 0] += rows.total
        return out

    def correlations(self, stats: Sums, part: slice) -> Sums:
        return self._powers(stats[:, :2], part)[0] / self.scale_[part]

    def moments(self, stats: Sums, part: slice) -> tuple[Sums, Sums]:
        first, second = self._powers(stats, part)
        return first / self.scale_[part], second / self.scale_[part] ** 2

    def _powers(self, stats: Sums, part: slice) -> list[Any]:
        """Return the sums of rows times hinges and, for squares, of rows times their squares."""
        from ..kernels.stumps import running_sums

        cuts = _cuts_of(part)
        first, last = self._columns_of(cuts)
        edges = self._bin_edges(first, last)
        bins = stats[:-1].copy()
        if self.stored_:  # the rest of the rows is in the bin of zero
            rest = stats[-1, 0] - np.add.reduceat(bins[:, 0], edges[:-1])
            bins[edges[:-1] + self.common_codes_[first:last], 0] += rest
        # Sums of each power over the rows up to each threshold and beyond it.
        n_powers, k = stats.shape[1:]
        below = np.empty((n_powers, k, cuts.stop - cuts.start))
        for power in range(n_powers):
            running_sums(np.ascontiguousarray(bins[:, power]), edges, below[power])
        column = self._column_of(np.arange(cuts.start, cuts.stop)) - first
        above = np.add.reduceat(bins, edges[:-1])[column].transpose(1, 2, 0) - below
        t = self.offsets_[cuts]  # about the pivots, as the powers are
        powers = [_in_turns(above[1] - t * above[0], t * below[0] - below[1])]
        if n_powers > 2:
            sides = (sums[2] - 2.0 * t * sums[1] + t**2 * sums[0] for sums in (above, below))
            powers.append(_in_turns(*sides))
        return powers

    def columns(self, data: Any, atom: int) -> Floats:
        cut, below = divmod(atom, 2)
        j, values = int(self._column_of(cut)), data[1]
        column = values.column(j, 0.0, self.dtype_) if isinstance(values, Stored) else values[j]
        above = column.astype(np.float64) - self.thresholds_[cut]
        return np.maximum(-above if below else above, 0.0).astype(self.dtype_)[np.newaxis]

    def features(self, atoms: Atoms) -> HingeFeatures:
        ids = np.asarray(atoms, dtype=np.intp)
        cuts = ids // 2
        column = self._column_of(cuts)
        digits = digits_apart(self.thresholds_, self.starts_, cuts)
        return HingeFeatures(ids, column, self.thresholds_[cuts], ids % 2, digits)

    def reads(self, n_columns_in: int) -> sp.csr_array:
        return one_each(self._column_of(np.arange(self.n_atoms_) // 2), n_columns_in)


def _cuts_of(part: slice) -> slice:
    """Return the thresholds of a part, each of which has two hinges."""
    return slice(part.start // 2, part.stop // 2)


def _weights_by_bin(pool: Hinges, X: Any, weight: Vector) -> Floats:
    """Return the statistic of a block whose residual is the weights, of one class."""
    # By the class: on a device the pool has other statistics.
    data = Hinges.encode(pool, X, slice(0, X.shape[0]))
    rows = Hinges.prepare(pool, weight[np.newaxis])
    return Hinges.stats(pool, data, rows, slice(0, pool.n_atoms_), squares=True)


def _in_turns(above: Floats, below: Floats) -> Floats:
    """Return the columns of two arrays in turns, (k, columns of both)."""
    return np.stack([above, below], axis=-1).reshape(len(above), -1)
