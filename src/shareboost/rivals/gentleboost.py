"""GentleBoost with stumps that sets of classes share: the rounds of JointBoost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dataset import Sample
from ..path import StopReason
from ..pools import Pool
from ..rows import Rows
from .class_sets import best_shared
from .margins import Fit, Margins

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass
class Rounds:
    """The finished rounds of a run, in their order; steps of all lengths share one."""

    n_classes: int
    places: list[int] = field(default_factory=list)  # of each round's stump among those in use
    constants: list[Vector] = field(default_factory=list)
    slopes: list[Vector] = field(default_factory=list)

    def add(self, place: int, fit: Fit) -> None:
        """Add a round."""
        self.places.append(place)
        self.constants.append(fit.constants)
        self.slopes.append(fit.slopes)

    def W(self, n_rounds: int, n_stumps: int) -> Matrix:
        """Return the weights after so many rounds, (k, 1 + stumps), the intercept's first."""
        W = np.zeros((1 + n_stumps, self.n_classes))
        if n_rounds:
            W[0] = np.sum(self.constants[:n_rounds], axis=0)
            np.add.at(W[1:], self.places[:n_rounds], self.slopes[:n_rounds])
        return W.T


@dataclass(frozen=True)
class RoundStep:
    """The model after some rounds."""

    rounds: Rounds  # more of them, perhaps: W reads only its own
    n_rounds: int
    atoms: tuple[int, ...]  # the stumps in use, in the order of their first
    loss: float
    seconds: float
    details: dict[str, Any]

    @property
    def W(self) -> Matrix:
        """The weights, summed when asked for: a run need not hold a matrix for each round."""
        return self.rounds.W(self.n_rounds, len(self.atoms))

    @property
    def cost(self) -> float:
        """How many stumps are in use."""
        return float(len(self.atoms))

    @property
    def iterations(self) -> int:
        """A round is one; the start is none."""
        return min(self.n_rounds, 1)


class GentleRounds:
    """One run of JointBoost.

    Parameters
    ----------
    sample : Sample
        Rows of positive weight.
    pool : Stumps
        Fitted to them, of scale "none", and widened: weights of boosting are positive and come
        in few sizes, so that the rounding of sums in float32 would not cancel. On Isolet it
        came to 1e-5 of a class's weight.
    n_classes : int
        k.
    search : {"forward", "exhaustive"}
        How the classes that share a stump are found.
    n_features, max_iter, tol :
        When the rounds end; see ``JointBoostClassifier``.
    """

    intercept = True
    n_steps: int | None = None  # stumps may come again
    trouble: str | None = None

    def __init__(
        self,
        sample: Sample,
        pool: Pool,
        n_classes: int,
        search: str,
        n_features: int,
        max_iter: int,
        tol: float,
    ):
        self.sample = sample
        self.pool = pool
        self.n_classes = n_classes
        self.search = search
        self.n_features = n_features
        self.max_iter = max_iter
        self.tol = tol
        self.stop_reason: str = StopReason.EXHAUSTED

    def units(self, atom: int) -> tuple[Vector, Vector]:
        """Return centre 0 and scale 1: stumps are trained on as they are."""
        return np.zeros(1), np.ones(1)

    def steps(self) -> Iterator[RoundStep]:
        """Yield the model of no stump, and one after every round."""
        began = perf_counter()
        rounds = Rounds(self.n_classes)
        atoms: list[int] = []
        nothing = {"atom": -1, "classes": (), "gain": np.nan}
        yield RoundStep(rounds, 0, (), 1.0, 0.0, nothing)
        if self.pool.n_atoms_ == 0:
            return
        X, y, weight, _, _ = self.sample
        with Rows(X, y, weight, self.pool, 2 * self.n_classes, intercept=False) as rows:
            margins = Margins(rows, weight)
            for t in range(1, self.max_iter + 1):
                fit = margins.fit(best_shared(margins.sums(), self.search))
                stop = self._stop(fit, atoms)
                if stop is not None:
                    self.stop_reason = stop
                    return
                margins.add(fit)
                atom, classes = fit.shared
                if atom not in atoms:
                    atoms.append(atom)
                rounds.add(atoms.index(atom), fit)
                details = {"atom": atom, "classes": classes, "gain": fit.gain}
                seconds = perf_counter() - began
                yield RoundStep(rounds, t, tuple(atoms), margins.loss, seconds, details)
        self.stop_reason = StopReason.MAX_ITER

    def _stop(self, fit: Fit, atoms: list[int]) -> str | None:
        """Return why a round is not made, if so."""
        if not fit.gain > self.tol:
            return StopReason.NO_GAIN
        if fit.shared.atom not in atoms and len(atoms) == self.n_features:
            return StopReason.N_FEATURES
        return None
