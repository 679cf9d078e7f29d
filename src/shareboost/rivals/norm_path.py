"""The whole path of a mixed norm: one alpha after the other, each from the minimum before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..losses import Loss
from ..path import StopReason
from ..penalties import Frobenius
from ..pools import Pool
from ..refit import Refit, Status
from ..rows import Rows
from ..samples import Sample
from .active_atoms import ActiveAtoms, Atoms, Minimum
from .norms import Norm

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

REACHED_LAST_ALPHA = "reached the last alpha"
# The refit without a penalty ends at this gradient, as a run of ShareBoost does by default.
REFIT_TOL = 1e-5


@dataclass(frozen=True)
class NormStep:
    """The minimum for one alpha."""

    atoms: tuple[int, ...]
    W: Matrix  # (k, intercept + columns)
    loss: float
    seconds: float
    iterations: int
    alpha: float
    size: float  # the mixed norm of the minimiser, before any refit
    violation: float  # of the conditions of a minimum

    @property
    def cost(self) -> float:
        """Number of atoms."""
        return float(len(self.atoms))

    @property
    def details(self) -> dict[str, Any]:
        """The weight of the norm, the norm, and how exact the minimum is."""
        return {"alpha": self.alpha, "norm": self.size, "violation": self.violation}


@dataclass(frozen=True)
class Plan:
    """What is minimised, for which weights of the norm, and how exactly."""

    loss: Loss
    norm: Norm
    alphas: Vector | int  # falling, or how many of them, the first that of no feature
    ratio: float  # of the last to the first, where only their number is given
    most: float  # features
    tol: float
    max_iter: int
    refit: bool


class NormPath:
    """A run over falling weights of the norm."""

    def __init__(self, sample: Sample, pool: Pool, n_classes: int, intercept: bool, plan: Plan):
        self.sample = sample
        self.pool = pool
        self.n_classes = n_classes
        self.intercept = intercept
        self.plan = plan
        self.n_steps = plan.alphas if isinstance(plan.alphas, int) else 1 + plan.alphas.size
        self.stop_reason = ""
        self.trouble: str | None = None

    def steps(self) -> Iterator[NormStep]:
        """Yield the intercept alone, for the least alpha that needs no feature, then the path."""
        plan = self.plan
        with Rows(*self.sample, self.pool, self.n_classes, self.intercept) as rows:
            self._started = perf_counter()
            self._problem = ActiveAtoms(rows, plan.loss, plan.norm, plan.tol, plan.max_iter)
            self._free = _Unpenalised(rows.twin(), plan) if plan.refit else None
            self._late: list[Minimum] = []
            minimum = self._problem.without_atoms()
            yield self._step(minimum)
            self.stop_reason = REACHED_LAST_ALPHA
            for alpha in self._alphas(minimum.alpha).tolist():
                minimum = self._problem.at(alpha, minimum)
                if minimum.atoms.size > plan.most:
                    self.stop_reason = StopReason.N_FEATURES
                    break
                if minimum.violation > plan.tol:
                    self._late.append(minimum)
                yield self._step(minimum)
            self.trouble = self._trouble()

    def units(self, atom: int) -> tuple[Vector, Vector]:
        """Return the centres and scales of an atom's columns."""
        return self._problem.held.units[atom]

    def _alphas(self, first: float) -> Vector:
        """Return the weights of the norm that follow the first, that of no feature."""
        given = self.plan.alphas
        if not isinstance(given, int):
            return given
        if first == 0.0:  # no atom varies
            return np.empty(0)
        return first * np.geomspace(1.0, self.plan.ratio, given)[1:]

    def _step(self, minimum: Minimum) -> NormStep:
        """Return the step of a minimum, its weights refit where asked for."""
        atoms, W, loss = tuple(minimum.atoms.tolist()), minimum.weights.T, minimum.loss
        iterations = minimum.iterations
        if self._free is not None:
            atoms, W, status = self._free.refit(minimum.atoms)
            loss, iterations = status.loss, iterations + status.iterations
        seconds = perf_counter() - self._started
        tells = minimum.alpha, minimum.size, minimum.violation
        return NormStep(atoms, W, loss, seconds, iterations, *tells)

    def _trouble(self) -> str | None:
        """Return which minima were not reached, and what to change."""
        if self._late:
            last = self._late[-1]
            others = f" So did {len(self._late) - 1} others." if self._late[1:] else ""
            return (
                f"The minimum for alpha={last.alpha:.3g} misses its conditions by "
                f"{last.violation:.2g}, where tol={self.plan.tol:g} was asked for.{others} Raise "
                f"max_iter={self.plan.max_iter} or tol, or end the path at a larger alpha."
            )
        late = self._free.late if self._free is not None else None
        if late is None:
            return None
        return (
            f"A refit without the penalty ended with a gradient of {late.gradient:.2g} where "
            f"{late.tolerance:.2g} was asked for. {late.advice}"
        )


class _Unpenalised:
    """Weights without any penalty, of one set of atoms after the other."""

    def __init__(self, rows: Rows, plan: Plan):
        self.rows = rows
        self.late: Status | None = None  # the last refit that ended above its tolerance
        self._refit = Refit(plan.loss, Frobenius(), 0.0, "lbfgs", plan.max_iter)
        self._W = np.zeros((rows.n_classes, rows.n_columns))

    def refit(self, atoms: Atoms) -> tuple[tuple[int, ...], Matrix, Status]:
        """Return the atoms in another order, their weights, and how the refit ended."""
        rows, wanted = self.rows, set(atoms.tolist())
        for place in reversed(range(len(rows.chosen))):
            if rows.chosen[place].atom not in wanted:
                gone = slice(*rows.starts[rows.intercept + place :][:2])
                self._W = np.delete(self._W, gone, axis=1)
                rows.remove(place)
        for atom in atoms.tolist():
            if atom not in rows.atoms:
                rows.append(atom)
        self._W, status = self._refit(rows, self._W, REFIT_TOL)
        if not status.converged:
            self.late = status
        return rows.atoms, self._W, status
