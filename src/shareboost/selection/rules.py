"""Steps 3 and 4 of Algorithm 1: the atom to choose next, by one of the rules of section 3.1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, namespace
from ..path import StopReason
from ..pools.base import out_of_range, rounding_of
from ..rows import ByAtom, Rows, Totals, may_overflow
from ..shard import CURVATURE, RESIDUAL, WEIGHT
from .second_order import SecondOrder, by_class, shared
from .trials import TRIALS, decreases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..pools import Pool
    from ..solvers import Refit
    from .pricing import Pricing

# A rule scores every atom from sums over all rows, or the columns of a shortlist of so many atoms.
SHORTLISTS = {"orthogonal": 100} | dict.fromkeys(TRIALS, 10)
# Of the orthogonal rule, in a run with swaps. Held-out errors are the same, since exchanges make up
# for what a shorter one overlooks; 100 took up to seven times as long as the gradient rule alone.
SWAPPING_SHORTLIST = 50
# Of the orthogonal rule, if columns are slow to compute: with 5 templates it takes three times as
# long as the gradient rule, with 100 eighty times.
SLOW_SHORTLIST = 5
# The orthogonal rule compares so many atoms that their columns and the chosen ones are at most this
# many, since its work grows with the square, and the products of all classes at most 32 MiB.
MOST_COLUMNS = 256
MOST_PRODUCTS = 1 << 22
RULES = ("gradient", "newton", *SHORTLISTS)

Vector = NDArray[np.float64]


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
    listed: dict[int, float]  # gains of atoms that were in a shortlist
    models: list[SecondOrder]  # quadratic ones that these were found by


class Selector:
    """Chooses atoms by a rule, among those that the prices allow, by their score per cost.

    - ``gradient``: the l1 norm over classes of the atom's part of the gradient, eq. (7).
    - ``newton``: half the sum over classes (and columns) of ``g^2 / h``, with g the
      gradient and h the loss's curvature in the weight of the centred column: the
      second-order estimate of what ``column`` gains.
    - ``orthogonal``: the l1 norm over classes for the part of the atom that the chosen
      columns do not explain, for the atoms of the shortlist; see ``second_order``.
    - ``line_search``, ``column``, ``refit``: what the loss falls by in one step, for the
      atoms of the shortlist; see ``trials``.

    The shortlist holds the best atoms by their gradient; None: all. "auto" depends on the rule, the
    pool and whether the run has swaps.
    """

    def __init__(
        self,
        rows: Rows,
        pricing: Pricing,
        rule: str,
        shortlist: int | str | None,
        swaps: bool = False,
    ):
        self.rows = rows
        self.pricing = pricing
        self.rule = rule
        if isinstance(shortlist, str):
            shortlist = SHORTLISTS.get(rule)
            if rule == "orthogonal" and rows.pool.slow_columns:
                shortlist = SLOW_SHORTLIST
            elif rule == "orthogonal" and swaps:
                shortlist = SWAPPING_SHORTLIST
        self.shortlist = shortlist
        self._means: dict[int, Array] = {}  # of the columns of each part
        self._centers: dict[int, Vector] = {}  # of the columns of atoms that were in a shortlist
        self._last: _Scores | None = None

    def best(self, refit: Refit, W: NDArray[np.float64]) -> Choice | StopReason:
        """Return the atom to choose at W, (k, n_columns), or the reason why there is none."""
        chosen = self.rows.atoms
        affordable = self.pricing.affordable(chosen)
        found = self.ranked(refit, W, 1, affordable)
        if found:
            return found[0]
        left = self._open(chosen)
        if not left.any():
            return StopReason.EXHAUSTED
        return StopReason.NO_GAIN if (left & affordable).any() else StopReason.BUDGET

    def ranked(
        self, refit: Refit, W: NDArray[np.float64], n: int, affordable: NDArray[np.bool_]
    ) -> list[Choice]:
        """Return the n best of the affordable atoms, the best first.

        Among scores that are tied with the best, the lowest atom comes first.
        """
        chosen = self.rows.atoms
        scores = self._scores(refit, W)
        allowed = self._open(chosen) & affordable
        if not allowed.any():
            return []
        shares = self.pricing.counted(chosen, allowed)
        if (divisors := self.rows.pool.divisors_) is not None:
            shares = shares * divisors
        worth = np.where(allowed, scores.gains / shares, -np.inf)
        self._check_finite(worth)
        gains = scores.gains
        if self.rule in TRIALS:
            listed = best_places(worth, self.shortlist)
            gains = np.full_like(worth, -np.inf)
            gains[listed] = self._listed(refit, scores, listed)
            worth = gains / shares
            self._check_finite(worth)
        elif self.rule == "orthogonal":
            worth = self._orthogonal(refit, scores, worth, shares)
            self._check_finite(worth)
        first = tied_with_best(worth, rounding_of(self.rows.pool))[:1]
        if not first.size:
            return []
        worth[first] = np.inf
        norms = scores.norms
        largest = float(norms[allowed].max())
        return [
            Choice(int(atom), float(gains[atom]), float(norms[atom]), largest)
            for atom in best_places(worth, n)
        ]

    def _check_finite(self, worth: Vector) -> None:
        """Raise where the score of an atom is not finite."""
        if not worth.max() < np.inf:
            raise out_of_range(self.rows.pool, int(np.argmax(~(worth < np.inf))))

    def given(self, refit: Refit, atom: int, W: NDArray[np.float64]) -> Choice:
        """Return the choice of an atom that was asked for, whose score nobody needs."""
        rows = self.rows
        rows.append(atom)
        width = rows.chosen[-1].scales.size
        _, gradient = rows.evaluate(np.pad(W, ((0, 0), (0, width))), refit.loss)
        norm = float(abs(gradient[:, -width:]).sum()) / rows.total_weight
        rows.remove(len(rows.chosen) - 1)
        return Choice(atom, np.nan, norm, norm)

    def _open(self, chosen: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return which atoms may still be chosen, whatever they cost."""
        pool = self.rows.pool
        mask = np.ones(pool.n_atoms_, dtype=bool)
        if pool.usable_ is not None:
            mask &= pool.usable_
        mask[self.pricing.forbidden] = False
        mask[list(chosen)] = False
        return mask

    def _listed(self, refit: Refit, scores: _Scores, atoms: NDArray[np.intp]) -> Vector:
        """Return the gains of the atoms of a shortlist, each computed once at a point."""
        new = [int(atom) for atom in atoms if int(atom) not in scores.listed]
        if new and self.rule == "orthogonal":
            scores.models.append(by_class(self.rows, refit, scores.W, new, self._centers))
            found = scores.models[-1].scores()
        else:
            found = decreases(self.rows, refit, scores.W, new, self.rule)
        scores.listed.update(zip(new, found, strict=True))
        return np.array([scores.listed[int(atom)] for atom in atoms])

    def _orthogonal(self, refit: Refit, scores: _Scores, worth: Vector, shares: Vector) -> Vector:
        """Return what the atoms of the shortlist are worth by the rule, and -inf for others.

        Atoms that the chosen columns span have nothing to give: if all of a shortlist are such,
        the next atoms are compared. Where there is room for fewer than two, the gradient decides.
        """
        pool, room = self.rows.pool, self._room()
        worth, found = worth.copy(), np.full_like(worth, -np.inf)
        while (listed := best_places(worth, self.shortlist)).size:
            widths = [pool.scales(int(atom)).size for atom in listed[:MOST_COLUMNS]]
            n_fit = int((np.cumsum(widths) <= room).sum())
            if n_fit < min(2, listed.size):
                return self._without_spanned(refit, scores.W, worth)
            listed = listed[:n_fit]
            gains = self._listed(refit, scores, listed)
            if (gains > 0.0).any():
                found[listed] = np.where(gains > 0.0, gains, -np.inf) / shares[listed]
                break
            worth[listed] = -np.inf
        return found

    def _room(self) -> int:
        """Return how many columns of candidates a model with a matrix for each class may have."""
        n_columns = self.rows.n_columns
        products = MOST_PRODUCTS // (self.rows.n_classes * max(1, n_columns))
        return min(MOST_COLUMNS, products) - n_columns

    def _without_spanned(self, refit: Refit, W: NDArray[np.float64], worth: Vector) -> Vector:
        """Return the scores with -inf for the best atoms, as long as the chosen columns span them.

        With a penalty the gradient of a copy of a chosen column is not zero.
        """
        while (best := tied_with_best(worth, rounding_of(self.rows.pool))[:1]).size:
            atom = int(best[0])
            if not shared(self.rows, refit, W, atom).spans(atom):
                break
            worth[atom] = -np.inf
        return worth

    def _scores(self, refit: Refit, W: NDArray[np.float64]) -> _Scores:
        """Return the scores at W, those of last time if it is the same W."""
        if self._last is None or self._last.W is not W:
            self.rows.evaluate(W, refit.loss)  # rho, left as residuals in the blocks
            if self.rule == "newton":
                norms, gains = self._newton()
            else:
                norms = gains = self._gradient()
            self._last = _Scores(W, norms, gains, {}, [])
        return self._last

    def second_order(
        self, refit: Refit, W: NDArray[np.float64], atoms: Sequence[int]
    ) -> Iterator[tuple[SecondOrder, list[int]]]:
        """Yield quadratic models about W, and those of the atoms that are candidates of each.

        With a matrix for each class, as far as there is room.
        """
        models = self._scores(refit, W).models
        new = [atom for atom in atoms if not any(atom in model.atoms for model in models)]
        if new:
            self.rows.evaluate(W, refit.loss)
            if sum(self.rows.pool.scales(atom).size for atom in new) <= self._room():
                models.append(by_class(self.rows, refit, W, new, self._centers))
                new = []
        left = [atom for atom in atoms if atom not in new]
        for model in models:
            if known := [atom for atom in left if atom in model.atoms]:
                yield model, known
                left = [atom for atom in left if atom not in known]
        for atom in new:
            yield shared(self.rows, refit, W, atom), [atom]

    def _gradient(self) -> Vector:
        """Return the l1 norm of every atom's part of the gradient of the average loss."""
        norms = self.rows.scored([(RESIDUAL, False)], part_norms)
        return np.concatenate([[], *norms]) / self.rows.total_weight

    def _newton(self) -> tuple[Vector, Vector]:
        """Return the norms, and the second-order estimate of what each atom gains."""
        rows = self.rows
        if not self._means and rows.intercept:
            means = rows.scored([(WEIGHT, True)], partial(part_means, rows.total_weight))
            self._means = dict(means)
        wanted = [(RESIDUAL, False), (CURVATURE, True)]
        found = rows.scored(wanted, partial(part_gains, self._means))
        norms, gains = (np.concatenate([[], *(pair[i] for pair in found)]) for i in (0, 1))
        return norms / rows.total_weight, 0.5 * gains / rows.total_weight


