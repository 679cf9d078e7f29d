"""Arrays of NumPy, computed by the threads of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..gram import Gram, PanelFactor
from ..threads import Workers, single_threaded_blas
from .base import Backend

if TYPE_CHECKING:
    from ..arrays import Array, Map, Scalar, Starts
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

_scratch = local()


class NumpyBackend(Backend):
    """NumPy's arrays.

    The number of blocks depends on the rows and classes alone, each block is computed by one
    thread with single-threaded BLAS, and the parts are added in the order of the rows. So every
    total is the same to the last bit for any number of threads. There are as many threads as both
    BLAS and Numba are allowed (the limits of ``threadpoolctl``, of ``numba.set_num_threads``,
    ``OMP_NUM_THREADS`` and ``NUMBA_NUM_THREADS`` count).
    """

    xp = np
    columns_apart = True

    @property
    def name(self) -> None:
        return None

    def check_beside(self, X: Any, what: str) -> None:
        raise ValueError(
            f"{what} is on {X.device}, and the fit in NumPy: give both in arrays of one kind, or "
            "set device to fit there."
        )

    @contextmanager
    def settled(self) -> Iterator[Map]:
        with single_threaded_blas as n_threads, Workers(n_threads) as workers:
            yield workers.map

    def edges(self, n_rows: int, n_classes: int) -> list[int]:
        fitting = max(SMALLEST_BLOCK, BLOCK_BYTES // (8 * n_classes))
        n_blocks = -(-n_rows // min(BLOCK_ROWS, fitting))
        return np.linspace(0, n_rows, n_blocks + 1).astype(int).tolist()

    def rows(self, X: Any) -> Any:
        return X

    def form(self, pool: Pool) -> Pool:
        return pool

    def columns(self, features: Features, X: Any) -> NDArray[Any]:
        found = features.columns(X)
        return found.toarray() if sp.issparse(found) else found

    def transformed(self, features: Features, rows: Any) -> Any:
        return features.columns(rows)

    def scores(self, model: Model, rows: Any) -> NDArray[np.float64]:
        return model.scores(rows)

    def best(self, model: Model, rows: Any) -> NDArray[np.intp]:
        return model.best(rows)

    def gram(self, rounding: float) -> Gram:
        return Gram(rounding, PanelFactor([]))

    def asarray(self, values: Any, dtype: Any = None) -> NDArray[Any]:
        return np.asarray(values, dtype=dtype)

    def numpy(self, array: Array) -> NDArray[Any]:
        return array

    def numbers(self, scalars: Sequence[Scalar]) -> list[float]:
        found: list[float] = []
        for scalar in scalars:
            found.extend(scalar.tolist() if np.ndim(scalar) else (float(scalar),))
        return found

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.empty(shape, dtype=dtype)

    def cast(self, array: Array, dtype: np.dtype[Any]) -> NDArray[Any]:
        return array.astype(dtype, copy=False)

    def copy(self, array: Array) -> NDArray[Any]:
        return array.copy()

    def product(self, W: Array, columns: Array, out: Array) -> None:
        from ..kernels.products import add_product

        out[:] = 0.0
        add_product(np.ascontiguousarray(W), columns, out)

    def correlated(self, rows: Array, columns: Array) -> NDArray[Any]:
        from ..kernels.products import add_product_transposed

        product = np.zeros((rows.shape[0], columns.shape[0]), dtype=rows.dtype)
        add_product_transposed(rows, columns, product)
        return product

    def inner(self, rows: Array, columns: Array) -> NDArray[Any]:
        return rows @ columns.T

    def less_mean(self, residual: Array, mean: Array, weight: Array) -> NDArray[Any]:
        """Write to memory of the thread's own, used again and again.

        New memory may come with a page fault for every 4 KiB of it, as on Dask's workers, which
        give back what is freed: the faults took four times as long as the sums.
        """
        shape = residual.shape
        flat = getattr(_scratch, "numbers", np.empty(0))
        if flat.size < residual.size:
            flat = _scratch.numbers = np.empty(residual.size)
        out = flat[: residual.size].reshape(shape)
        np.multiply(mean[:, None], weight, out=out)
        return np.subtract(residual, out, out=out)

    def segments(self, starts: Starts, n: int) -> Any:
        return np.asarray(starts) if len(starts) < n else None

    def sums_over(self, segments: Any, values: Array) -> NDArray[Any]:
        return values if segments is None else np.add.reduceat(values, segments)


NUMPY = NumpyBackend()
