"""Some of the training rows as blocks, and totals over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Map, Scalar, cast, copied, less_mean, namespace, to_float64
from .progress import track

if TYPE_CHECKING:
    from .backends import Backend
    from .losses import Labels, Loss
    from .pools import Pool

# A trial step of a solver may be far too long, and columns may be too large: whoever asked sees
# a value that is not finite, and nobody else sees anything.
may_overflow = np.errstate(over="ignore", invalid="ignore", divide="ignore")

# Of what statistics are taken: a block's residual, its curvature or its weights, as the pool
# wants them; and whether they are for ``Pool.moments``.
RESIDUAL, CURVATURE, WEIGHT = "residual", "curvature", "weight"
Wanted = tuple[str, bool]


@dataclass
class Block:
    """Some rows: the pool's encoding, labels, weights and the columns chosen so far."""

    data: Any
    y: Array  # (n,), labels
    weight: Array  # (n,)
    columns: Array  # (capacity, n); the first Rows.n_columns are in use
    residual: Array  # (k, n) of the last evaluation
    prepared: Any = None  # that residual as the pool wants it
    curvature: Any = None  # the loss's in each score, as the pool wants it
    candidates: dict[int, Array] = field(default_factory=dict)  # columns that are slow to compute

    def with_nothing_chosen(self) -> Block:
        """Return a block of the same rows and encoding, with no column but the intercept."""
        first, residual = copied(self.columns[:1]), copied(self.residual)
        return Block(self.data, self.y, self.weight, first, residual)


class Chosen(NamedTuple):
    """An atom in use, and how its columns were brought into training units."""

    atom: int
    centers: NDArray[np.float64]
    scales: NDArray[np.float64]


