"""Algorithm 1 of the paper: choose a feature, refit all of them, repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from .path import Path, Round, StopReason

if TYPE_CHECKING:
    from .dataset import ValidationSet
    from .rows import Rows
    from .selection.rules import Choice, Selector
    from .solvers import Refit


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


@dataclass
class Run:
    """One run of Algorithm 1 on some rows."""

    rows: Rows
    refit: Refit
    stopping: Stopping
    selector: Selector
    held_out: ValidationSet | None = None

    def begin(self) -> Path:
        """Return the path of no features."""
        return Path(self.rows.pool.features([]), self.rows.intercept, self.start())

    def start(self) -> Round:
        """Return the round of no features: W = 0 but for the intercept. Step 1."""
        started = perf_counter()
        W = np.zeros((self.rows.n_classes, self.rows.n_columns))
        refit = self.refit.at(self.refit.guessed_alpha(self.rows))
        W, status = refit(self.rows, W, self.stopping.finish_tol)
        return Round(-1, np.nan, W, status, perf_counter() - started)

    def resume(self, path: Path) -> Path:
        """Return a copy of the path to extend, its columns put back into the rows.

        All that the rounds did to the rows is done again in the same order, so that they
        are what they were to the last bit.
        """
        rounds = self._replayed(path)
        if rounds is None or not self._same(path):
            raise ValueError(
                "warm_start=True goes on from an earlier fit, but the columns chosen there have "
                "other means, scales or losses now: X, y, the weights, the rows held out (by "
                "another random_state), the pool (or its random state), the margin or "
                "fit_intercept changed. Fit the same data in the same way, or set "
                "warm_start=False."
            )
        return replace(path, rounds=rounds)

    def rounds(self, path: Path) -> Iterator[Round]:
        """Extend the path round by round to ``n_features``; yield each finished round."""
        started = perf_counter() - path.last.seconds
        path.reopen()
        while len(path) < self.stopping.n_features:
            if len(path) - path.best >= self.stopping.patience:
                path.stop_reason = StopReason.NOT_BETTER
                return
            choice, last = self.choose(path.last)  # steps 3 and 4
            if last is not path.last:
                path.last = self._judged(last) if path.rounds else last
            if isinstance(choice, StopReason):
                path.stop_reason = choice
                return
            round_ = self.round_after(last, choice)
            cost = self.selector.pricing.spent(round_.atoms)
            round_ = self._judged(replace(round_, cost=cost))
            path.add(replace(round_, seconds=perf_counter() - started), self.rows)
            yield path.last
        path.stop_reason = StopReason.N_FEATURES

    def finish(self, path: Path) -> None:
        """Refit the last round to ``finish_tol``; it stays as it was for a run that goes on.

        Not where the best round by its held-out score is returned: as it was scored.
        """
        if not path.rounds or np.isfinite(self.stopping.patience):
            return
        run, last = self.finished(path.last)
        path.add(run._judged(last), run.rows, finish=True)

    def choose(self, last: Round) -> tuple[Choice | StopReason, Round]:
        """Return the next atom: one that is owned, else the best by the rule; and the last round.

        Where the scores fell so far that the last refit is too loose for them, the chosen
        columns have more to give than a new one: they are refit further first.
        """
        owned = self.selector.pricing.owned
        if len(last.atoms) < len(owned):
            return self.selector.given(self.refit, owned[len(last.atoms)], last.W), last
        while True:
            best = self.selector.best(self.refit.at(last.status.alpha), last.W)
            if isinstance(best, StopReason):
                return best, last
            if best.largest < self.stopping.tol:
                return StopReason.NO_GAIN, last
            tolerance = self.stopping.refit_to(best.norm)
            if last.status.gradient <= 2.0 * tolerance or not last.status.converged:
                return best, last
            last = self._tighter(last, tolerance)

    def round_after(self, last: Round, choice: Choice) -> Round:
        """Return the round after the last: one more atom, and the weights of all refit."""
        self.rows.append(choice.atom)  # step 5: I <- I + {r}
        tolerance = self.stopping.refit_to(choice.norm)
        W, status = self.refit.adapted(self.rows, last.W, tolerance, last.status.alpha)  # step 6
        return Round(choice.atom, choice.score, W, status, last.seconds, self.rows.atoms)

    def finished(self, last: Round) -> tuple[Run, Round]:
        """Return the last round, of the atoms in the rows, refit to ``finish_tol``; and its run."""
        return self, self._tighter(last, self.stopping.finish_tol)

    def replay(self, round_: Round) -> bool:
        """Do to the rows what a finished round did; return whether it can have been these rows."""
        self.rows.append(round_.atom)
        return self.rows.atoms == round_.atoms

    def _tighter(self, round_: Round, tolerance: float) -> Round:
        """Return the round again, its weights refit to a smaller tolerance."""
        started = perf_counter()
        W, status = self.refit.at(round_.status.alpha)(self.rows, round_.W, tolerance)
        seconds = round_.seconds + perf_counter() - started
        return replace(round_, W=W, status=status, seconds=seconds)

    def _judged(self, round_: Round) -> Round:
        """Return the round of the atoms in the rows with its score on the held-out rows."""
        if self.held_out is None:
            return round_
        return replace(round_, validation=self.held_out.score(self.rows, round_.W))

    def _same(self, path: Path) -> bool:
        """Return whether the rows give the path's last loss again."""
        scales = [chosen.scales for chosen in self.rows.chosen]
        centers = [chosen.centers for chosen in self.rows.chosen]
        _, columns = path.places(path.last.atoms)
        value, _ = self.rows.evaluate(path.last.W, self.refit.loss)
        return bool(
            np.allclose(np.concatenate([[], *scales]), path.scales[columns])
            and np.allclose(np.concatenate([[], *centers]), path.centers[columns])
            and np.isclose(
                float(value) / self.rows.total_weight, path.last.loss, rtol=1e-4, atol=1e-7
            )
        )

    def _replayed(self, path: Path) -> list[Round] | None:
        """Do to the rows what the path's rounds did; None where they cannot have been these rows.

        Returns the rounds, judged on the rows that are held out now.
        """
        rows, known = self.rows, path.features
        if path.intercept != rows.intercept or known.ids.max(initial=-1) >= rows.pool.n_atoms_:
            return None
        if not np.array_equal(rows.pool.features(known.ids).widths, known.widths):
            return None
        rounds = []
        for round_ in path.rounds:
            if not self.replay(round_):
                return None
            rounds.append(self._judged(replace(round_, validation=np.nan)))
        return rounds
