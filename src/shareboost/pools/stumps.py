"""All decision stumps 1[v <= threshold] as candidates, section 4.1 of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import beside, columns_type, standard_namespace, taken
from ..validation import at_least, one_of
from . import thresholds
from .base import PART_BYTES, POWERS, Atoms, ByExample, Floats, Pool, Stored, Sums, example_type
from .features import INPUTS, Digits, Features, Ids, Integers, Reals, one_each
from .table import Table, Whole
from .threshold_search import cells_of
from .thresholds import Cells, Counted, Cuts, is_bytes

# Dense columns are stored without their most frequent codes where those make up so much.
MOSTLY_COMMON = 0.6
# The threshold of the constant stump: every number is at most this, and files can hold it.
NO_LIMIT = float(np.finfo(np.float64).max)
# How often a code occurs is told from this many rows.
SAMPLE_ROWS = 2000


@dataclass(frozen=True)
class StumpFeatures(Features):
    """Chosen stumps: a column and a threshold each."""

    kind = "stumps"
    allows_nan = True

    ids: Ids
    column: Annotated[NDArray[np.intp], Integers("columns", below=INPUTS)]
    threshold: Annotated[NDArray[np.float64], Reals("thresholds")]
    digits: Digits  # that tell a threshold from its neighbours

    def columns(self, X: Any) -> Any:
        # Compared in float64, as the thresholds are, whatever the type of X.
        below = taken(X, self.column) <= beside(X, self.threshold)
        return standard_namespace(X).astype(below, columns_type(X))

    def names(self, input_names: Sequence[str]) -> list[str]:
        return [
            f"{input_names[j]} ≤ " + ("∞" if threshold == NO_LIMIT else f"{threshold:.{digits}g}")
            for j, threshold, digits in zip(self.column, self.threshold, self.digits, strict=True)
        ]

    def parts(self, places: NDArray[np.intp]) -> Iterator[tuple[str, dict[str, Any]]]:
        read = {"columns": self.column, "thresholds": self.threshold}
        yield "thresholds", {"places": places, **read}


class Binned(Pool):
    """A pool whose columns are cut into bins once, and whose rows are summed by bin."""

    max_bins: int | None
    thresholds_: NDArray[np.float64]  # column by column, rising
    starts_: NDArray[np.intp]  # where the thresholds of each column start, and the end
    stored_: bool  # whether blocks leave out the values of a column's common code
    common_codes_: NDArray[np.intp]  # (columns,)

    def _cut(self, table: Table) -> Cuts:
        """Set the thresholds; return where all columns are cut."""
        cuts = Cuts(*map(np.concatenate, zip(*self._columns_cut(table), strict=True)))
        # No value lies above an infinite threshold, so that one adds no code.
        self.code_dtype_ = np.min_scalar_type(int(cuts.sizes.max(initial=0)))
        self.thresholds_ = cuts.thresholds
        self.starts_ = np.concatenate([[0], np.cumsum(cuts.sizes)])
        return cuts

    def _columns_cut(self, table: Table) -> Iterable[Cuts]:
        """Return the cuts of every column."""
        if not isinstance(table, Whole):
            cells: Iterable[Cells] = cells_of(table, self.max_bins)
        elif table.sparse:
            return thresholds.cut_sparse_columns(*table.rows, self.max_bins)
        else:
            cells = (Cells.of(*column) for column in self._counted(*table.rows))
        return (thresholds.cut_column(column, self.max_bins) for column in cells)

    def _counted(self, X: Any, weight: NDArray[np.float64]) -> Iterator[Counted]:
        """Yield the distinct values of each column."""
        return thresholds.count_columns(X, weight)

    def _codes_of_zero(self) -> NDArray[np.intp]:
        """Return the code of what sparse rows do not store, of each column."""
        negative = np.concatenate([[0], np.cumsum(self.thresholds_ < 0.0)])
        return np.diff(negative[self.starts_])

    def _codes(self, X: NDArray[Any]) -> NDArray[np.unsignedinteger]:
        """Return the number of a column's thresholds below each value, (columns, n)."""
        codes = np.empty(X.shape[::-1], dtype=self.code_dtype_)
        if is_bytes(X.dtype):
            from ..kernels.stumps import look_up

            known = thresholds.byte_values(X.dtype)
            tables = [np.searchsorted(self._cuts(j), known) for j in range(len(codes))]
            look_up(X.view(np.uint8), np.array(tables, dtype=codes.dtype), codes)
        else:
            for j, column in enumerate(codes):
                column[:] = np.searchsorted(self._cuts(j), X[:, j].astype(np.float64))
        return codes

    def _stored_codes(self, stored: Stored) -> NDArray[np.unsignedinteger]:
        """Return the same of each stored entry."""
        from ..kernels.stumps import find_codes

        values = stored.values.astype(np.float64, copy=False)
        codes = np.empty(values.size, dtype=self.code_dtype_)
        find_codes(values, stored.pointers, self.thresholds_, self.starts_, codes)
        return codes

    def parts(self, n_classes: int) -> list[slice]:
        """Return ranges of whole columns, at least 12 where there are so many."""
        n_bins = self.thresholds_.size + self.starts_.size - 1
        return self._of_whole_columns(min(PART_BYTES // (8 * n_classes), -(-n_bins // 12)))

    def _of_whole_columns(self, largest: int) -> list[slice]:
        """Return the thresholds of whole columns, of about so many bins at most."""
        bins = self._bin_edges(0, self.starts_.size - 1)
        edges = [0]
        while edges[-1] < self.thresholds_.size:
            first = int(self._column_of(edges[-1]))
            last = int(np.searchsorted(bins, bins[first] + largest, side="right")) - 1
            edges.append(int(self.starts_[max(last, first + 1)]))
        return [slice(*pair) for pair in pairwise(edges)]

    def prepare(self, rows: Floats) -> ByExample:
        return ByExample.of(rows, self.sums_dtype_)

    def _cuts(self, column: int) -> NDArray[np.float64]:
        return self.thresholds_[self.starts_[column] : self.starts_[column + 1]]

    def _column_of(self, cuts: Any) -> NDArray[np.intp]:
        return np.searchsorted(self.starts_, cuts, side="right") - 1

    def _columns_of(self, cuts: slice) -> tuple[int, int]:
        """Return the first column of some thresholds and the one after their last."""
        return int(self._column_of(cuts.start)), int(self._column_of(cuts.stop - 1)) + 1

    def _bin_edges(self, first: int, last: int) -> NDArray[np.intp]:
        """Return where the bins of each column start, one more than thresholds, from the first."""
        return self.starts_[first : last + 1] - self.starts_[first] + np.arange(last - first + 1)


class Stumps(Binned):
    """All stumps ``1[v <= threshold]``, of every column and every threshold.

    Parameters
    ----------
    max_bins : int or None, default=256
        The most bins that a column is cut into. A column with at most that many distinct
        values has a threshold between any two neighbours; one with more is cut at
        quantiles. Up to 256 bins an entry of X takes one byte. None cuts between any
        two values of every column: each is sorted once, and a round then takes time
        proportional to the entries of X.

    scale : {"root", "deviation", "none"}, default="root"
        What a stump is divided by before it is scored and trained on. With p the share of
        examples where it is 1, its standard deviation is ``sqrt(p (1 - p))``.

        - ``"root"``: the square root of the deviation, half way between the other two:
          the lowest error on held-out rows (docs/defaults.md).
        - ``"deviation"``: as for columns. Favours stumps that few examples pass.
        - ``"none"``: 1, the paper's form. Favours stumps that cut near the middle.

    Notes
    -----
    Thresholds lie between observed values. Without an intercept every column without NaN has
    one more, ∞, whose stump is 1 for every row.

    NaN is allowed and counts as "not <=". A column with NaN has a stump whose threshold is
    its largest value: 1 where there is a number.

    Sparse input stays sparse: only the codes of stored entries are kept.
    """

    allows_nan = adds_in_place = True
    published: ClassVar[dict[str, Any]] = {"max_bins": None, "scale": "none"}

    def __init__(self, max_bins: int | None = 256, scale: str = "root"):
        self.max_bins = max_bins
        self.scale = scale

    def learn(self, table: Table, centred: bool) -> None:
        if self.max_bins is not None:
            at_least("max_bins", self.max_bins, 2, "Stumps")
        one_of("scale", self.scale, POWERS, "Stumps")
        sizes, missing, cuts, below, above = self._cut(table)
        if centred:
            squares, mostly = below * above, above < below
        else:
            ends = self.starts_[1:][~missing]
            self.thresholds_ = np.insert(cuts, ends, NO_LIMIT)
            self.starts_ = np.concatenate([[0], np.cumsum(sizes + ~missing)])
            squares = np.insert(below, ends, 1.0)
            mostly = np.zeros(squares.size, dtype=bool)
        self.scale_ = np.sqrt(squares) ** POWERS[self.scale]
        # Stumps that most rows pass. Their moments are those of the rows that do not: the
        # variance of a column of nearly all ones is no difference of two large sums.
        self.mostly_one_ = mostly
        self.n_atoms_ = self.thresholds_.size
        self.dtype_ = self.sums_dtype_ = np.dtype(np.float32)
        self._set_common(table)

    def _set_common(self, table: Table) -> None:
        """Set the code that a block need not store, of each column, and whether it does not.

        Of dense columns it is the most frequent, left out where that saves work: a stored code
        takes three bytes or more.
        """
        self.stored_ = table.sparse
        if table.sparse:
            self.common_codes_ = self._codes_of_zero()
            return
        some, _ = table.take(np.arange(0, table.n_rows, -(-table.n_rows // SAMPLE_ROWS)))
        counts = [np.bincount(codes) for codes in self._codes(some)]
        self.common_codes_ = np.array([np.argmax(count) for count in counts])
        share = np.mean([count.max() / len(some) for count in counts])
        self.stored_ = float(share) > MOSTLY_COMMON

    def encode(self, X: Any, rows: slice) -> Any:
        """Return codes: the number of a column's thresholds below each value."""
        if sp.issparse(X):
            stored = Stored.of(X, rows)
            return stored._replace(values=self._stored_codes(stored))
        codes = self._codes(X[rows])
        return self._uncommon(codes) if self.stored_ else codes

    def _uncommon(self, codes: NDArray[np.unsignedinteger]) -> Stored:
        """Return the codes of a block without the most frequent one of each column."""
        from ..kernels.stumps import store

        counts = np.count_nonzero(codes != self.common_codes_[:, None], axis=1)
        pointers = np.concatenate([[0], np.cumsum(counts)])
        stored = np.empty(pointers[-1], dtype=codes.dtype)
        examples = np.empty(pointers[-1], dtype=example_type(codes.shape[1]))
        store(codes, self.common_codes_, pointers, stored, examples)
        return Stored(stored, examples, pointers, codes.shape[1])

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return the rows summed by code, (bins of the part, k); a stump is its own square.

        Where codes are stored, the common ones of the columns are left out, and one more row
        has the sum of all rows.
        """
        from ..kernels.stumps import add_dense, add_stored

        first, last = self._columns_of(part)
        edges = self._bin_edges(first, last)
        if out is None:
            out = np.zeros((edges[-1] + self.stored_, rows.n_classes))
        if self.stored_:
            pointers = data.pointers[first : last + 1]
            add_stored(data.values, data.examples, pointers, rows.rows, edges, rows.tag, out)
            out[-1] += rows.total
        else:
            add_dense(data[first:last], rows.rows, edges, rows.tag, out)
        return out

    def correlations(self, stats: Sums, part: slice) -> Sums:
        sums = self._below(stats, part)
        sums /= self._learned("scale_")[part]
        return sums

    def moments(self, stats: Sums, part: slice) -> tuple[Sums, Sums]:
        """Return the sums for ``1[v <= threshold]``, or for it less 1 where it is mostly 1."""
        first, last = self._columns_of(part)
        edges = self._bin_edges(first, last)
        mostly, scale = self.mostly_one_[part], self.scale_[part]
        column = self._column_of(np.arange(part.start, part.stop)[mostly]) - first
        sums = self._below(stats, part)
        totals = np.add.reduceat(stats[: edges[-1]], edges[:-1], axis=0)  # (columns, k)
        sums[:, mostly] -= totals[column].T
        sums /= scale
        return sums, sums * (np.where(mostly, -1.0, 1.0) / scale)

    def columns(self, data: Any, atom: int) -> Floats:
        j = int(self._column_of(atom))
        place = int(atom - self.starts_[j])
        stored = isinstance(data, Stored)
        codes = data.column(j, self.common_codes_[j], data.values.dtype) if stored else data[j]
        return (codes <= place).astype(self.dtype_)[np.newaxis]

    def features(self, atoms: Atoms) -> StumpFeatures:
        ids = np.asarray(atoms, dtype=np.intp)
        digits = thresholds.digits_apart(self.thresholds_, self.starts_, ids)
        return StumpFeatures(ids, self._column_of(ids), self.thresholds_[ids], digits)

    def reads(self, n_columns_in: int) -> sp.csr_array:
        return one_each(self._column_of(np.arange(self.n_atoms_)), n_columns_in)

    def _below(self, stats: Sums, part: slice) -> Sums:
        """Return the sums of the rows that each stump of a part is 1 for, (k, atoms).

        First completes the statistic, where codes are stored.
        """
        from ..kernels.stumps import fill_common, running_sums

        first, last = self._columns_of(part)
        edges = self._bin_edges(first, last)
        if self.stored_:
            fill_common(stats, edges, self.common_codes_[first:last])
        sums = np.empty((stats.shape[1], part.stop - part.start))
        running_sums(stats, edges, sums)
        return sums
