"""The training rows: blocks, where they live, and sums over them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .losses import Floats, Labels, LogisticLoss
from .pools import Pool
from .threads import single_threaded_blas

# Rows a block. Measured at 60000 x 200 columns, 10 classes, two threads: blocks of
# 2048 and of 4096 evaluate the loss equally fast, smaller ones up to half slower.
BLOCK_ROWS = 4096

# A trial step of a solver may be far too long: it sees a value that is not finite, and
# nobody else sees anything.
may_overflow = np.errstate(over="ignore", invalid="ignore")


@dataclass
class Block:
    """Some rows: the pool's encoding, labels, weights and the columns chosen so far."""

    data: Any
    y: Labels  # (n,)
    weight: Floats  # (n,)
    columns: Floats  # (capacity, n); the first Rows.n_columns are in use
    residual: Floats  # (k, n) of the last evaluation


class Rows:
    """All training rows as blocks, and totals over them.

    The number of blocks depends on the rows alone, each block is computed by one
    thread with single-threaded BLAS, and the parts are added in the order of the rows.
    So every total is the same to the last bit for any number of threads.

    Parameters
    ----------
    X, y, weight :
        The rows, with labels ``0 .. n_classes - 1`` and positive weights.
    pool : Pool
        A pool fitted on X.
    n_classes : int
        k.
    intercept : bool
        Whether the first column is the constant 1. The columns that follow are then
        centred as they are appended; the intercept absorbs the shift.

    Notes
    -----
    Use as a context manager: it holds the threads and BLAS's limit. The number of
    threads is the one that BLAS is allowed on entry (``threadpoolctl``'s limits and
    ``OMP_NUM_THREADS`` count).
    """

    def __init__(
        self,
        X: Any,
        y: Labels,
        weight: NDArray[np.float64],
        pool: Pool,
        n_classes: int,
        intercept: bool,
    ):
        self.pool = pool
        self.n_classes = n_classes
        self.intercept = intercept
        self.total_weight = float(weight.sum())
        self.centers: list[float] = []  # of the appended columns
        self.scales: list[float] = []
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        n_blocks = -(-y.size // BLOCK_ROWS)
        edges = np.linspace(0, y.size, n_blocks + 1).astype(int)
        self.blocks = []
        for start, stop in pairwise(edges):
            rows = slice(int(start), int(stop))
            n = rows.stop - rows.start
            block = Block(
                data=pool.encode(X, rows),
                y=y[rows],
                weight=weight[rows].astype(pool.dtype_),
                columns=np.empty((8, n), dtype=pool.dtype_),
                residual=np.empty((n_classes, n), dtype=pool.dtype_),
            )
            if intercept:
                block.columns[0] = 1.0
            self.blocks.append(block)
        self._resources = ExitStack()
        self._map: Callable[..., Any] = map

    def __enter__(self) -> Self:
        threads = self._resources.enter_context(single_threaded_blas)
        if min(threads, len(self.blocks)) > 1:
            executor = ThreadPoolExecutor(min(threads, len(self.blocks)))
            self._map = self._resources.enter_context(executor).map
        return self

    def __exit__(self, *exception: object) -> None:
        self._map = map
        self._resources.close()

    @property
    def n_columns(self) -> int:
        """Columns in use, the intercept's included."""
        return int(self.intercept) + len(self.scales)

    def total(self, part: Callable[[Block], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the sum over blocks of each value that ``part(block)`` returns, in float64."""
        sums: list[Any] | None = None
        for values in self._map(part, self.blocks):
            if sums is None:
                sums = [np.array(value, dtype=np.float64) for value in values]
            else:
                for total, value in zip(sums, values, strict=True):
                    total += value
        assert sums is not None
        return tuple(sums)

    def append(self, atom: int) -> None:
        """Append the atom's columns to every block, scaled and, with an intercept, centred."""

        def raw(block: Block) -> NDArray[np.float64]:
            # Contiguous, so that dense and sparse columns are summed in the same order.
            return np.ascontiguousarray(self.pool.columns(block.data, atom), dtype=np.float64)

        scales = self.pool.scales(atom)
        centers = np.zeros(scales.size)
        if self.intercept:
            (centers,) = self.total(lambda block: (raw(block) @ block.weight,))
            centers /= self.total_weight
        start, stop = self.n_columns, self.n_columns + scales.size

        def write(block: Block) -> tuple[()]:
            if stop > block.columns.shape[0]:
                grown = np.empty((2 * stop, block.y.size), dtype=block.columns.dtype)
                grown[:start] = block.columns[:start]
                block.columns = grown
            block.columns[start:stop] = (raw(block) - centers[:, None]) / scales[:, None]
            return ()

        self.total(write)
        self.centers += centers.tolist()
        self.scales += scales.tolist()

    def evaluate(
        self, W: NDArray[np.float64], loss: LogisticLoss
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the total loss at W, (k, n_columns), and its gradient.

        Leaves in every block the residual at W: step 3 of Algorithm 1.
        """

        @may_overflow
        def part(block: Block) -> tuple[float, Floats]:
            columns = block.columns[: W.shape[1]]
            np.matmul(W.astype(columns.dtype), columns, out=block.residual)
            value = loss.value_and_residual(block.residual, block.y, block.weight)
            return value, block.residual @ columns.T

        value, gradient = self.total(part)
        return float(value), gradient
