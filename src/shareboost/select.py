"""Steps 3 and 4 of Algorithm 1: the atom whose column of the gradient is the largest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .rows import Rows


class Choice(NamedTuple):
    """An atom and its score, eq. (7) of the paper."""

    atom: int
    score: float


def best_atom(rows: Rows, chosen: NDArray[np.intp]) -> Choice | None:
    """Return the best atom but the chosen ones at the point evaluated last, or None.

    The parts of the pool are scored one by one and only their best atoms are kept. A
    pool of one part is summed over blocks in parallel, one of many over parts; which of
    the two depends on the pool alone, so the sums do not depend on the threads.
    """
    pool = rows.pool
    parts = pool.parts(rows.n_classes)
    rows.prepare_residuals()

    def summed_here(part: slice) -> NDArray[np.float64]:
        first, *others = rows.blocks
        stats = pool.stats(first.data, first.prepared, part).astype(np.float64, copy=False)
        for block in others:
            pool.stats(block.data, block.prepared, part, stats)
        return stats

    def contenders(part: slice, stats: NDArray[np.float64]) -> list[Choice]:
        scores = pool.scores(stats, part) / rows.total_weight
        inside = chosen[(part.start <= chosen) & (chosen < part.stop)]
        scores[inside - part.start] = -np.inf
        found = contending(scores, pool.rounding)
        # An atom below an earlier one of its part can never be the lowest of the best.
        high = np.maximum.accumulate(scores[found])
        found = found[np.diff(high, prepend=-np.inf) > 0]
        return [Choice(part.start + int(i), float(scores[i])) for i in found]

    if len(parts) == 1 and not pool.adds_in_place:
        (stats,) = rows.total(lambda block: (pool.stats(block.data, block.prepared, parts[0]),))
        lists = [contenders(parts[0], stats)]
    else:
        lists = list(rows.map(lambda part: contenders(part, summed_here(part)), parts))
    best = [choice for found in lists for choice in found]  # in the order of atoms
    if not best:
        return None
    return best[contending(np.array([choice.score for choice in best]), pool.rounding)[0]]


def contending(scores: NDArray[np.float64], rounding: float) -> NDArray[np.intp]:
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
