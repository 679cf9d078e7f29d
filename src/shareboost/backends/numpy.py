"""Arrays of NumPy, computed by the threads of this machine."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..gram import Factor, Gram
from ..threads import Workers, blas
from .base import Backend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ..arrays import Array, Map
    from ..model import Model
    from ..pools.base import Pool
    from ..pools.features import Features

# Rows a block. Measured at 60000 x 200 columns, 10 classes, two threads: blocks of
# 2048 and of 4096 evaluate the loss equally fast, smaller ones up to half slower.
BLOCK_ROWS = 4096
# What the scores of a block take, about, in float64. An evaluation goes over them a dozen times:
# those of 5,000 classes in blocks of 3,334 rows took twice as long as in blocks that fit the cache.
BLOCK_BYTES = 1 << 23
# Never fewer rows, where there are so many classes: each block has sums of its own.
SMALLEST_BLOCK = 128


class NumpyBackend(Backend):
    """NumPy's arrays.

    The number of blocks depends on the rows and classes alone, each block is computed by one
    thread with single-threaded BLAS, and the parts are added in the order of the rows. So every
    total is the same to the last bit for any number of threads. There are as many threads as both
    BLAS and Numba are allowed (the limits of ``threadpoolctl``, of ``numba.set_num_threads``,
    ``OMP_NUM_THREADS`` and ``NUMBA_NUM_THREADS`` count).
    """

    xp = np
    name: str | None = None
    columns_apart = True

    @contextmanager
    def deterministic(self) -> Iterator[Map]:
        with blas.single_threaded() as n_threads, Workers(n_threads) as workers:
            yield workers.map

    def edges(self, n_rows: int, n_classes: int) -> list[int]:
        fitting = max(SMALLEST_BLOCK, BLOCK_BYTES // (8 * n_classes))
        n_blocks = -(-n_rows // min(BLOCK_ROWS, fitting))
        return np.linspace(0, n_rows, n_blocks + 1).astype(int).tolist()

    def rows(self, X: Any) -> Any:
        return X

    def form(self, pool: Pool) -> Pool:
        return pool

    def columns(self, features: Features, X: Any) -> Any:
        return features.columns(X)

    def scores(self, model: Model, rows: Any) -> NDArray[np.float64]:
        return model.scores(rows)

    def best(self, model: Model, rows: Any) -> NDArray[np.intp]:
        return model.best(rows)

    def gram(self, rounding: float) -> Gram:
        return Gram(rounding, Factor([]))

    def asarray(self, values: Any, dtype: Any = None) -> NDArray[Any]:
        return np.asarray(values, dtype=dtype)

    def numpy(self, array: Array) -> NDArray[Any]:
        return array

    def zeros(self, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        return np.zeros(shape, dtype=dtype)

    def product(self, W: Array, columns: Array, out: Array) -> None:
        from ..kernels.products import add_product

        out[:] = 0.0
        add_product(np.ascontiguousarray(W), columns, 0, out)

    def correlated(self, rows: Array, columns: Array) -> NDArray[Any]:
        from ..kernels.products import add_product_transposed

        product = np.zeros((rows.shape[0], columns.shape[0]), dtype=rows.dtype)
        add_product_transposed(rows, columns, product)
        return product

    def inner(self, rows: Array, columns: Array) -> NDArray[Any]:
        return rows @ columns.T


NUMPY = NumpyBackend()
