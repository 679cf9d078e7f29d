"""What every round left behind: the curve of the model against its number of features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .arrays import pandas_for
from .model import ModelPath
from .solvers import Status

if TYPE_CHECKING:
    import pandas as pd

    from .pools import Features
    from .predictor import Predictor
    from .rows import Rows


class StopReason(StrEnum):
    """Why the rounds ended, in plain words."""

    N_FEATURES = "reached n_features"
    EXHAUSTED = "pool exhausted: no unchosen feature is left that varies"
    NO_GAIN = "nothing left to gain from any other feature"
    CALLBACK = "stopped by a callback"
    BUDGET = "budget spent: no unchosen feature is left that it could pay for"
    NOT_BETTER = "no better held-out score in the last n_iter_no_change rounds"
    INTERRUPTED = "interrupted"
    LAST_ALPHA = "reached the last alpha"
    MAX_ITER = "reached max_iter"


@dataclass(frozen=True)
class Round:
    """One round of Algorithm 1."""

    atom: int  # that came in first; -1 where none did: the start
    score: float  # of the atom, by the rule; NaN where it was asked for
    W: NDArray[np.float64]  # (k, intercept + columns so far), in training units
    status: Status  # of the refit
    seconds: float  # since the run began
    atoms: tuple[int, ...] = ()  # all that are in use after the round
    swaps: tuple[tuple[int, int], ...] = ()  # then made: (atom out, atom in)
    plain: Round | None = None  # the round of a run without any swaps, if that is another
    fell_back: bool = False  # to the plain round, which was better, before the swaps
    cost: float = 0.0  # spent so far
    validation: float = np.nan  # held-out score

    @property
    def loss(self) -> float:
        """L(W), the average margin loss without the penalty."""
        return self.status.loss


@dataclass(repr=False)
class Path(ModelPath):
    """Every round of one run, and the model of any number of features."""

    features: Features  # of all atoms that any round uses, in the order of their first use
    intercept: bool
    start: Round  # the model of no feature at all
    centers: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # of features
    scales: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    rounds: list[Round] = field(default_factory=list)
    finish: Round | None = None  # the last round again, after its tighter refit
    stop_reason: StopReason | None = None
    input_names: Sequence[str] = ()  # of X's columns
    n_atoms: int = 0  # of the pool
    n_rows: int | None = None  # trained on, where known
    shaped_by: Mapping[str, str] = field(default_factory=dict)  # digests of parameters

    def __repr__(self) -> str:
        loss = f", loss {self.losses[-1]:.4g}" if self.rounds else ""
        return f"<Path of {len(self.last.atoms)} features{loss}: {self.stop_reason or 'under way'}>"

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
            self.rounds = [*self.rounds[:-1], round_]  # copies keep theirs
        else:
            self.start = round_

    def add(self, round_: Round, rows: Rows, finish: bool = False) -> None:
        """Add a round, or the last one in its finished form, of the atoms chosen in the rows."""
        added = {"finish": round_} if finish else {"rounds": [*self.rounds, round_]}
        known = self.features.ids
        new = [chosen for chosen in rows.chosen if chosen.atom not in known]
        # One call, so that an interrupt finds all of the round or nothing.
        self.__dict__.update(
            features=rows.pool.features([*known, *(chosen.atom for chosen in new)]),
            centers=np.concatenate([self.centers, *(chosen.centers for chosen in new)]),
            scales=np.concatenate([self.scales, *(chosen.scales for chosen in new)]),
            **added,
        )

    @property
    def selected(self) -> NDArray[np.intp]:
        """Atoms of the last round, in the order they were chosen."""
        return np.array(self.last.atoms, dtype=np.intp)

    @property
    def costs(self) -> NDArray[np.float64]:
        """Cost spent after each round."""
        return np.array([round_.cost for round_ in self])

    @property
    def alphas(self) -> NDArray[np.float64]:
        """Weight of the penalty in each round: what ``alpha="auto"`` came to."""
        return np.array([round_.status.alpha for round_ in self])

    @property
    def validation_scores(self) -> NDArray[np.float64]:
        """Held-out score after each round; NaN where no rows were held out."""
        return np.array([round_.validation for round_ in self])

    @property
    def best(self) -> int:
        """The number of features of the best held-out score, the lowest of equals.

        That of all rounds where no rows were held out; owned features are always in.
        """
        least = max(0, self.n_owned - 1)
        scores = self.validation_scores[least:]
        return len(self) if np.isnan(scores).all() else least + int(np.nanargmax(scores)) + 1

    @property
    def n_owned(self) -> int:
        """How many rounds brought in an atom that was owned already."""
        return int(np.isnan(self.scores).sum())

    @property
    def scores(self) -> NDArray[np.float64]:
        """Score of each chosen atom when it was chosen, before its price; NaN if it was owned.

        For the rules ``"gradient"`` and ``"orthogonal"`` it is the l1 norm over classes of the
        atom's part of the gradient, eq. (7) of the paper. For ``"newton"`` it is the sum of
        ``g^2 / 2h``, an estimate of what the loss falls by. For the others it is what the loss,
        with its penalty, falls by in the step of the rule.
        """
        return np.array([round_.score for round_ in self])

    def first(self, t: int) -> Path:
        """Return the path of a run that ended after ``t`` rounds."""
        self._check(t)
        if t == len(self):
            return self
        return replace(self, **self._first(t), stop_reason=StopReason.N_FEATURES)

    def reopen(self) -> None:
        """Forget how the run ended, so that it can go on from its last round."""
        self.__dict__.update(self._first(len(self)), stop_reason=None)

    def _first(self, t: int) -> dict[str, Any]:
        """Return the fields of a path of ``t`` rounds."""
        rounds = self.rounds[:t]
        return self._used_by(rounds) | {"rounds": rounds, "finish": None}

    def step(self, t: int) -> Round:
        """Return the round that left t atoms, in its finished form; 0 is the start."""
        self._check(t)
        if t == len(self) and self.finish is not None:
            return self.finish
        return self.rounds[t - 1] if t else self.start

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

    def to_frame(self) -> pd.DataFrame:
        """Return one row a round as a pandas frame.

        ``atom`` came in first, by its ``score``, and is called ``name``; ``swaps`` were made
        then, as pairs (out, in), and ``atoms`` are all that were in use after them. ``cost``
        is what was spent so far, ``validation`` the held-out score. ``alpha`` (the weight of the
        penalty), ``iterations``, ``gradient`` (that was left) and ``converged`` are those of the
        refit.
        """
        pd = pandas_for("losses, scores, seconds and selected")
        return pd.DataFrame(
            {
                "atom": [round_.atom for round_ in self],
                "name": self.names([round_.atom for round_ in self]),
                "score": self.scores,
                "loss": self.losses,
                "cost": self.costs,
                "validation": self.validation_scores,
                "swaps": [round_.swaps for round_ in self],
                "atoms": [round_.atoms for round_ in self],
                "seconds": self.seconds,
                "alpha": self.alphas,
                "iterations": [round_.status.iterations for round_ in self],
                "gradient": [round_.status.gradient for round_ in self],
                "converged": [round_.status.converged for round_ in self],
            },
            index=pd.Index(self.n_features, name="n_features"),
        )


@dataclass(repr=False)
class PathOfOne(Path):
    """One model of a run, as the path of a classifier that is reduced or was saved alone.

    ``losses``, ``scores``, ``to_frame()`` and so on have one entry; ``at(t)`` takes its number
    of features.
    """

    model_weights: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    intercepts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    iterations: int = 0  # of all refits of the run
    training: dict[str, Any] = field(default_factory=dict)  # what the file tells of the run

    def weights(
        self, step: Round, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights and intercepts as they were saved, to the last bit."""
        return self.model_weights, self.intercepts

    @property
    def best(self) -> int:
        """The number of features."""
        return len(self.last.atoms)

    @property
    def n_iter(self) -> int:
        """Iterations of the refits of the run."""
        return self.iterations

    def step(self, t: int) -> Round:
        """Return the one round, of t atoms."""
        self._check(t)
        return self.last

    def first(self, t: int) -> PathOfOne:
        """Return this path, which ends with t atoms."""
        self._check(t)
        return self

    def _check(self, t: int) -> None:
        if not isinstance(t, (int, np.integer)) or t != self.best:
            raise ValueError(
                f"t={t!r} is not valid for at: this classifier is reduced or was saved without its "
                f"path, and takes t={self.best}, the number of its features. save(whole_path=True) "
                "keeps all rounds; at(t).reduced() is of fewer features."
            )


def alone(clf: Predictor) -> PathOfOne:
    """Return the path that a fitted classifier has without the rounds before its model."""
    path = clf.path_
    if isinstance(path, PathOfOne):
        return path
    places, columns = path.places(clf.selected_)
    only = replace(path.step(clf.selected_.size), plain=None)
    return PathOfOne(
        features=path.features.take(places),
        intercept=path.intercept,
        start=only,
        centers=path.centers[columns],
        scales=path.scales[columns],
        rounds=[only],
        stop_reason=path.stop_reason,
        input_names=path.input_names,
        n_atoms=path.n_atoms,
        n_rows=path.n_rows,
        model_weights=clf.weights_,
        intercepts=clf._intercepts_,
        iterations=clf.n_iter_,
        training=training_of(path),
    )


def training_of(path: Path) -> dict[str, Any]:
    """Return what people may want to know of the run of a path."""
    if isinstance(path, PathOfOne):
        return path.training
    rounds = [path.start, *path]
    late = [t for t, r in enumerate(rounds) if r.status.gradient > r.status.tolerance]
    return {"losses": path.losses, "seconds": rounds[-1].seconds, "not_converged": late}
