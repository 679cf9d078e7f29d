"""What may be chosen, what it costs, and what is owned already."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Atoms = tuple[int, ...]

# An atom that is paid for already counts as this share of the cheapest that is not: were it
# quite free, a run would use up its features on the first sensor it pays for.
FREE = 0.1
# Sums of prices beyond a limit by less than this are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Pricing:
    """Prices of items, and which items each atom needs.

    An item (an atom itself, a column of X, a group of columns) is paid for once: atoms that
    need only items which are paid for cost nothing more. What the owned atoms need is paid
    for from the start.
    """

    prices: Vector  # of each item
    needs: sp.csr_array | None = None  # (atoms, items), 0 or 1; None: every atom is its own item
    forbidden: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    owned: Atoms = ()
    budget: float = np.inf

    def costs(self, chosen: Atoms) -> Vector:
        """Return what each atom would cost after the chosen ones."""
        unpaid = np.where(self._paid(chosen), 0.0, self.prices)
        return unpaid if self.needs is None else self.needs @ unpaid

    def spent(self, chosen: Atoms) -> float:
        """Return what the chosen atoms cost together, but for those owned."""
        new = self._paid(chosen) & ~self._paid(())
        return float(self.prices[new].sum())

    def freed(self, chosen: Atoms) -> Vector:
        """Return what each of the chosen atoms costs after all the others."""
        atoms = list(chosen)
        if self.needs is None:
            return np.where(np.isin(chosen, self.owned), 0.0, self.prices[atoms])
        times_needed = self.needs[[*self.owned, *atoms]].sum(axis=0)
        return self.needs[atoms] @ np.where(times_needed == 1, self.prices, 0.0)

    def spent_after(self, chosen: Atoms, new: int) -> Vector:
        """Return what would be spent with a new atom in the place of each of the chosen ones."""
        if self.needs is None:
            free = np.isin(chosen, self.owned)
            return self.spent((*chosen, new)) - np.where(free, 0.0, self.prices[list(chosen)])
        rest = [(*chosen[:i], *chosen[i + 1 :], new) for i in range(len(chosen))]
        return np.array([self.spent(atoms) for atoms in rest])

    def affordable(self, chosen: Atoms) -> NDArray[np.bool_]:
        """Return which atoms the budget has money for, after the chosen ones."""
        costs = self.costs(chosen)
        return (costs == 0.0) | (self.spent(chosen) + costs <= self.budget * (1.0 + ROUNDING))

    def counted(self, chosen: Atoms, allowed: NDArray[np.bool_]) -> Vector:
        """Return what scores are divided by: the costs, and a little for what is free."""
        costs = self.costs(chosen)
        cheapest = costs[allowed & (costs > 0.0)].min(initial=np.inf)
        return np.where(costs > 0.0, costs, FREE * cheapest if cheapest < np.inf else 1.0)

    def _paid(self, chosen: Atoms) -> NDArray[np.bool_]:
        """Return which items are paid for."""
        atoms = np.array([*self.owned, *chosen], dtype=np.intp)
        if self.needs is not None:
            return np.asarray(self.needs[atoms].sum(axis=0)).ravel() > 0
        paid = np.zeros(self.prices.size, dtype=bool)
        paid[atoms] = True
        return paid
