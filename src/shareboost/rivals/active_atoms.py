"""The minimum of a loss with a mixed norm over all atoms of a pool, on few columns at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..losses import Loss
from ..pools.base import Pool, out_of_range, rounding_of
from ..rows import Block, ByAtom, Rows, Totals
from ..shard import RESIDUAL
from .base import Matrix, Vector, of_blocks
from .proximal import LossOnColumns, Norm, Penalised, Point, Solution, minimise

# Columns that an alpha may need are held up to so many bytes, and so many more atoms at
# a time; what that leaves out is found by the pass over all atoms that ends every alpha.
HELD_BYTES, MOST_TO_HOLD = 1 << 28, 1000
# At least so many atoms join at a time, or half as many as there are.
FEWEST_TO_JOIN = 20
# A first solution on few atoms need not be better than this share of what others lack.
LOOSE = 0.1
# Where the least alpha that needs no atom is below this, the tolerance is relative to it.
SMALL_ALPHA = 0.1
# The curvature of the average loss in a weight of a column of unit deviation, at first.
FIRST_CURVATURE = 0.5

Atoms = NDArray[np.intp]
NO_ATOMS = np.empty(0, dtype=np.intp)


class Minimum(NamedTuple):
    """The minimiser for one alpha."""

    alpha: float
    atoms: Atoms  # those with weights
    weights: Matrix  # (intercept + columns, k)
    loss: float
    size: float  # the mixed norm
    violation: float  # of the conditions of a minimum, the largest of any atom of the pool
    iterations: int
    duals: Vector  # the dual norm of every atom's part of the gradient


class ActiveAtoms:
    """``L(W) + alpha * sum over atoms of price * norm(W_atom)``, and its minima.

    The price of an atom is 1, or the divisor that the pool has for its score.

    For an alpha, atoms are solved for on few columns first: those in use and those that lack
    most. Others, whose gradients may come to reach alpha by the sequential strong rule
    (Tibshirani et al., "Strong rules for discarding predictors in lasso-type problems",
    2012), are held ready and join where they miss their condition. At last a pass over all
    atoms of the pool finds what the rule wrongly left out, until nothing is missed.
    """

    def __init__(self, rows: Rows, loss: Loss, norm: Norm, tol: float, max_iter: int):
        pool = rows.pool
        self.rows = rows
        self.loss = loss
        self.norm = norm
        self.tol = tol
        self.max_iter = max_iter
        self.units: dict[int, tuple[Vector, Vector]] = {}  # centres and scales, of all met so far
        self._free = int(rows.intercept)  # constant columns, before those of the atoms
        self._columns: dict[int, list[Matrix]] = {}  # of each atom held, (columns, n) of each block
        self._prices = np.ones(pool.n_atoms_) if pool.divisors_ is None else pool.divisors_
        self._open = np.ones(pool.n_atoms_, bool) if pool.usable_ is None else pool.usable_
        self._curvature = FIRST_CURVATURE

    def without_atoms(self, weights: Matrix | None = None) -> Minimum:
        """Return the minimum over the intercept, that of the least alpha that needs no atom.

        From then on the tolerance is relative to that alpha, where it is small.
        """
        start = np.zeros((self._free, self.rows.n_classes)) if weights is None else weights
        solution = self._solved(NO_ATOMS, start, 0.0, self.tol)
        point, iterations = solution.point, solution.iterations
        duals, unsure = self._all_duals(point)
        low, high = (duals - unsure) / self._prices, (duals + unsure) / self._prices
        highest = np.flatnonzero(self._open & (high >= low.max(initial=0.0)))
        highest = self._with_affordable(NO_ATOMS, highest, high)
        duals[highest] = self._duals_on(self.hold(highest), point)
        alpha = float((duals / self._prices).max(initial=0.0))
        if weights is None and 0.0 < alpha < SMALL_ALPHA:
            self.tol *= alpha / SMALL_ALPHA
            again = self.without_atoms(point.weights)
            return again._replace(iterations=iterations + again.iterations)
        results = point.loss, 0.0, solution.violation, iterations, duals
        return Minimum(alpha, NO_ATOMS, point.weights, *results)

    def at(self, alpha: float, last: Minimum) -> Minimum:
        """Return the minimum for an alpha, sought from that for another."""
        alphas, worth = alpha * self._prices, last.duals / self._prices
        live, weights, duals, iterations = last.atoms, last.weights, last.duals, 0
        ready = np.flatnonzero(self._open & (worth >= 2.0 * alpha - last.alpha))
        ready = self._with_affordable(live, ready, worth)
        of_ready, exact = self.hold(ready), duals[ready]
        while True:
            missing = np.where(np.isin(ready, live), 0.0, exact - alphas[ready])
            worst = np.argsort(-missing, kind="stable")[: max(FEWEST_TO_JOIN, live.size // 2)]
            live = np.concatenate([live, ready[worst[missing[worst] > 0.0]]])
            tol = max(self.tol, LOOSE * float(missing.max(initial=0.0)))
            solution = self._solved(live, weights, alpha, tol)
            point, weights = solution.point, solution.point.weights
            iterations += solution.iterations
            exact = self._duals_on(of_ready, point)
            missing = np.where(np.isin(ready, live), 0.0, exact - alphas[ready])
            finished = solution.violation <= tol
            if finished and (tol > self.tol or missing.max(initial=0.0) > self.tol):
                continue
            duals, unsure = self._all_duals(point)
            duals[ready], unsure[ready] = exact, 0.0
            missing = duals - alphas
            wrong = self._open & (missing + unsure > self.tol)  # or may be: to look at exactly
            wrong[ready] = False
            if not wrong.any() or not finished:
                break
            ready = self._with_affordable(ready, np.flatnonzero(wrong), missing)
            of_ready, exact = self.hold(ready), duals[ready]
        missing[live] = 0.0  # the solution's violation tells of them
        violation = max(solution.violation, float(missing.max(initial=0.0)))
        # Without the atoms that it has no weights for.
        sizes = self.norm.sizes(weights[self._free :], self.starts(live))
        kept = np.repeat([True, *(sizes > 0.0)], [self._free, *self.widths(live)])
        results = float(self._prices[live] @ sizes), violation, iterations, duals
        return Minimum(alpha, live[sizes > 0.0], weights[kept], point.loss, *results)

    def widths(self, atoms: Iterable[int]) -> list[int]:
        """Return the number of columns of each atom."""
        return [self.rows.pool.scales(atom).size for atom in atoms]

    def starts(self, atoms: Iterable[int]) -> NDArray[np.intp]:
        """Return where the weights of each atom start, after the intercept's."""
        return np.cumsum([0, *self.widths(atoms)])[:-1].astype(np.intp)

    def hold(self, atoms: Iterable[int]) -> LossOnColumns:
        """Hold the columns of these atoms and no others; return the loss on them."""
        known, wanted = self._columns, [int(atom) for atom in atoms]
        new = [atom for atom in wanted if atom not in known]
        computed = dict(zip(new, self.rows.shard.map(self._computed, new), strict=True))
        self._columns = {atom: known.get(atom) or computed[atom] for atom in wanted}
        return self.on(wanted)

    def on(self, atoms: Iterable[int]) -> LossOnColumns:
        """Return the average loss on the columns of some of the atoms held."""

        def together(block: Block, *columns: Matrix) -> Matrix:
            return np.concatenate([np.ones((self._free, block.y.size)), *columns])

        columns = of_blocks(self.rows, together, *(self._columns[atom] for atom in atoms))
        return LossOnColumns(self.rows, self.loss, columns, self.starts(atoms))

    def _computed(self, atom: int) -> list[Matrix]:
        """Return the columns of an atom, (columns, n) of each block, scaled and centred."""
        pool, blocks = self.rows.pool, self.rows.shard.blocks
        scales = pool.scales(atom)
        columns = [pool.columns(block.data, atom).astype(np.float64) for block in blocks]
        centers = np.zeros(scales.size)
        if self._free:
            sums = (some @ block.weight for some, block in zip(columns, blocks, strict=True))
            centers = sum(sums, centers) / self.rows.total_weight
        self.units[atom] = centers, scales
        return [(some - centers[:, None]) / scales[:, None] for some in columns]

    def _solved(self, live: Atoms, weights: Matrix, alpha: float, tol: float) -> Solution:
        """Return the minimum over the live atoms, from the weights of the first of them."""
        loss = self.on(live)
        start = np.pad(weights, ((0, len(loss.columns[0]) - len(weights)), (0, 0)))
        problem = Penalised(loss, self.norm, alpha * self._prices[live])
        solution = minimise(problem, start, tol, self.max_iter, self._curvature)
        self._curvature = solution.curvature
        return solution

    def _duals_on(self, columns: LossOnColumns, point: Point) -> Vector:
        """Return the dual norms of the gradient of the atoms that some columns belong to."""
        return self.norm.dual(columns.gradient(point)[self._free :], columns.starts)

    def _all_duals(self, point: Point) -> tuple[Vector, Vector]:
        """Return the dual norm of every atom's part of the gradient, as the pool has it.

        And by how much the pool's rounding may put it off: of the sums, and of what cancels.
        """
        rows, total = self.rows, self.rows.total_weight
        for block, residual in zip(rows.shard.blocks, point.residuals, strict=True):
            block.residual[:] = residual

        def duals_of(pool: Pool, part: slice, totals: Totals, by_atom: ByAtom) -> Vector:
            gradient = pool.correlations(totals.stats[0], part)
            return self.norm.dual(gradient.T, pool.starts(part))

        duals = np.concatenate(rows.scored([(RESIDUAL, False)], duals_of)) / total
        duals[~self._open] = 0.0
        if not duals.max(initial=0.0) < np.inf:
            raise out_of_range(rows.pool, int(np.argmax(~(duals < np.inf))))
        sizes = np.sum([np.abs(block).sum(axis=1) for block in point.residuals], axis=0)
        one_group = np.zeros(1, dtype=np.intp)
        cancelled = float(self.norm.dual(sizes[None] / total, one_group)[0])
        return duals, rounding_of(rows.pool) * (duals + cancelled)

    def _with_affordable(self, atoms: Atoms, others: Atoms, worth: Vector) -> Atoms:
        """Return atoms with those of the others, the worthiest first, that may be held beside."""
        others = others[np.argsort(-worth[others], kind="stable")]
        others = others[~np.isin(others, atoms)][:MOST_TO_HOLD]
        most = HELD_BYTES // (8 * sum(block.y.size for block in self.rows.shard.blocks))
        widths = self.widths(np.concatenate([atoms, others]))
        room = int((np.cumsum(widths) <= most).sum()) - atoms.size
        return np.concatenate([atoms, others[: max(FEWEST_TO_JOIN, room)]])
