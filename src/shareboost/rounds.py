"""Algorithm 1 of the paper: choose a feature, refit all of them, repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from .heldout import HeldOut
from .path import Path, Round, StopReason
from .refit import Refit
from .rows import Rows
from .select import Choice, Selector
from .swaps import Fit, exchange


@dataclass(frozen=True)
class Stopping:
    """When rounds and refits end.

    With ``norm`` the l1 norm of the chosen atom's part of the gradient, a round's refit
    stops once that of every selected atom is below ``refit_tol * norm``:
    what is left there cannot outweigh what the round found. The last round's refit
    goes on to ``tol / 10``. By convexity ``L(W) - L(W') <= norm * ||W'||_{inf,1}`` for
    any W' and the largest such norm, so one below ``tol`` means that nothing is left to gain.
    """

    n_features: float  # infinite where only a budget ends the rounds
    tol: float
    refit_tol: float
    patience: float = np.inf  # rounds without a better held-out score

    @property
    def finish_tol(self) -> float:
        """How small the gradient is at the start and at the end of a run."""
        return self.tol / 10.0

    def refit_to(self, norm: float) -> float:
        """Return the tolerance of the refit of an atom with that norm."""
        return self.refit_tol * max(norm, self.tol)


@dataclass(frozen=True)
class Run:
    """One run of Algorithm 1 on some rows."""

    rows: Rows
    refit: Refit
    stopping: Stopping
    selector: Selector
    swap: bool = False
    held_out: HeldOut | None = None

    def begin(self) -> Path:
        """Return the path of no features: W = 0 but for the intercept. Step 1."""
        started = perf_counter()
        W = np.zeros((self.rows.n_classes, self.rows.n_columns))
        W, status = self.refit(self.rows, W, self.stopping.finish_tol)
        start = Round(-1, np.nan, W, status, perf_counter() - started)
        return Path(self.rows.pool.features([]), self.rows.intercept, start)

    def resume(self, path: Path) -> Path:
        """Return a copy of the path to extend, its columns put back into the rows.

        All that the rounds did to the rows is done again in the same order, so that they
        are what they were to the last bit.
        """
        if not _replayed(self.rows, path) or not self._same(path):
            raise ValueError(
                "warm_start=True goes on from an earlier fit, but the columns chosen there have "
                "other means, scales or losses now: X, y, the weights, the pool (or its random "
                "state), the margin or fit_intercept changed. Fit the same data in the same way, "
                "or set warm_start=False."
            )
        return path.copy()

    def rounds(self, path: Path) -> Iterator[Round]:
        """Extend the path round by round to ``n_features``; yield each finished round."""
        started = perf_counter() - path.last.seconds
        path.finish = path.stop_reason = None
        while len(path) < self.stopping.n_features:
            if len(path) - path.best >= self.stopping.patience:
                path.stop_reason = StopReason.NOT_BETTER
                return
            choice = self._next(path)  # steps 3 and 4
            if isinstance(choice, StopReason):
                path.stop_reason = choice
                return
            self.rows.append(choice.atom)  # step 5: I <- I + {r}
            tolerance = self.stopping.refit_to(choice.norm)
            fit = Fit(*self.refit(self.rows, path.last.W, tolerance))  # step 6
            fit, swaps = exchange(self.selector, fit, tolerance) if self.swap else (fit, ())
            atoms = self.rows.atoms
            cost = self.selector.terms.spent(atoms)
            seconds = perf_counter() - started
            round_ = Round(choice.atom, choice.score, *fit, seconds, atoms, swaps, cost)
            path.add(round_, self.rows)
            self._measure(path)
            yield path.last
        path.stop_reason = StopReason.N_FEATURES

    def finish(self, path: Path) -> None:
        """Refit the last round to ``finish_tol``; it stays as it was for a run that goes on.

        Not where the best round by its held-out score is returned: as it was scored.
        """
        if not path.rounds or np.isfinite(self.stopping.patience):
            return
        path.finish = self._tighter(path.last, self.stopping.finish_tol)
        if self.held_out is not None:
            path.finish = replace(path.finish, validation=self.held_out.score(path))

    def _next(self, path: Path) -> Choice | StopReason:
        """Return the next atom: one that is owned, else the best by the rule.

        Where the scores fell so far that the last refit is too loose for them, the chosen
        columns have more to give than a new one: they are refit further first.
        """
        owned = self.selector.terms.owned
        if len(path) < len(owned):
            return self.selector.given(owned[len(path)], path.last.W)
        while True:
            best = self.selector.best(path.last.W)
            if isinstance(best, StopReason):
                return best
            if best.largest < self.stopping.tol:
                return StopReason.NO_GAIN
            left, tolerance = path.last.status, self.stopping.refit_to(best.norm)
            if left.gradient <= 2.0 * tolerance or not left.converged:
                return best
            path.last = self._tighter(path.last, tolerance)
            self._measure(path)

    def _tighter(self, round_: Round, tolerance: float) -> Round:
        """Return the round again, its weights refit to a smaller tolerance."""
        started = perf_counter()
        W, status = self.refit(self.rows, round_.W, tolerance)
        seconds = round_.seconds + perf_counter() - started
        return replace(round_, W=W, status=status, seconds=seconds)

    def _measure(self, path: Path) -> None:
        """Note how the last round does on the held-out rows."""
        if self.held_out is not None and path.rounds:
            path.last = replace(path.last, validation=self.held_out.score(path))

    def _same(self, path: Path) -> bool:
        """Return whether the rows give the path's last loss again."""
        scales = [chosen.scales for chosen in self.rows.chosen]
        centers = [chosen.centers for chosen in self.rows.chosen]
        _, columns = path.places(len(path))
        value, _ = self.rows.evaluate(path.last.W, self.refit.loss)
        return bool(
            np.allclose(np.concatenate([[], *scales]), path.scales[columns])
            and np.allclose(np.concatenate([[], *centers]), path.centers[columns])
            and np.isclose(value / self.rows.total_weight, path.last.loss, rtol=1e-4, atol=1e-7)
        )


def _replayed(rows: Rows, path: Path) -> bool:
    """Do to the rows what the path's rounds did; return whether they can have been these rows."""
    known = path.features
    if path.intercept != rows.intercept or known.ids.max(initial=-1) >= rows.pool.n_atoms_:
        return False
    if not np.array_equal(rows.pool.features(known.ids).widths, known.widths):
        return False
    for round_ in path.rounds:
        rows.append(round_.atom)
        for out, into in round_.swaps:
            rows.append(into)
            rows.remove(rows.atoms.index(out))
    return True
