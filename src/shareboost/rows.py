"""The training rows: what was chosen of them, where they live, and sums over them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Scalar, Segments, copied
from .inputs import backend_of
from .pools.base import SMALLEST_SCALE, Pool, out_of_range
from .shard import CURVATURE, RESIDUAL, Block, Chosen, Shard, Wanted, may_overflow

if TYPE_CHECKING:
    from .backends import Backend
    from .losses import Labels, Loss

Found = TypeVar("Found")


class Totals(NamedTuple):
    """What the atoms of a part are scored by: sums over all rows."""

    stats: list[Array]  # those that were wanted, as ``Pool.stats`` makes them
    curvatures: Array  # (k,), the loss's in the scores of each class, where they are wanted


# Returns totals over the rows of a shard: one of its methods, or a function.
Question = Callable[..., tuple[Any, ...]]
# Returns the sums over the columns of each atom of a part, as NumPy's.
ByAtom = Callable[[Array, slice], NDArray[np.float64]]
# Scores a part of the pool: ``task(pool, part, totals, by_atom)``.
PartTask = Callable[[Pool, slice, Totals, ByAtom], Found]


class Layout(NamedTuple):
    """Where the columns of chosen atoms are; the intercept, if any, counts as the first atom."""

    chosen: tuple[Chosen, ...]
    starts: list[int]  # of each atom, and at last where a next one would start
    segments: Segments


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

    They live in NumPy's arrays or on a torch device, as ``backend`` says, and so does every
    array here but for what is said to be NumPy's.

    Parameters
    ----------
    X, y, weight :
        The rows, X as its backend has it, with labels ``0 .. n_classes - 1`` and positive weights.
    pool : Pool
        A pool fitted on X, in the form of the backend.
    n_classes : int
        k.
    intercept : bool
        Whether the first column is the constant 1. The columns that follow are then
        centred as they are appended; the intercept absorbs the shift.
    backend : Backend, optional
        Where the arrays live; that of X by default.

    Notes
    -----
    Use as a context manager: it holds what the backend needs, threads and their limits.
    """

    @property
    def identity(self) -> dict[str, str]:
        """Digests of what a run depends on beside its rows and parameters, by name."""
        return {}

    @property
    def placement(self) -> Any:
        """How a cluster is used; None where the rows are here."""
        return None

    def __init__(
        self,
        X: Any,
        y: Labels,
        weight: NDArray[np.float64],
        pool: Pool,
        n_classes: int,
        intercept: bool,
        backend: Backend | None = None,
    ):
        self._begin(
            float(weight.sum()), Shard(pool, n_classes, intercept, backend or backend_of(X))
        )
        self._source = (X, y, weight)

    def _begin(self, total_weight: float, shard: Shard) -> None:
        """Set what is known before anything is encoded."""
        self.backend = shard.backend
        self.pool = shard.pool
        self.n_classes = shard.n_classes
        self.intercept = shard.intercept
        self.total_weight = total_weight
        self.chosen: tuple[Chosen, ...] = ()  # in the order of their columns
        self._layout: Layout | None = None  # of their columns
        self._part_segments: dict[int, Segments] = {}  # of the columns of each part, by atom
        self.gram = shard.backend.gram(0.0)
        self.shard = shard
        self._known: Evaluated | None = None  # columns appended since do not change it
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        self.shard.map = self._resources.enter_context(self.backend.deterministic())
        try:
            self._encode()
            self.reset(())
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *exception: Any) -> None:
        self.shard.map = map
        # Of an exception the backend may have something to say.
        self._resources.__exit__(*(exception or (None, None, None)))

    def _encode(self) -> None:
        """Cut the rows into blocks in the pool's encoding."""
        self.shard.encode(*self._source)
        del self._source

    @property
    def atoms(self) -> tuple[int, ...]:
        """The chosen atoms."""
        return tuple(chosen.atom for chosen in self.chosen)

    @property
    def layout(self) -> Layout:
        """Where the columns of the chosen atoms are, found anew when these change."""
        if self._layout is None or self._layout.chosen is not self.chosen:
            widths = [1] * self.intercept + [chosen.scales.size for chosen in self.chosen]
            starts = list(accumulate(widths, initial=0))
            segments = Segments(starts[:-1], starts[-1])
            self._layout = Layout(self.chosen, starts, segments)
        return self._layout

    @property
    def n_columns(self) -> int:
        """Columns in use, the intercept's included."""
        return self.layout.starts[-1]

    def total(self, question: Question, *arguments: Any) -> tuple[Any, ...]:
        """Return totals over all rows: the answer of their shard to a question."""
        return question(self.shard, *arguments)

    def append(self, atom: int) -> None:
        """Append the atom's columns to every block, scaled and, with an intercept, centred."""
        scales = self.pool.scales(atom)
        start, stop = self.n_columns, self.n_columns + scales.size
        self._append(atom, self._written(atom, start, stop) / self.total_weight, scales)

    def _append(self, atom: int, centers: Array, scales: NDArray[np.float64]) -> None:
        """Append the columns just written, in training units."""
        start, stop = self.n_columns, self.n_columns + scales.size
        products = self._scaled(atom, centers, scales, start, stop)
        # Not finite where the centres are not.
        if scales.min() < SMALLEST_SCALE or not np.isfinite(self.backend.numpy(products)).all():
            raise out_of_range(self.pool, atom)
        self.gram.extend(products / self.total_weight)
        self.chosen = (*self.chosen, Chosen(atom, self.backend.numpy(centers), scales))

    def _written(self, atom: int, start: int, stop: int) -> Array:
        """Write an atom's columns as they come; return their weighted sums."""
        (sums,) = self.shard.write(atom, start, stop)
        return sums

    def _scaled(
        self, atom: int, centers: Array, scales: NDArray[np.float64], start: int, stop: int
    ) -> Array:
        """Bring the columns just written into training units; return their products with all."""
        (products,) = self.shard.scale(start, stop, centers, scales)
        return products

    def reset(self, atoms: tuple[int, ...]) -> None:
        """Choose these atoms and no others, as if they had been appended one by one."""
        self._known = None
        self.chosen = ()
        self.gram = self.backend.gram(float(np.finfo(self.pool.dtype_).eps))
        if self.intercept:
            self.gram.extend(self.backend.asarray(np.ones((1, 1))))
        for atom in atoms:
            self.append(atom)

    def fork(self) -> Rows:
        """Return rows that share the encoding and the threads, with nothing chosen yet."""
        rows = copy(self)
        rows.shard = copy(self.shard)
        rows.shard.blocks = [block.with_nothing_chosen() for block in self.shard.blocks]
        rows.reset(())
        return rows

    def remove(self, place: int) -> Removed:
        """Take out the atom at that place among the chosen ones; later ones move up."""
        start, stop = self.layout.starts[self.intercept + place :][:2]
        n = self.n_columns
        known = self._known
        if known is not None:  # the last columns may go, where they had no weight
            kept = stop == n and known.W.shape[1] <= start
            n_kept = start if self.backend.columns_apart else 0
            short = known._replace(gradient=known.gradient[:, :n_kept])
            self._known = short if kept else None
        columns = self.shard.take_out(start, stop, n)
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
        start, stop = self.layout.starts[self.intercept + removed.place :][:2]
        self.shard.put_back(start, stop, n, removed.columns)
        self.gram = removed.gram

    def evaluate(self, W: Array, loss: Loss) -> tuple[Scalar, Array]:
        """Return the total loss at W, (k, n_columns), and its gradient.

        Leaves in every block the residual at W: step 3 of Algorithm 1. W is an array of this
        backend, or NumPy's. A point that was just evaluated is not evaluated again, nor, of
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
            start = n_known if self.backend.columns_apart else 0
            (more,) = self.total(Shard.correlate, start, n_asked)
            before = known.gradient[:, :start]
            known = known._replace(gradient=self.backend.xp.hstack([before, more]))
        self._known = known
        return known.value, copied(known.gradient[:, :n_asked])

    def _known_at(self, W: Array, loss: Loss) -> Evaluated | None:
        """Return what was evaluated last, if it was at W.

        Arrays of a device are not compared by what they hold: that would be a wait.
        """
        known = self._known
        if known is None or known.loss != loss:
            return None
        if not isinstance(W, np.ndarray):
            return known if known.W is W else None
        at = known.W if isinstance(known.W, np.ndarray) else self.backend.numpy(known.W)
        same = np.array_equal(at[:, : W.shape[1]], W) and not at[:, W.shape[1] :].any()
        return known if same else None

    def _evaluated(self, W: Array, loss: Loss, n_columns: int) -> Evaluated:
        """Return the loss at W and its gradient in the first columns; leave the residuals."""
        self._known = None  # whatever happens on the way
        at = W.copy() if isinstance(W, np.ndarray) else W
        value, gradient = self.total(Shard.evaluate, W, loss, n_columns)
        return Evaluated(at, loss, value, gradient)

    def _prepare(self, curvatures: bool) -> Array:
        """Leave in every block its residual, as the pool wants it; return sums of curvatures.

        With an intercept, less ``weight`` times its weighted mean: its correlation with a
        column is that of the residual with the centred column. If asked for, also leaves
        the curvature of the loss in each score, whose sums over examples, (k,), it returns.
        """
        (sums,) = self.total(Shard.prepare, self._residual_mean(), curvatures)
        return sums

    def _residual_mean(self) -> Array:
        """Return the weighted mean of the residuals, (k,); zeros where nothing is centred."""
        if not self.intercept:
            return self.backend.zeros((self.n_classes,))
        (sums,) = self.total(Shard.residual_sums)
        return sums / self.total_weight

    def scored(self, wanted: Sequence[Wanted], task: PartTask[Found]) -> list[Found]:
        """Return ``task(pool, part, totals, by_atom)`` of every part of the pool, in order.

        The totals are those wanted, of the residuals and curvatures at the point evaluated last.
        """
        signals = {signal for signal, _ in wanted}
        curvatures = self.backend.zeros((self.n_classes,))
        if signals & {RESIDUAL, CURVATURE}:
            curvatures = self._prepare(CURVATURE in signals)
        return self.over_parts(wanted, task, curvatures)

    def candidates(self, question: Question, *arguments: Any) -> tuple[Array, ...]:
        """Return totals of columns that are not chosen."""
        return self.total(question, *arguments)

    def over_parts(
        self, wanted: Sequence[Wanted], task: PartTask[Found], curvatures: Array = None
    ) -> list[Found]:
        """Return the task's results for what is prepared in the blocks."""
        return self.shard.over_parts(
            self.pool.parts(self.n_classes),
            wanted,
            lambda part, stats: task(self.pool, part, Totals(stats, curvatures), self._by_atom),
        )

    def _by_atom(self, of_columns: Array, part: slice) -> NDArray[np.float64]:
        if part.start not in self._part_segments:
            starts = self.pool.starts(part)
            self._part_segments[part.start] = Segments(starts, len(of_columns))
        sums = self._part_segments[part.start].sums(of_columns)
        return self.backend.numpy(sums)


__all__ = ["Block", "Chosen", "Evaluated", "Removed", "Rows", "Totals", "may_overflow"]
