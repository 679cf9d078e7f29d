"""Steps 3 and 4 of Algorithm 1: the atom to choose next, by one of the rules of section 3.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..path import StopReason
from ..places.base import Array
from ..refit import Refit
from ..rows import Block, Rows
from .terms import Terms
from .trials import TRIALS, decreases

# A rule scores every atom from sums over all rows, or a shortlist of atoms by trial.
RULES = ("gradient", "newton", *TRIALS)

Vector = NDArray[np.float64]
Found = TypeVar("Found")
# Returns the statistic of a part, summed over all blocks.
Summed = Callable[[Callable[[Block], Any], bool], Array]


class Choice(NamedTuple):
    """An atom, and why it was chosen."""

    atom: int
    score: float  # by the rule
    norm: float  # l1 norm over classes of its part of the gradient, eq. (7)
    largest: float  # such norm of any atom that might have been chosen


@dataclass(frozen=True)
class _Scores:
    """Of every atom, at one point."""

    W: NDArray[np.float64]
    norms: Vector
    gains: Vector  # by the rule, or what a shortlist is made by
    tried: dict[int, float]  # gains by trial


class Selector:
    """Chooses atoms by a rule, among those that the terms allow, by their score per cost.

    - ``gradient``: the l1 norm over classes of the atom's part of the gradient, eq. (7).
    - ``newton``: half the sum over classes (and columns) of ``g^2 / h``, with g the
      gradient and h the loss's curvature in the weight of the centred column: the
      second-order estimate of what ``column`` gains.
    - ``line_search``, ``column``, ``refit``: what the loss falls by in one step, for the
      atoms of the shortlist; see ``trials``.
    """

    def __init__(self, rows: Rows, refit: Refit, terms: Terms, rule: str, shortlist: int | None):
        self.rows = rows
        self.refit = refit
        self.terms = terms
        self.rule = rule
        self.shortlist = shortlist
        self._means: dict[int, Array] = {}  # of the columns of each part
        self._segments: dict[int, Any] = {}  # of the columns of each part, by atom
        self._last: _Scores | None = None

    def best(self, W: NDArray[np.float64]) -> Choice | StopReason:
        """Return the atom to choose at W, (k, n_columns), or the reason why there is none."""
        chosen = self.rows.atoms
        found = self.ranked(W, 1, self.terms.affordable(chosen))
        if found:
            return found[0]
        return StopReason.BUDGET if self._open(chosen).any() else StopReason.EXHAUSTED

    def ranked(self, W: NDArray[np.float64], n: int, affordable: NDArray[np.bool_]) -> list[Choice]:
        """Return the n best of the affordable atoms, the best first.

        Among scores that are tied with the best, the lowest atom comes first.
        """
        chosen = self.rows.atoms
        scores = self._scores(W)
        allowed = self._open(chosen) & affordable
        if not allowed.any():
            return []
        shares = self.terms.counted(chosen, allowed)
        if (divisors := self.rows.pool.divisors) is not None:
            shares = shares * divisors
        worth = np.where(allowed, scores.gains / shares, -np.inf)
        gains = scores.gains
        if self.rule in TRIALS:
            listed = best_places(worth, self.shortlist)
            gains = np.full_like(worth, -np.inf)
            gains[listed] = self._tried(scores, listed)
            worth = gains / shares
        first = contending(worth, self.rows.pool.rounding)[0]
        worth[first] = np.inf
        norms = scores.norms
        largest = float(norms[allowed].max())
        return [
            Choice(int(atom), float(gains[atom]), float(norms[atom]), largest)
            for atom in best_places(worth, n)
        ]

    def given(self, atom: int, W: NDArray[np.float64]) -> Choice:
        """Return the choice of an atom that was asked for, whose score nobody needs."""
        rows = self.rows
        rows.append(atom)
        width = rows.chosen[-1].scales.size
        _, gradient = rows.evaluate(np.pad(W, ((0, 0), (0, width))), self.refit.loss)
        norm = float(abs(gradient[:, -width:]).sum()) / rows.total_weight
        rows.remove(len(rows.chosen) - 1)
        return Choice(atom, np.nan, norm, norm)

    def _open(self, chosen: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return which atoms may still be chosen, whatever they cost."""
        pool = self.rows.pool
        mask = np.ones(pool.n_atoms_, dtype=bool)
        if pool.choosable is not None:
            mask &= pool.choosable
        mask[self.terms.forbidden] = False
        mask[list(chosen)] = False
        return mask

    def _tried(self, scores: _Scores, atoms: NDArray[np.intp]) -> Vector:
        """Return the gains of some atoms by trial, each tried once at a point."""
        new = [int(atom) for atom in atoms if int(atom) not in scores.tried]
        found = decreases(self.rows, self.refit, scores.W, new, self.rule)
        scores.tried.update(zip(new, found, strict=True))
        return np.array([scores.tried[int(atom)] for atom in atoms])

    def _scores(self, W: NDArray[np.float64]) -> _Scores:
        """Return the scores at W, those of last time if it is the same W."""
        if self._last is None or self._last.W is not W:
            self.rows.evaluate(W, self.refit.loss)  # rho, left as residuals in the blocks
            if self.rule == "newton":
                norms, gains = self._newton()
            else:
                norms = gains = self._gradient()
            self._last = _Scores(W, norms, gains, {})
        return self._last

    def _gradient(self) -> Vector:
        """Return the l1 norm of every atom's part of the gradient of the average loss."""
        rows, pool = self.rows, self.rows.pool
        rows.prepare()

        def norms(part: slice, summed: Summed) -> Vector:
            found = pool.correlations(summed(lambda block: block.prepared, False), part)
            return self._by_atom(abs(found).sum(axis=0), part)

        return np.concatenate([[], *over_parts(rows, norms)]) / rows.total_weight

    def _newton(self) -> tuple[Vector, Vector]:
        """Return the norms, and the second-order estimate of what each atom gains."""
        rows, pool, place = self.rows, self.rows.pool, self.rows.place
        if not self._means and rows.intercept:
            self._means = dict(over_parts(rows, self._part_means))
        total = rows.prepare(curvatures=True)[:, None]  # (k, 1)

        def both(part: slice, summed: Summed) -> tuple[Vector, Vector]:
            g = pool.correlations(summed(lambda block: block.prepared, False), part)
            first, second = pool.moments(summed(lambda block: block.curvature, True), part)
            mean = self._means.get(part.start, 0.0)
            size = second + mean**2 * total
            h = place.xp.maximum(size - 2.0 * mean * first, pool.rounding * size)
            curved = h > 0.0
            gains = place.xp.where(curved, g**2, 0.0) / place.xp.where(curved, h, 1.0)
            norms = self._by_atom(abs(g).sum(axis=0), part)
            return norms, self._by_atom(gains.sum(axis=0), part)

        found = over_parts(rows, both)
        norms, gains = (np.concatenate([[], *(pair[i] for pair in found)]) for i in (0, 1))
        return norms / rows.total_weight, 0.5 * gains / rows.total_weight

    def _by_atom(self, of_columns: Array, part: slice) -> Vector:
        """Return the sums over the columns of each atom of a part, as NumPy's."""
        place = self.rows.place
        if part.start not in self._segments:
            starts = self.rows.pool.starts(part)
            self._segments[part.start] = place.segments(starts, len(of_columns))
        return place.numpy(place.sums_over(self._segments[part.start], of_columns))

    def _part_means(self, part: slice, summed: Summed) -> tuple[int, Array]:
        """Return a part's start and the weighted mean of its columns."""
        rows = self.rows
        k = rows.n_classes  # as many rows as everywhere: no second compilation of a kernel

        def weights(block: Block) -> Any:
            alike = rows.place.empty((k, len(block.weight)), rows.pool.dtype_)
            alike[:] = block.weight
            return rows.pool.prepare(alike)

        first, _ = rows.pool.moments(summed(weights, True), part)
        return part.start, first[0] / rows.total_weight