class Shard:
    """Some rows, all of them in one fit or those of a worker, and totals over them.

    Every method that returns a tuple returns totals over the rows, in float64: those of
    several shards add up. Arrays live where ``backend`` says.

    Parameters
    ----------
    pool : Pool
        A fitted pool, in the form of the backend.
    n_classes : int
        k.
    intercept : bool
        Whether the first column is the constant 1.
    backend : Backend
        Where the arrays live.
    """

    def __init__(self, pool: Pool, n_classes: int, intercept: bool, backend: Backend):
        self.pool = pool
        self.n_classes = n_classes
        self.intercept = intercept
        self.backend = backend
        self.blocks: list[Block] = []
        self.map: Map = map
        self.loss: Loss  # evaluated last

    def encode(self, X: Any, y: Labels, weight: NDArray[np.float64]) -> None:
        """Cut the rows into blocks in the pool's encoding."""
        X = X.tocsr() if hasattr(X, "tocsr") else X
        rows = [slice(*pair) for pair in pairwise(self.backend.edges(y.size, self.n_classes))]
        blocks = self.map(
            lambda some: self._block(self.pool.encode(X, some), y[some], weight[some]), rows
        )
        self.blocks = list(track(blocks, "encoding rows", len(rows)))

    def _block(self, data: Any, y: Labels, weight: NDArray[np.float64]) -> Block:
        """Return a block of rows whose encoding is known, with no column but the intercept."""
        backend, dtype = self.backend, self.pool.dtype_
        block = Block(
            data=data,
            y=backend.asarray(y),
            weight=backend.asarray(weight.astype(dtype)),
            columns=backend.zeros((8, y.size), dtype),
            residual=backend.zeros((self.n_classes, y.size), dtype),
        )
        if self.intercept:
            block.columns[0] = 1.0
        return block

    def total(self, part: Callable[[Block], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the sum over blocks of each value that ``part(block)`` returns, in float64."""
        sums: list[Any] | None = None
        for values in self.map(part, self.blocks):
            if sums is None:
                sums = [self._summand(value) for value in values]
            else:
                for total, value in zip(sums, values, strict=True):
                    total += value
        assert sums is not None
        return tuple(sums)

    def _summand(self, value: Any) -> Array:
        """Return a value of the first block in float64, to add the others to."""
        backend = self.backend
        if isinstance(value, float):  # as NumPy's scalars are, which cannot be added to
            return backend.asarray(np.array(value))
        wide = to_float64(value)
        return copied(wide) if wide is value and len(self.blocks) > 1 else wide

    # The chosen columns.

    def write(self, atom: int, start: int, stop: int) -> tuple[Array, ...]:
        """Write the atom's columns to those places; return their weighted sums."""

        @may_overflow
        def write(block: Block) -> tuple[Array]:
            self._make_room(block, start, stop)
            block.columns[start:stop] = self._columns_of(block, atom)
            if not self.intercept:  # nothing is centred
                return (self.backend.zeros((stop - start,)),)
            return (to_float64(block.columns[start:stop]) @ to_float64(block.weight),)

        return self.total(write)

    def _columns_of(self, block: Block, atom: int) -> Array:
        """Return the columns of an atom on a block, (columns, n), in X's units."""
        return self.pool.columns(block.data, atom)

    def _make_room(self, block: Block, start: int, stop: int) -> None:
        """Make room for columns up to ``stop``; those before ``start`` are kept."""
        if stop > block.columns.shape[0]:
            shape = 2 * stop, block.columns.shape[1]
            grown = self.backend.zeros(shape, self.pool.dtype_)
            grown[:start] = block.columns[:start]
            block.columns = grown

    def scale(
        self, start: int, stop: int, centers: Array, scales: NDArray[np.float64]
    ) -> tuple[Array, ...]:
        """Bring columns just written into training units; return their products with all."""
        self._rescale(start, stop, centers, scales)
        return self.products(start, stop)

    def _rescale(self, start: int, stop: int, centers: Array, scales: NDArray[np.float64]) -> None:
        """Bring columns just written into training units."""
        backend = self.backend
        middles, divisors = backend.asarray(centers)[:, None], backend.asarray(scales)[:, None]

        @may_overflow
        def scale(block: Block) -> None:
            new = block.columns[start:stop]
            new[:] = (to_float64(new) - middles) / divisors

        list(self.map(scale, self.blocks))

    def products(self, start: int, stop: int) -> tuple[Array, ...]:
        """Return the weighted products of the columns from ``start`` on with all."""
        backend = self.backend

        @may_overflow
        def products(block: Block) -> tuple[Array]:
            new = block.columns[start:stop] * block.weight
            return (backend.inner(new, block.columns[:stop]),)

        return self.total(products)

    def take_out(self, start: int, stop: int, n_columns: int) -> list[Array]:
        """Take columns out; later ones move up. Return those of each block."""

        def take_out(block: Block) -> Array:
            taken = copied(block.columns[start:stop])
            later = copied(block.columns[stop:n_columns])  # the two overlap
            block.columns[start : n_columns - (stop - start)] = later
            return taken

        return list(self.map(take_out, self.blocks))

    def put_back(self, start: int, stop: int, n_columns: int, columns: list[Array]) -> None:
        """Put columns back to where they were taken out, of as many as are left."""

        def put_back(pair: tuple[Block, Array]) -> None:
            block, taken = pair
            later = copied(block.columns[start:n_columns])
            block.columns[stop : n_columns + stop - start] = later
            block.columns[start:stop] = taken

        list(self.map(put_back, zip(self.blocks, columns, strict=True)))

    # At a point: what is evaluated leaves its residuals in the blocks.

    def evaluate(self, W: Array, loss: Loss, n_columns: int) -> tuple[Scalar, Array]:
        """Return the loss at W and its gradient in the first columns; leave the residuals."""
        backend = self.backend
        self.loss = loss
        W = backend.asarray(W)
        weights = cast(W, self.pool.dtype_)

        @may_overflow
        def part(block: Block) -> tuple[Scalar, Array]:
            return loss.evaluate(backend, weights, block, n_columns)

        value, gradient = self.total(part)
        return value, gradient

    def correlate(self, start: int, stop: int) -> tuple[Array, ...]:
        """Return the residuals times some of the columns, (k, stop - start)."""
        return self.total(lambda block: (self._correlated(block, start, stop),))

    def _correlated(self, block: Block, start: int, stop: int) -> Array:
        return self.backend.correlated(block.residual, block.columns[start:stop])

    def curvature_product(self, V: Array) -> tuple[Array, ...]:
        """Return the Hessian of the loss in the weights times V, (k, columns)."""
        backend, loss = self.backend, self.loss
        weights = cast(backend.asarray(V), self.pool.dtype_)

        @may_overflow
        def part(block: Block) -> tuple[Array]:
            columns = block.columns[: V.shape[1]]
            direction = weights @ columns
            curved = loss.curvature_product(block.residual, block.y, block.weight, direction)
            return (backend.inner(curved, columns),)

        return self.total(part)

    def total_curvature(self) -> tuple[Scalar, ...]:
        """Return the loss's curvature, summed over classes and examples."""
        loss = self.loss
        return self.total(
            lambda block: (loss.total_curvature(block.residual, block.y, block.weight),)
        )

    def class_curvatures(self) -> tuple[Array, ...]:
        """Return the loss's curvature in the scores of each class, (k,)."""
        return self.total(lambda block: (self._curvatures(block).sum(axis=1),))

    def _curvatures(self, block: Block) -> Array:
        """Return the curvature of the loss in each score, (k, n), at the point evaluated last."""
        return self.loss.curvatures(block.residual, block.y, block.weight)

    def residual_sums(self) -> tuple[Array, ...]:
        """Return the sums of the residuals over examples, (k,)."""
        return self.total(lambda block: (_over_examples(block.residual),))

    def prepare(self, mean: Array, curvatures: bool) -> tuple[Array, ...]:
        """Leave in every block its residual, less weight times the mean, as the pool wants it.

        If asked for, also the curvature of the loss in each score, whose sums over examples,
        (k,), it returns.
        """
        backend = self.backend
        mean = backend.asarray(mean)

        def prepare(block: Block) -> tuple[Array]:
            centred = less_mean(block.residual, mean, block.weight)
            prepared = self.pool.prepare(centred)
            block.prepared = _apart(prepared, centred)
            if not curvatures:
                return (backend.zeros((self.n_classes,)),)
            curvature = self._curvatures(block)
            block.curvature = self.pool.prepare(curvature)
            return (_over_examples(curvature),)

        return self.total(prepare)

    # Statistics of all atoms.

    def over_parts(
        self, parts: Sequence[slice], wanted: Sequence[Wanted], task: Callable[..., Any]
    ) -> list[Any]:
        """Return ``task(part, stats)`` for some parts of the pool, in order.

        The statistics are those wanted, summed over all blocks. A pool of one part is summed
        over blocks in parallel, one of many over parts; which of the two depends on the pool
        alone, so the sums do not depend on the threads.
        """
        if len(parts) == 1 and not self.pool.adds_in_place:
            return [task(parts[0], [self._by_blocks(parts[0], *one) for one in wanted])]
        return list(
            self.map(lambda part: task(part, [self._in_place(part, *one) for one in wanted]), parts)
        )

    def _by_blocks(self, part: slice, signal: str, squares: bool) -> Array:
        (stats,) = self.total(lambda block: (self._stats(block, part, signal, squares),))
        return stats

    def _in_place(self, part: slice, signal: str, squares: bool) -> Array:
        first, *others = self.blocks
        stats = to_float64(self._stats(first, part, signal, squares))
        for block in others:
            self._stats(block, part, signal, squares, stats)
        return stats

    @may_overflow
    def _stats(
        self, block: Block, part: slice, signal: str, squares: bool, out: Array | None = None
    ) -> Array:
        """Return a statistic of a block."""
        return self.pool.stats(block.data, self._signal(block, signal), part, out, squares)

    def _signal(self, block: Block, signal: str) -> Any:
        """Return what statistics of a block are taken of."""
        if signal != WEIGHT:
            return block.prepared if signal == RESIDUAL else block.curvature
        # As many rows as everywhere: no second compilation of a kernel.
        alike = self.backend.zeros((self.n_classes, len(block.weight)), self.pool.dtype_)
        alike[:] = block.weight
        return self.pool.prepare(alike)


def _apart(prepared: Any, memory: Array) -> Any:
    """Return what a pool prepared, copied where it is in memory that is used again."""
    if isinstance(prepared, list):
        return [_apart(one, memory) for one in prepared]
    both = isinstance(prepared, np.ndarray) and isinstance(memory, np.ndarray)
    return prepared.copy() if both and np.may_share_memory(prepared, memory) else prepared


def _over_examples(rows: Array) -> Array:
    """Return the sums over examples, (k,), in float64."""
    return rows.sum(axis=1, dtype=namespace(rows).float64)
