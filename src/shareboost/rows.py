"""The training rows: blocks, where they live, and sums over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .gram import Gram
from .losses import Floats, Labels, Loss
from .pools import Pool
from .progress import track
from .threads import Workers, single_threaded_blas

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
    prepared: Any = None  # that residual as the pool wants it
    curvature: Any = None  # the loss's in each score, as the pool wants it


class Chosen(NamedTuple):
    """An atom in use, and how its columns were brought into training units."""

    atom: int
    centers: NDArray[np.float64]
    scales: NDArray[np.float64]


class Removed(NamedTuple):
    """An atom taken out, with all that it takes to put it back."""

    place: int
    chosen: Chosen
    columns: list[Floats]  # of each block
    gram: Gram


class Evaluated(NamedTuple):
    """What an evaluation found, whose residuals are still in the blocks."""

    W: NDArray[np.float64]  # without columns of zeros at its end
    loss: Loss
    value: float
    gradient: NDArray[np.float64]  # in the weights of these and perhaps more columns


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
    Use as a context manager: it holds the threads and BLAS's limit. There are as many
    threads as both BLAS and Numba are allowed on entry (the limits of ``threadpoolctl``, of
    ``numba.set_num_threads``, ``OMP_NUM_THREADS`` and ``NUMBA_NUM_THREADS`` count).
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
        self.chosen: list[Chosen] = []  # in the order of their columns
        self.gram = Gram(0.0)
        self.blocks: list[Block] = []
        self._known: Evaluated | None = None  # columns appended since do not change it
        self._source = (X.tocsr() if hasattr(X, "tocsr") else X, y, weight)
        self._resources = ExitStack()
        self._map: Callable[..., Iterator[Any]] = map

    def __enter__(self) -> Self:
        n_threads = self._resources.enter_context(single_threaded_blas)
        self._map = self._resources.enter_context(Workers(n_threads)).map
        try:
            self._encode(*self._source)
            del self._source
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._map = map
        self._resources.close()

    def _encode(self, X: Any, y: Labels, weight: NDArray[np.float64]) -> None:
        """Cut the rows into blocks in the pool's encoding."""
        n_blocks = -(-y.size // BLOCK_ROWS)
        edges = np.linspace(0, y.size, n_blocks + 1).astype(int).tolist()

        def block(rows: slice) -> Block:
            n = rows.stop - rows.start
            block = Block(
                data=self.pool.encode(X, rows),
                y=y[rows],
                weight=weight[rows].astype(self.pool.dtype_),
                columns=np.empty((8, n), dtype=self.pool.dtype_),
                residual=np.empty((self.n_classes, n), dtype=self.pool.dtype_),
            )
            if self.intercept:
                block.columns[0] = 1.0
            return block

        rows = [slice(*pair) for pair in pairwise(edges)]
        self.blocks = list(track(self.map(block, rows), "encoding rows", len(rows)))
        self.reset(())

    @property
    def atoms(self) -> tuple[int, ...]:
        """The chosen atoms."""
        return tuple(chosen.atom for chosen in self.chosen)

    @property
    def starts(self) -> list[int]:
        """Where the columns of each atom start, and at last where a next one would.

        The intercept, where there is one, counts as the first atom.
        """
        widths = [1] * self.intercept + [chosen.scales.size for chosen in self.chosen]
        return list(accumulate(widths, initial=0))

    @property
    def n_columns(self) -> int:
        """Columns in use, the intercept's included."""
        return self.starts[-1]

    def map(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``task(item)`` for each item in order, computed by all threads."""
        return self._map(task, items)

    def total(self, part: Callable[[Block], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the sum over blocks of each value that ``part(block)`` returns, in float64."""
        sums: list[Any] | None = None
        for values in self.map(part, self.blocks):
            if sums is None:
                sums = [np.array(value, dtype=np.float64) for value in values]
            else:
                for total, value in zip(sums, values, strict=True):
                    total += value
        assert sums is not None
        return tuple(sums)

    def append(self, atom: int) -> None:
        """Append the atom's columns to every block, scaled and, with an intercept, centred."""
        scales = self.pool.scales(atom)
        start, stop = self.n_columns, self.n_columns + scales.size

        def write(block: Block) -> tuple[NDArray[np.float64]]:
            if stop > block.columns.shape[0]:
                grown = np.empty((2 * stop, block.y.size), dtype=block.columns.dtype)
                grown[:start] = block.columns[:start]
                block.columns = grown
            block.columns[start:stop] = self.pool.columns(block.data, atom)
            raw = block.columns[start:stop].astype(np.float64)
            return (raw @ block.weight if self.intercept else np.zeros(scales.size),)

        (centers,) = self.total(write)
        centers /= self.total_weight

        def scale(block: Block) -> tuple[Floats]:
            new = block.columns[start:stop]
            new[:] = (new.astype(np.float64) - centers[:, None]) / scales[:, None]
            return ((new * block.weight) @ block.columns[:stop].T,)

        (products,) = self.total(scale)
        self.gram.extend(products / self.total_weight)
        self.chosen.append(Chosen(atom, centers, scales))

    def reset(self, atoms: tuple[int, ...]) -> None:
        """Choose these atoms and no others, as if they had been appended one by one."""
        self._known = None
        self.chosen = []
        self.gram = Gram(float(np.finfo(self.pool.dtype_).eps))
        if self.intercept:
            self.gram.extend(np.ones((1, 1)))
        for atom in atoms:
            self.append(atom)

    def twin(self) -> Rows:
        """Return the same rows, of which other atoms may be chosen."""
        return self._beside([block.y for block in self.blocks], self.n_classes)

    def relabelled(self, y: Labels, n_classes: int) -> Rows:
        """Return the same rows with other labels, of which other atoms may be chosen."""
        edges = np.cumsum([block.y.size for block in self.blocks])
        return self._beside(np.split(y, edges[:-1]), n_classes)

    def _beside(self, labels: list[Labels], n_classes: int) -> Rows:
        """Return rows that share the encoding and the threads, with nothing chosen yet."""
        rows = copy(self)
        rows.n_classes = n_classes
        rows.blocks = [
            replace(
                block,
                y=y,
                columns=block.columns[:1].copy(),
                residual=np.empty((n_classes, y.size), dtype=block.residual.dtype),
                prepared=None,
                curvature=None,
            )
            for block, y in zip(self.blocks, labels, strict=True)
        ]
        rows.reset(())
        return rows

    def remove(self, place: int) -> Removed:
        """Take out the atom at that place among the chosen ones; later ones move up."""
        start, stop = self.starts[self.intercept + place :][:2]
        n = self.n_columns
        known = self._known
        if known is not None:  # the last columns may go, where they had no weight
            kept = stop == n and known.W.shape[1] <= start
            short = known._replace(gradient=known.gradient[:, :start])
            self._known = short if kept else None

        def take_out(block: Block) -> Floats:
            taken = block.columns[start:stop].copy()
            block.columns[start : n - (stop - start)] = block.columns[stop:n]
            return taken

        columns = list(self.map(take_out, self.blocks))
        before = self.gram.remove(self.intercept + place)
        return Removed(place, self.chosen.pop(place), columns, before)

    def restore(self, removed: Removed) -> None:
        """Put an atom back to its place; nothing else may have changed since it was removed."""
        self._known = None
        n = self.n_columns
        self.chosen.insert(removed.place, removed.chosen)
        start, stop = self.starts[self.intercept + removed.place :][:2]

        def put_back(pair: tuple[Block, Floats]) -> None:
            block, taken = pair
            block.columns[stop : n + stop - start] = block.columns[start:n]
            block.columns[start:stop] = taken

        list(self.map(put_back, zip(self.blocks, removed.columns, strict=True)))
        self.gram = removed.gram

    def prepare(self, curvatures: bool = False) -> NDArray[np.float64]:
        """Leave in every block its residual, as the pool wants it; return sums of curvatures.

        With an intercept, less ``weight`` times its weighted mean: its correlation with a
        column is that of the residual with the centred column. If asked for, also leaves
        the curvature of the loss in each score, whose sums over examples, (k,), it returns.
        """
        mean = np.zeros((self.n_classes, 1))
        if self.intercept:
            (total,) = self.total(lambda block: (block.residual.sum(axis=1, dtype=np.float64),))
            mean = total[:, None] / self.total_weight

        def prepare(block: Block) -> tuple[NDArray[np.float64]]:
            block.prepared = self.pool.prepare(block.residual - mean * block.weight)
            if not curvatures:
                return (np.zeros(self.n_classes),)
            curvature = Loss.curvatures(block.residual, block.weight)
            block.curvature = self.pool.prepare(curvature)
            return (curvature.sum(axis=1, dtype=np.float64),)

        (sums,) = self.total(prepare)
        return sums

    def evaluate(self, W: NDArray[np.float64], loss: Loss) -> tuple[float, NDArray[np.float64]]:
        """Return the total loss at W, (k, n_columns), and its gradient.

        Leaves in every block the residual at W: step 3 of Algorithm 1. A point that was just
        evaluated is not evaluated again, nor one that only has more columns of weight zero; the
        result is the same, to the last bit, as if it were.
        """
        used = np.flatnonzero(W.any(axis=0))
        n_used, n_asked = int(used[-1]) + 1 if used.size else 0, W.shape[1]
        known = self._known
        if known is None or known.loss != loss or not np.array_equal(known.W, W[:, :n_used]):
            known = self._evaluated(W[:, :n_used], loss, n_asked)
        elif (n_known := known.gradient.shape[1]) < n_asked:
            (more,) = self.total(lambda block: (_correlated(block, n_known, n_asked),))
            known = known._replace(gradient=np.hstack([known.gradient, more]))
        self._known = known
        return known.value, known.gradient[:, :n_asked].copy()

    def leave(self, residuals: Iterable[Floats]) -> None:
        """Leave other residuals, (k, n) of each block, instead of those of an evaluation."""
        self._known = None
        for block, residual in zip(self.blocks, residuals, strict=True):
            block.residual[:] = residual

    def _evaluated(self, W: NDArray[np.float64], loss: Loss, n_columns: int) -> Evaluated:
        """Return the loss at W and its gradient in the first columns; leave the residuals."""
        from .kernels.few_rows import add_product

        self._known = None  # whatever happens on the way
        weights = np.ascontiguousarray(W, dtype=self.pool.dtype_)

        @may_overflow
        def part(block: Block) -> tuple[float, Floats]:
            block.residual[:] = 0.0
            add_product(weights, block.columns[: W.shape[1]], block.residual)
            value = loss.value_and_residual(block.residual, block.y, block.weight)
            return value, _correlated(block, 0, n_columns)

        value, gradient = self.total(part)
        return Evaluated(W.copy(), loss, float(value), gradient)


def _correlated(block: Block, start: int, stop: int) -> Floats:
    """Return the residual times some of the block's columns, (k, stop - start)."""
    from .kernels.few_rows import add_product_transposed

    product = np.zeros((block.residual.shape[0], stop - start), dtype=block.residual.dtype)
    add_product_transposed(block.residual, block.columns[start:stop], product)
    return product