@may_overflow
def part_norms(pool: Pool, part: slice, totals: Totals, by_atom: ByAtom) -> Vector:
    """Return the l1 norm of every atom's part of the gradient of the total loss."""
    (of_residual,) = totals.stats
    return by_atom(abs(pool.correlations(of_residual, part)).sum(axis=0), part)


@may_overflow
def part_gains(
    means: dict[int, Array], pool: Pool, part: slice, totals: Totals, by_atom: ByAtom
) -> tuple[Vector, Vector]:
    """Return the norms, and twice the second-order estimate of what each atom gains."""
    of_residual, of_curvature = totals.stats
    g = pool.correlations(of_residual, part)
    first, second = pool.moments(of_curvature, part)
    xp = namespace(g)
    mean = means.get(part.start, 0.0)
    size = second + mean**2 * totals.curvatures[:, None]
    h = xp.maximum(size - 2.0 * mean * first, rounding_of(pool) * size)
    curved = h > 0.0
    gains = xp.where(curved, g**2, 0.0) / xp.where(curved, h, 1.0)
    return by_atom(abs(g).sum(axis=0), part), by_atom(gains.sum(axis=0), part)


@may_overflow
def part_means(
    total_weight: float, pool: Pool, part: slice, totals: Totals, by_atom: ByAtom
) -> tuple[int, Array]:
    """Return a part's start and the weighted mean of its columns."""
    (of_weight,) = totals.stats
    first, _ = pool.moments(of_weight, part)
    return part.start, first[0] / total_weight


def best_places(worth: Vector, n: int | None) -> NDArray[np.intp]:
    """Return the places of the n largest numbers but -inf, the lower of equals first; None: all."""
    if n == 1 and worth.max(initial=-np.inf) > -np.inf:
        return np.array([np.argmax(worth)])
    places = np.flatnonzero(worth > -np.inf)
    if n is not None and n < places.size:  # sorting all of a large pool would take too long
        least = -np.partition(-worth[places], n - 1)[n - 1]
        places = places[worth[places] >= least]
    return places[np.argsort(-worth[places], kind="stable")][:n]


def tied_with_best(scores: Vector, rounding: float) -> NDArray[np.intp]:
    """Return the places of all scores that equal the largest up to rounding, in order.

    Equal columns at unlike places may be summed in unlike orders, so scores that
    differ by less than that rounding count as tied: the lowest atom among them is
    chosen, and a run is the same on any machine.
    """
    best = scores.max(initial=-np.inf)
    if best == -np.inf:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(scores >= best - rounding * abs(best))
