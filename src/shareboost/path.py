"""What every round left behind: the curve of the model against its number of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .model import Model
from .pools import Features, Pool
from .refit import Status

if TYPE_CHECKING:
    import pandas as pd


class StopReason(StrEnum):
    """Why the rounds ended, in plain words."""

    N_FEATURES = "reached n_features"
    EXHAUSTED = "pool exhausted: no unchosen feature is left that varies"
    NO_GAIN = "nothing left to gain: the best score is below tol"
    CALLBACK = "stopped by a callback"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Round:
    """One round of Algorithm 1."""

    atom: int  # -1 where no atom was chosen: the start
    score: float  # l1 norm over classes of the atom's column of the gradient of L
    W: NDArray[np.float64]  # (k, intercept + columns so far), in training units
    status: Status  # of the refit
    seconds: float  # since the run began

    @property
    def loss(self) -> float:
        """L(W), the average margin loss without the penalty."""
        return self.status.loss


@dataclass(repr=False)
class Path:
    """Every round of one run, and the model of any number of features.

    The weights of a round belong to columns ``(x - center) / scale``; ``at`` folds
    centre and scale back, so that a model speaks of the user's own units.
    """

    features: Features  # of all chosen atoms
    intercept: bool
    start: Round  # the model of no feature at all
    centers: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    scales: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    rounds: list[Round] = field(default_factory=list)
    finish: Round | None = None  # the last round again, after its tighter refit
    stop_reason: StopReason | None = None

    def __repr__(self) -> str:
        loss = f", loss {self.losses[-1]:.4g}" if self.rounds else ""
        return f"<Path of {len(self)} features{loss}: {self.stop_reason or 'under way'}>"

    def __len__(self) -> int:
        return len(self.rounds)

    def __iter__(self) -> Iterator[Round]:
        """Yield the rounds, the last one in its finished form."""
        yield from self.rounds[:-1]
        yield from [self.finish or self.rounds[-1]] if self.rounds else []

    @property
    def last(self) -> Round:
        """The last round as the rounds left it, before any finish; the start if none."""
        return self.rounds[-1] if self.rounds else self.start

    @last.setter
    def last(self, round_: Round) -> None:
        if self.rounds:
            self.rounds[-1] = round_
        else:
            self.start = round_

    def add(self, round_: Round, pool: Pool, centers: list[float], scales: list[float]) -> None:
        """Add a round; centres and scales are those of all columns chosen so far."""
        rounds = [*self.rounds, round_]
        features = pool.features([r.atom for r in rounds])
        # One call, so that an interrupt finds all of the round or nothing.
        self.__dict__.update(
            features=features, centers=np.array(centers), scales=np.array(scales), rounds=rounds
        )

    @property
    def selected(self) -> NDArray[np.intp]:
        """Atoms in the order they were chosen."""
        return np.array([round_.atom for round_ in self], dtype=np.intp)

    @property
    def losses(self) -> NDArray[np.float64]:
        """Average training loss after each round, without the penalty."""
        return np.array([round_.loss for round_ in self])

    @property
    def scores(self) -> NDArray[np.float64]:
        """Score of each chosen atom when it was chosen, eq. (7) of the paper."""
        return np.array([round_.score for round_ in self])

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time since the run began, after each round."""
        return np.array([round_.seconds for round_ in self])

    def at(self, t: int) -> Model:
        """Return the model of the first ``t`` atoms."""
        self._check(t)
        if t == 0:
            W = self.start.W
        elif t == len(self) and self.finish is not None:
            W = self.finish.W
        else:
            W = self.rounds[t - 1].W
        features = self.features.first(t)
        n_columns = features.n_columns
        coef = W[:, int(self.intercept) :] / self.scales[:n_columns]
        intercept = -coef @ self.centers[:n_columns]
        if self.intercept:
            intercept += W[:, 0]
        return Model(features, coef, intercept)

    def first(self, t: int) -> Path:
        """Return the path of a run that ended after ``t`` rounds."""
        self._check(t)
        if t == len(self):
            return self
        features = self.features.first(t)
        return Path(
            features,
            self.intercept,
            self.start,
            self.centers[: features.n_columns],
            self.scales[: features.n_columns],
            self.rounds[:t],
            stop_reason=StopReason.N_FEATURES,
        )

    def _check(self, t: int) -> None:
        if not isinstance(t, (int, np.integer)) or not 0 <= t <= len(self):
            raise ValueError(
                f"t={t!r} is not valid for at: it takes an integer from 0 to {len(self)}, "
                "the number of rounds of this run."
            )

    @property
    def n_iter(self) -> int:
        """Iterations of the refits that gave the path's weights."""
        finish = [self.finish] if self.finish else []
        return sum(round_.status.iterations for round_ in [self.start, *self.rounds, *finish])

    def copy(self) -> Path:
        """Return a path that may be extended while this one stays."""
        return replace(self, rounds=list(self.rounds))

    def to_frame(self) -> pd.DataFrame:
        """Return one row a round as a pandas frame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: install it, or shareboost[pandas]. The arrays "
                "losses, scores, seconds and selected need nothing."
            ) from error

        return pd.DataFrame(
            {
                "atom": self.selected,
                "score": self.scores,
                "loss": self.losses,
                "seconds": self.seconds,
                "iterations": [round_.status.iterations for round_ in self],
                "gradient": [round_.status.gradient for round_ in self],
                "converged": [round_.status.converged for round_ in self],
            },
            index=pd.RangeIndex(1, len(self) + 1, name="n_features"),
        )
