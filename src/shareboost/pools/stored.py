"""The stored entries of a block of rows, column by column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Stored(NamedTuple):
    """Entries of a block's columns; all others of a column have one value in common.

    Column j has the entries from ``pointers[j]`` to ``pointers[j + 1]``, no two of one example.
    """

    values: NDArray[Any]  # (stored,)
    examples: NDArray[np.unsignedinteger]  # (stored,), the row in the block of each
    pointers: NDArray[np.integer]  # (columns + 1,)
    n_examples: int

    @classmethod
    def of(cls, X: Any, rows: slice) -> Stored:
        """Return the entries of some rows of a sparse matrix."""
        block = X[rows].tocsc()
        block.sum_duplicates()
        examples = block.indices.astype(example_type(block.shape[0]))
        return cls(block.data, examples, block.indptr, block.shape[0])

    def range(self, column: int) -> slice:
        """Return where the entries of a column are."""
        return slice(int(self.pointers[column]), int(self.pointers[column + 1]))

    def column(self, column: int, common: Any, dtype: Any) -> NDArray[Any]:
        """Return a column as (n,), with the value that its other entries have."""
        found = np.full(self.n_examples, common, dtype=dtype)
        own = self.range(column)
        found[self.examples[own]] = self.values[own]
        return found


def example_type(n_examples: int) -> np.dtype[Any]:
    """Return a type for the rows of a block: two bytes, which tell those of a usual one apart."""
    return np.promote_types(np.uint16, np.min_scalar_type(n_examples))
