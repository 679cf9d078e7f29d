"""Algorithm 1 of the paper: choose a feature, refit all of them, repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from .path import Path, Round, StopReason
from .pools import Pool
from .refit import Refit
from .rows import Rows
from .select import Choice, best_atom


@dataclass(frozen=True)
class Stopping:
    """When rounds and refits end.

    With ``score`` the l1 norm of the chosen atom's part of the gradient, a round's refit
    stops once that of every selected atom is below ``refit_tol * score``:
    what is left there cannot outweigh what the round found. The last round's refit
    goes on to ``tol / 10``. By convexity ``L(W) - L(W') <= score * ||W'||_{inf,1}`` for
    any W', so a best score below ``tol`` means that nothing is left to gain.
    """

    n_features: int
    tol: float
    refit_tol: float

    @property
    def finish_tol(self) -> float:
        """How small the gradient is at the start and at the end of a run."""
        return self.tol / 10.0


def begin(rows: Rows, refit: Refit, stopping: Stopping) -> Path:
    """Return the path of no features: W = 0 but for the intercept. Step 1."""
    started = perf_counter()
    W = np.zeros((rows.n_classes, rows.n_columns))
    W, status = refit(rows, W, stopping.finish_tol)
    start = Round(-1, np.nan, W, status, perf_counter() - started)
    return Path(rows.pool.features([]), rows.intercept, start)


def resume(rows: Rows, refit: Refit, path: Path) -> Path:
    """Return a copy of the path to extend, its columns put back into the rows."""
    same = path.intercept == rows.intercept and _has_atoms(rows.pool, path)
    if same:
        for round_ in path.rounds:
            rows.append(round_.atom)
    same = bool(
        same
        and np.allclose(rows.scales, path.scales)
        and np.allclose(rows.centers, path.centers)
        and np.isclose(
            rows.evaluate(path.last.W, refit.loss)[0] / rows.total_weight,
            path.last.loss,
            rtol=1e-4,
            atol=1e-7,
        )
    )
    if not same:
        raise ValueError(
            "warm_start=True goes on from an earlier fit, but the columns chosen there have "
            "other means, scales or losses now: X, y, the weights, the pool (or its random "
            "state), the margin or fit_intercept changed. Fit the same data in the same way, or "
            "set warm_start=False."
        )
    return path.copy()


def _has_atoms(pool: Pool, path: Path) -> bool:
    """Return whether the pool has the path's atoms, with as many columns each."""
    atoms = path.selected
    if atoms.max(initial=-1) >= pool.n_atoms_:
        return False
    return np.array_equal(pool.features(atoms).widths, path.features.widths)


def run(rows: Rows, refit: Refit, stopping: Stopping, path: Path) -> Iterator[Round]:
    """Extend the path round by round to ``n_features``; yield each finished round."""
    started = perf_counter() - path.last.seconds
    path.finish = path.stop_reason = None
    while len(path) < stopping.n_features:
        best = choose(rows, refit, stopping, path)  # steps 3 and 4
        if best is None or best.score < stopping.tol:
            path.stop_reason = StopReason.NO_GAIN if best else StopReason.EXHAUSTED
            break
        rows.append(best.atom)  # step 5: I <- I + {r}
        W, status = refit(rows, path.last.W, stopping.refit_tol * best.score)  # step 6
        round_ = Round(best.atom, best.score, W, status, perf_counter() - started)
        path.add(round_, rows.pool, rows.centers, rows.scales)
        yield round_
    else:
        path.stop_reason = StopReason.N_FEATURES


def finish(rows: Rows, refit: Refit, stopping: Stopping, path: Path) -> None:
    """Refit the last round to ``finish_tol``; the round itself stays, for a run that goes on."""
    if path.rounds:
        path.finish = tighten(rows, refit, stopping.finish_tol, path.last)


def choose(rows: Rows, refit: Refit, stopping: Stopping, path: Path) -> Choice | None:
    """Return the unchosen atom that is best by eq. (7), or None where none is left.

    Where the scores fell so far that the last refit is too loose for them, the chosen
    columns have more to give than a new one: they are refit further first.
    """
    while True:
        rows.evaluate(path.last.W, refit.loss)  # rho, left as residuals in the blocks
        best = best_atom(rows, path.selected)
        if best is None or best.score < stopping.tol:
            return best
        left = path.last.status
        loose = left.gradient > 2.0 * stopping.refit_tol * best.score
        if not loose or not left.converged:
            return best
        path.last = tighten(rows, refit, stopping.refit_tol * best.score, path.last)


def tighten(rows: Rows, refit: Refit, tolerance: float, round_: Round) -> Round:
    """Return the round again, its weights refit to a smaller tolerance."""
    started = perf_counter()
    W, status = refit(rows, round_.W, tolerance)
    seconds = round_.seconds + perf_counter() - started
    return replace(round_, W=W, status=status, seconds=seconds)
