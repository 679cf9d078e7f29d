"""The whole path of a mixed norm: one alpha after the other, each from the minimum before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dataset import Sample
from ..losses import Loss
from ..path import StopReason
from ..pools import Pool
from ..rows import Rows
from .active_atoms import ActiveAtoms, Minimum
from .debias import WithoutNorm
from .norms import Norm

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# Where the next alpha of a path would use too many features, so many are tried between.
BISECTIONS = 10


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
    refit: float | None  # the weight of its Frobenius penalty; None: no refit


class NormPath:
    """A run over falling weights of the norm."""

    def __init__(self, sample: Sample, pool: Pool, n_classes: int, intercept: bool, plan: Plan):
        self.sample = sample
        self.pool = pool
        self.n_classes = n_classes
        self.intercept = intercept
        self.plan = plan
        given = plan.alphas
        self.n_steps: int | None = given if isinstance(given, int) else 1 + given.size
        self.stop_reason = ""
        self.trouble: str | None = None

    def steps(self) -> Iterator[NormStep]:
        """Yield the intercept alone, for the least alpha that needs no feature, then the path."""
        plan = self.plan
        with Rows(*self.sample[:3], self.pool, self.n_classes, self.intercept) as rows:
            self._started = perf_counter()
            self._problem = ActiveAtoms(rows, plan.loss, plan.norm, plan.tol, plan.max_iter)
            self._free: WithoutNorm | None = None
            if plan.refit is not None:
                self._free = WithoutNorm(rows.twin(), plan.loss, plan.refit, plan.max_iter)
            self._late: list[Minimum] = []
            self._most_used = 0
            minimum = self._problem.without_atoms()
            yield self._step(minimum)
            self.stop_reason = StopReason.LAST_ALPHA if minimum.alpha > 0 else StopReason.EXHAUSTED
            for alpha in self._alphas(minimum.alpha).tolist():
                found = self._problem.at(alpha, minimum)
                if found.atoms.size > plan.most:
                    self.stop_reason = StopReason.N_FEATURES
                    yield from map(self._step, self._between(minimum, found))
                    break
                minimum = found
                yield self._step(minimum)
            self.trouble = self._trouble()

    def _between(self, enough: Minimum, more: Minimum) -> Iterator[Minimum]:
        """Yield minima that come nearer to as many features as allowed, between two others."""
        if not isinstance(self.plan.alphas, int):
            return
        for _ in range(BISECTIONS):
            if enough.atoms.size == self.plan.most:
                return
            found = self._problem.at(float(np.sqrt(enough.alpha * more.alpha)), enough)
            if found.atoms.size > self.plan.most:
                more = found
            else:
                enough = found
                yield enough

    def units(self, atom: int) -> tuple[Vector, Vector]:
        """Return the centres and scales of an atom's columns."""
        return self._problem.held.units[atom]

    def _alphas(self, first: float) -> Vector:
        """Return the weights of the norm that follow the first, that of no feature."""
        given = self.plan.alphas
        if first == 0.0:  # no atom varies
            return np.empty(0)
        if isinstance(given, int):
            return first * np.geomspace(1.0, self.plan.ratio, given)[1:]
        return given

    def _step(self, minimum: Minimum) -> NormStep:
        """Return the step of a minimum, its weights refit where asked for."""
        self._most_used = max(self._most_used, minimum.atoms.size)
        if not minimum.violation <= self._problem.tol:
            self._late.append(minimum)
        atoms, W, loss = tuple(minimum.atoms.tolist()), minimum.weights.T, minimum.loss
        iterations = minimum.iterations
        if self._free is not None:
            free = self._free.refit(minimum)
            atoms, W, loss = free.atoms, free.W, free.loss
            iterations += free.iterations
        seconds = perf_counter() - self._started
        tells = minimum.alpha, minimum.size, minimum.violation
        return NormStep(atoms, W, loss, seconds, iterations, *tells)

    def _trouble(self) -> str | None:
        """Return what of the path is not as it was asked for, and what to change."""
        found = []
        if self._late:
            late = self._late[-1]
            others = f" So did {len(self._late) - 1} others." if self._late[1:] else ""
            found.append(
                f"The minimum for alpha={late.alpha:.3g} misses its conditions by "
                f"{late.violation:.2g}, where {self._problem.tol:.2g} was asked for.{others} Raise "
                f"max_iter={self.plan.max_iter} or tol, or end the path at a larger alpha."
            )
        if self.stop_reason is StopReason.N_FEATURES and not self._most_used:
            found.append(
                "The first minimum that uses any features uses more than "
                f"n_features={self.plan.most}: the classifier uses none. Give larger alphas, or "
                "allow more features."
            )
        if self._free is not None and (refit := self._free.late) is not None:
            found.append(
                f"A refit without the norm ended with a gradient of {refit.gradient:.2g} where "
                f"{refit.tolerance:.2g} was asked for. {refit.advice}"
            )
        return " ".join(found) or None