def over_parts(rows: Rows, task: Callable[[slice, Summed], Found]) -> list[Found]:
    """Return ``task(part, summed)`` for every part of the pool, in order.

    A pool of one part is summed over blocks in parallel, one of many over parts; which of
    the two depends on the pool alone, so the sums do not depend on the threads.
    """
    pool = rows.pool
    parts = pool.parts(rows.n_classes)

    def here(part: slice) -> Summed:
        def summed(signal: Callable[[Block], Any], squares: bool) -> Array:
            first, *others = rows.blocks
            found = pool.stats(first.data, signal(first), part, None, squares)
            stats = rows.place.wide(found)
            for block in others:
                pool.stats(block.data, signal(block), part, stats, squares)
            return stats

        return summed

    def by_blocks(signal: Callable[[Block], Any], squares: bool) -> Array:
        (stats,) = rows.total(
            lambda block: (pool.stats(block.data, signal(block), parts[0], None, squares),)
        )
        return stats

    if len(parts) == 1 and not pool.adds_in_place:
        return [task(parts[0], by_blocks)]
    return list(rows.map(lambda part: task(part, here(part)), parts))


def best_places(worth: Vector, n: int | None) -> NDArray[np.intp]:
    """Return the places of the n largest numbers but -inf, the lower of equals first; None: all."""
    if n == 1 and worth.max(initial=-np.inf) > -np.inf:
        return np.array([np.argmax(worth)])
    places = np.flatnonzero(worth > -np.inf)
    if n is not None and n < places.size:  # sorting all of a large pool would take too long
        least = -np.partition(-worth[places], n - 1)[n - 1]
        places = places[worth[places] >= least]
    return places[np.argsort(-worth[places], kind="stable")][:n]


def contending(scores: Vector, rounding: float) -> NDArray[np.intp]:
    """Return the places of all scores that equal the largest up to rounding, in order.

    Equal columns at unlike places may be summed in unlike orders, so scores that
    differ by less than that rounding count as tied: the lowest atom among them is
    chosen, and a run is the same on any machine.
    """
    best = scores.max(initial=-np.inf)
    if not best < np.inf:
        raise FloatingPointError(
            f"The best score is {best}: the columns of X are too large, or not finite."
        )
    if best == -np.inf:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(scores >= best - rounding * abs(best))
