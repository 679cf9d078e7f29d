"""The training rows: blocks, where they live, and sums over them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .losses import Floats, Labels, Loss
from .places import HOST, Place, namespace
from .places.base import Array, Scalar
from .pools import Pool
from .progress import track

# A trial step of a solver may be far too long: it sees a value that is not finite, and
# nobody else sees anything.
may_overflow = np.errstate(over="ignore", invalid="ignore")


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


class Chosen(NamedTuple):
    """An atom in use, and how its columns were brought into training units."""

    atom: int
    centers: NDArray[np.float64]
    scales: NDArray[np.float64]


class _Layout(NamedTuple):
    """Where the columns of chosen atoms are."""

    chosen: tuple[Chosen, ...]
    starts: list[int]  # of each atom, and at last where a next one would start
    segments: Any


class Removed(NamedTuple):
    """An atom taken out, with all that it takes to put it back."""

    place: int
    chosen: Chosen
    columns: list[Array]  # of each block
    gram: Any


class Evaluated(NamedTuple):
    """What an evaluation found, whose residuals are still in the blocks."""

    W: Array  # perhaps without columns of zeros at its end
    loss: Loss
    value: Scalar
    gradient: Array  # in the weights of these and perhaps more columns


class Rows:
    """All training rows as blocks, and totals over them.

    They live in NumPy's arrays or on a torch device, as ``place`` says, and so does every
    array here but for what is said to be NumPy's.

    Parameters
    ----------
    X, y, weight :
        The rows, X in its place, with labels ``0 .. n_classes - 1`` and positive weights.
    pool : Pool
        A pool fitted on X, in the form of the place.
    n_classes : int
        k.
    intercept : bool
        Whether the first column is the constant 1. The columns that follow are then
        centred as they are appended; the intercept absorbs the shift.
    place : Place
        Where the arrays live.

    Notes
    -----
    Use as a context manager: it holds what the place needs, threads and their limits.
    """

    def __init__(
        self,
        X: Any,
        y: Labels,
        weight: NDArray[np.float64],
        pool: Pool,
        n_classes: int,
        intercept: bool,
        place: Place = HOST,
    ):
        self.place = place
        self.pool = pool
        self.n_classes = n_classes
        self.intercept = intercept
        self.total_weight = float(weight.sum())
        self.chosen: tuple[Chosen, ...] = ()  # in the order of their columns
        self._layout: _Layout | None = None  # of their columns
        self.gram = place.gram(0.0)
        self.blocks: list[Block] = []
        self._known: Evaluated | None = None  # columns appended since do not change it
        self._source = (X.tocsr() if hasattr(X, "tocsr") else X, y, weight)
        self._resources = ExitStack()
        self._map: Callable[..., Iterator[Any]] = map

    def __enter__(self) -> Self:
        self._map = self._resources.enter_context(self.place.settled())
        try:
            self._encode(*self._source)
            del self._source
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *exception: Any) -> None:
        self._map = map
        # Of an exception the place may have something to say.
        self._resources.__exit__(*(exception or (None, None, None)))

    def _encode(self, X: Any, y: Labels, weight: NDArray[np.float64]) -> None:
        """Cut the rows into blocks in the pool's encoding."""
        place, dtype = self.place, self.pool.dtype_

        def block(rows: slice) -> Block:
            n = rows.stop - rows.start
            block = Block(
                data=self.pool.encode(X, rows),
                y=place.asarray(y[rows]),
                weight=place.asarray(weight[rows].astype(dtype)),
                columns=place.empty((8, n), dtype),
                residual=place.empty((self.n_classes, n), dtype),
            )
            if self.intercept:
                block.columns[0] = 1.0
            return block

        rows = [slice(*pair) for pair in pairwise(place.edges(y.size))]
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
        return self._laid_out().starts

    @property
    def segments(self) -> Any:
        """The columns of each atom, as the place sums over them."""
        return self._laid_out().segments

    def _laid_out(self) -> _Layout:
        """Return where the columns of the chosen atoms are, found anew when these change."""
        if self._layout is None or self._layout.chosen is not self.chosen:
            widths = [1] * self.intercept + [chosen.scales.size for chosen in self.chosen]
            starts = list(accumulate(widths, initial=0))
            segments = self.place.segments(starts[:-1], starts[-1])
            self._layout = _Layout(self.chosen, starts, segments)
        return self._layout

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
                sums = [self._summand(value) for value in values]
            else:
                for total, value in zip(sums, values, strict=True):
                    total += value
        assert sums is not None
        return tuple(sums)

    def _summand(self, value: Any) -> Array:
        """Return a value of the first block in float64, to add the others to."""
        place = self.place
        if isinstance(value, float):  # as NumPy's scalars are, which cannot be added to
            return place.asarray(np.array(value))
        wide = place.wide(value)
        return place.copy(wide) if wide is value and len(self.blocks) > 1 else wide

    def append(self, atom: int) -> None:
        """Append the atom's columns to every block, scaled and, with an intercept, centred."""
        place, scales = self.place, self.pool.scales(atom)
        start, stop = self.n_columns, self.n_columns + scales.size

        def write(block: Block) -> tuple[Array]:
            if stop > block.columns.shape[0]:
                grown = place.empty((2 * stop, block.columns.shape[1]), self.pool.dtype_)
                grown[:start] = block.columns[:start]
                block.columns = grown
            block.columns[start:stop] = self.pool.columns(block.data, atom)
            if not self.intercept:
                return (place.zeros((scales.size,)),)
            return (place.wide(block.columns[start:stop]) @ place.wide(block.weight),)

        (centers,) = self.total(write)
        centers /= self.total_weight
        divisors = place.asarray(scales)

        def scale(block: Block) -> tuple[Array]:
            new = block.columns[start:stop]
            new[:] = (place.wide(new) - centers[:, None]) / divisors[:, None]
            return (place.inner(new * block.weight, block.columns[:stop]),)

        (products,) = self.total(scale)
        self.gram.extend(products / self.total_weight)
        self.chosen = (*self.chosen, Chosen(atom, place.numpy(centers), scales))

    def reset(self, atoms: tuple[int, ...]) -> None:
        """Choose these atoms and no others, as if they had been appended one by one."""
        self._known = None
        self.chosen = ()
        self.gram = self.place.gram(float(np.finfo(self.pool.dtype_).eps))
        if self.intercept:
            self.gram.extend(self.place.asarray(np.ones((1, 1))))
        for atom in atoms:
            self.append(atom)

    def twin(self) -> Rows:
        """Return the same rows, of which other atoms may be chosen."""
        return self._beside([block.y for block in self.blocks], self.n_classes)

    def relabelled(self, y: Labels, n_classes: int) -> Rows:
        """Return the same rows with other labels, of which other atoms may be chosen."""
        edges = np.cumsum([len(block.y) for block in self.blocks])
        return self._beside(list(map(self.place.asarray, np.split(y, edges[:-1]))), n_classes)

    def _beside(self, labels: list[Array], n_classes: int) -> Rows:
        """Return rows that share the encoding and the threads, with nothing chosen yet."""
        rows = copy(self)
        rows.n_classes = n_classes
        rows.blocks = [
            replace(
                block,
                y=y,
                columns=self.place.copy(block.columns[:1]),
                residual=self.place.empty((n_classes, len(y)), self.pool.dtype_),
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
            n_kept = start if self.place.columns_apart else 0
            short = known._replace(gradient=known.gradient[:, :n_kept])
            self._known = short if kept else None

        def take_out(block: Block) -> Array:
            taken = self.place.copy(block.columns[start:stop])
            later = self.place.copy(block.columns[stop:n])  # the two overlap
            block.columns[start : n - (stop - start)] = later
            return taken

        columns = list(self.map(take_out, self.blocks))
        before = self.gram.remove(self.intercept + place)
        removed = Removed(place, self.chosen[place], columns, before)
        self.chosen = (*self.chosen[:place], *self.chosen[place + 1 :])
        return removed

    def restore(self, removed: Removed) -> None:
        """Put an atom back to its place; nothing else may have changed since it was removed."""
        self._known = None
        n = self.n_columns
        earlier, later = self.chosen[: removed.place], self.chosen[removed.place :]
        self.chosen = (*earlier, removed.chosen, *later)
        start, stop = self.starts[self.intercept + removed.place :][:2]

        def put_back(pair: tuple[Block, Array]) -> None:
            block, taken = pair
            later = self.place.copy(block.columns[start:n])
            block.columns[stop : n + stop - start] = later
            block.columns[start:stop] = taken

        list(self.map(put_back, zip(self.blocks, removed.columns, strict=True)))
        self.gram = removed.gram

    def prepare(self, curvatures: bool = False) -> Array:
        """Leave in every block its residual, as the pool wants it; return sums of curvatures.

        With an intercept, less ``weight`` times its weighted mean: its correlation with a
        column is that of the residual with the centred column. If asked for, also leaves
        the curvature of the loss in each score, whose sums over examples, (k,), it returns.
        """
        place = self.place
        mean = place.zeros((self.n_classes, 1))
        if self.intercept:
            (total,) = self.total(lambda block: (_over_examples(block.residual),))
            mean = total[:, None] / self.total_weight

        def prepare(block: Block) -> tuple[Array]:
            block.prepared = self.pool.prepare(block.residual - mean * block.weight)
            if not curvatures:
                return (place.zeros((self.n_classes,)),)
            curvature = Loss.curvatures(block.residual, block.weight)
            block.curvature = self.pool.prepare(curvature)
            return (_over_examples(curvature),)

        (sums,) = self.total(prepare)
        return sums

    def evaluate(self, W: Array, loss: Loss) -> tuple[Scalar, Array]:
        """Return the total loss at W, (k, n_columns), and its gradient.

        Leaves in every block the residual at W: step 3 of Algorithm 1. W is an array of this
        place, or NumPy's. A point that was just evaluated is not evaluated again, nor, of
        NumPy's, one that only has more columns of weight zero; the result is the same, to the
        last bit, as if it were.
        """
        n_asked = W.shape[1]
        if isinstance(W, np.ndarray):
            used = np.flatnonzero(W.any(axis=0))
            W = W[:, : int(used[-1]) + 1 if used.size else 0]
        known = self._known_at(W, loss)
        if known is None:
            known = self._evaluated(W, loss, n_asked)
        elif (n_known := known.gradient.shape[1]) < n_asked:
            start = n_known if self.place.columns_apart else 0
            (more,) = self.total(lambda block: (self._correlated(block, start, n_asked),))
            before = known.gradient[:, :start]
            known = known._replace(gradient=self.place.xp.hstack([before, more]))
        self._known = known
        return known.value, self.place.copy(known.gradient[:, :n_asked])

    def _known_at(self, W: Array, loss: Loss) -> Evaluated | None:
        """Return what was evaluated last, if it was at W.

        Arrays of a device are not compared by what they hold: that would be a wait.
        """
        known = self._known
        if known is None or known.loss != loss:
            return None
        if not isinstance(W, np.ndarray):
            return known if known.W is W else None
        at = known.W if isinstance(known.W, np.ndarray) else self.place.numpy(known.W)
        same = np.array_equal(at[:, : W.shape[1]], W) and not at[:, W.shape[1] :].any()
        return known if same else None

    def leave(self, residuals: Iterable[Floats]) -> None:
        """Leave other residuals, (k, n) of each block, instead of those of an evaluation."""
        self._known = None
        for block, residual in zip(self.blocks, residuals, strict=True):
            block.residual[:] = residual

    def _evaluated(self, W: Array, loss: Loss, n_columns: int) -> Evaluated:
        """Return the loss at W and its gradient in the first columns; leave the residuals."""
        self._known = None  # whatever happens on the way
        place = self.place
        at = W.copy() if isinstance(W, np.ndarray) else W
        W = place.asarray(W)
        weights = place.cast(W, self.pool.dtype_)

        @may_overflow
        def part(block: Block) -> tuple[Scalar, Array]:
            place.product(weights, block.columns[: W.shape[1]], block.residual)
            value = loss.value_and_residual(block.residual, block.y, block.weight)
            return value, self._correlated(block, 0, n_columns)

        value, gradient = self.total(part)
        return Evaluated(at, loss, value, gradient)

    def _correlated(self, block: Block, start: int, stop: int) -> Array:
        """Return the residual times some of the block's columns, (k, stop - start)."""
        return self.place.correlated(block.residual, block.columns[start:stop])


def _over_examples(rows: Array) -> Array:
    """Return the sums over examples, (k,), in float64."""
    return rows.sum(axis=1, dtype=namespace(rows).float64)
