"""The plain columns of X as candidates, dense or sparse, section 2 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..arrays import beside, float_type, ranges, standard_namespace
from ..validation import one_of
from .base import (
    PART_BYTES,
    SCALES,
    Atoms,
    ByExample,
    Floats,
    Pool,
    Stored,
    Sums,
    added,
    check_bounded,
)
from .features import INPUTS, Features, Integers
from .table import Table, chunks, joined_powers, powers, scaling

# Up to so many classes the kernel for few rows is faster than BLAS: by 1.6 for 10 classes, 1.1
# for 26, none for 50.
FEW_CLASSES = 32
# Dense columns of fewer rows than this are shared among the threads, so many at a time.
PART_COLUMNS, MANY_ROWS = 1024, 1 << 16
# Types of numbers, by NumPy's characters, that kernels are compiled for.
COMPILED = "?bBhHiIlLqQfd"


@dataclass(frozen=True)
class ColumnFeatures(Features):
    """Chosen columns of X, by index."""

    kind = "columns"

    ids: Annotated[NDArray[np.intp], Integers("columns", below=INPUTS, distinct=True)]

    def columns(self, X: Any) -> Any:
        columns = self.input_columns
        if not sp.issparse(X):
            return standard_namespace(X).take(X, beside(X, columns), axis=1)
        return (X if X.format in ("csr", "csc") else X.tocsc())[:, columns]

    @property
    def input_columns(self) -> NDArray[np.intp]:
        return self.ids

    def names(self, input_names: Sequence[str]) -> list[str]:
        return [str(input_names[j]) for j in self.input_columns]

    def parts(self, places: NDArray[np.intp]) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "reads", {"places": places, "columns": self.input_columns}


class Columns(Pool):
    """All columns of X, each divided by its scale.

    Parameters
    ----------
    scale : {"deviation", "maxabs", "none", "bounded"}, default="deviation"
        What a column is divided by before it is scored and trained on. The scale folds
        back into the model's weights, which speak of the user's own units.

        - ``"deviation"``: its weighted standard deviation; without an intercept that
          about zero.
        - ``"maxabs"``: its largest magnitude, so that ``-1 <= x <= 1`` as the paper's
          analysis assumes. A heavy-tailed column (word counts) all but vanishes.
        - ``"none"``: 1; the columns are taken as they come.
        - ``"bounded"``: 1, as in the paper; columns outside [-1, 1] are refused.

    Notes
    -----
    No column is ever shifted, so sparse input stays sparse: the centring that an
    intercept allows is done on the sums. With an intercept a constant column is
    never chosen, nor one whose values differ by no more than the rounding of their type;
    without one only a column of zeros is never chosen.

    Float32, 8-bit and 16-bit integer input is computed in float32, all other input in
    float64, some of it at a time.
    """

    usable_: NDArray[np.bool_]
    published: ClassVar[dict[str, Any]] = {"scale": "bounded"}

    def __init__(self, scale: str = "deviation"):
        self.scale = scale

    def learn(self, table: Table, centred: bool) -> None:
        one_of("scale", self.scale, SCALES, "Columns")
        moments = table.ask(powers, joined_powers, "moments of columns").moments
        largest = moments.largest
        if self.scale == "bounded":
            check_bounded(largest, "scale")
        known = scaling(moments, table.dtype, centred)
        self.usable_, deviation, self.pivot_, self.sums_dtype_ = known
        scale = {"deviation": deviation, "maxabs": largest}.get(self.scale, np.ones_like(largest))
        self.scale_ = np.where(self.usable_, scale, 1.0)
        self.n_atoms_ = table.n_columns
        self.sparse_ = table.sparse
        self.wide_ = self.n_atoms_ >= 2 * PART_COLUMNS and table.n_rows < MANY_ROWS
        self.dtype_ = float_type(table.dtype)

    def encode(self, X: Any, rows: slice) -> Any:
        if not self.sparse_:
            return X[rows]
        stored = Stored.of(X, rows)
        return stored._replace(values=stored.values.astype(self.sums_dtype_, copy=False))

    def parts(self, n_classes: int) -> list[slice]:
        """Return ranges of columns; of dense ones all at once unless they are wide.

        Where the rows are many, their blocks are shared among the threads instead.
        """
        if self.sparse_:
            largest = min(PART_BYTES // (8 * n_classes), -(-self.n_atoms_ // 8))
            return ranges(self.n_atoms_, max(1, largest))
        return ranges(self.n_atoms_, PART_COLUMNS if self.wide_ else self.n_atoms_)

    def prepare(self, rows: Floats) -> Any:
        return ByExample.of(rows, self.sums_dtype_) if self.sparse_ else super().prepare(rows)

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return ``rows @ data``, (k, columns of the part); for squares ``rows @ z`` above
        ``rows @ z**2``.

        z is the scaled data; dense ones less their mean, so that no digit cancels.
        """
        if self.sparse_:
            return self._sparse_stats(data, rows, part, out, squares)
        if not squares:
            return added(out, _product(rows, data, part))
        total = np.zeros((2, rows.shape[0], part.stop - part.start), dtype=rows.dtype)
        for some in chunks(data[:, part]):
            z = ((data[some, part] - self.pivot_[part]) / self.scale_[part]).astype(rows.dtype)
            total[0] += rows[:, some] @ z
            total[1] += rows[:, some] @ np.square(z, out=z)
            del z  # before the next one is made
        return added(out, total.reshape(-1, total.shape[2]))

    def _sparse_stats(
        self, data: Stored, rows: ByExample, part: slice, out: Sums | None, squares: bool
    ) -> Floats:
        from ..kernels.products import add_sparse_product

        pointers = data.pointers[part.start : part.stop + 1]
        size = part.stop - part.start, rows.n_classes
        if not squares:
            # The kernel writes one row a column: a transposed view of what is returned.
            sums = np.zeros(size) if out is None else out.T
            add_sparse_product(data.values, data.examples, pointers, rows.rows, rows.tag, sums)
            return sums.T
        entries, pointers = slice(pointers[0], pointers[-1]), pointers - pointers[0]
        examples = data.examples[entries]
        scaled = data.values[entries] / np.repeat(self.scale_[part], np.diff(pointers))
        both = np.zeros((2, *size))
        for values, sums in zip((scaled, scaled**2), both, strict=True):
            add_sparse_product(values, examples, pointers, rows.rows, rows.tag, sums)
        return added(out, both.transpose(0, 2, 1).reshape(-1, size[0]))

    def correlations(self, stats: Sums, part: slice) -> Sums:
        return stats / self._learned("scale_")[part]

    def columns(self, data: Any, atom: int) -> Floats:
        return self.gathered(data, [atom])

    def gathered(self, data: Any, columns: Any) -> Floats:
        """Return some columns of a block, (columns, n)."""
        if isinstance(data, Stored):
            return np.array([data.column(j, 0, data.values.dtype) for j in columns])
        return data[:, columns].T

    def features(self, atoms: Atoms) -> ColumnFeatures:
        check_is_fitted(self)
        return ColumnFeatures(np.asarray(atoms, dtype=np.intp))


def _product(rows: Floats, data: NDArray[Any], part: slice) -> Floats:
    """Return ``rows @ data`` of some columns, (k, columns), computed in the type of the rows."""
    same = data.dtype == rows.dtype
    if same and rows.shape[0] > FEW_CLASSES:
        return rows @ data[:, part]
    product = np.zeros((rows.shape[0], part.stop - part.start), dtype=rows.dtype)
    if data.flags.c_contiguous and data.dtype.isnative and data.dtype.char in COMPILED:
        from ..kernels.products import add_product

        add_product(rows, data, part.start, product)
    else:
        for some in [slice(None)] if same else chunks(data[:, part]):
            product += rows[:, some] @ data[some, part].astype(rows.dtype, copy=False)
    return product
