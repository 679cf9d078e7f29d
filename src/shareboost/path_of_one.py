"""The path of a model without the rounds before it: that model alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .path import Path, Round
from .solvers import Status

if TYPE_CHECKING:
    import pandas as pd

    from .model_path import ModelPath, Step
    from .predictor import Predictor


@dataclass(repr=False)
class PathOfOne(Path):
    """One model of a run, as the path of a classifier that is reduced or was saved without others.

    ``losses``, ``scores``, ``to_frame()`` and so on have one entry; ``at(t)`` takes its number
    of features.
    """

    model_weights: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    intercepts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    iterations: int = 0  # of all refits
    training: dict[str, Any] = field(default_factory=dict)  # what the file tells of the run

    def __repr__(self) -> str:
        return (
            f"<Path of one model, {len(self.only.atoms)} features, loss {self.only.loss:.4g}: "
            f"{self.stop_reason or 'under way'}>"
        )

    @property
    def only(self) -> Round:
        """The one round that there is."""
        return self.rounds[0]

    def weights(
        self, step: Step, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights and intercepts as they were saved."""
        return self.model_weights, self.intercepts

    @property
    def best(self) -> int:
        """The number of features."""
        return len(self.only.atoms)

    @property
    def n_iter(self) -> int:
        """Iterations of the refits of the run."""
        return self.iterations

    @property
    def selected(self) -> NDArray[np.intp]:
        """The atoms, in the order they were chosen."""
        return np.array(self.only.atoms, dtype=np.intp)

    def step(self, t: int) -> Round:
        """Return the one round, of t atoms."""
        self._check(t)
        return self.only

    def first(self, t: int) -> PathOfOne:
        """Return this path, which ends with t atoms."""
        self._check(t)
        return self

    def _check(self, t: int) -> None:
        n = len(self.only.atoms)
        if not isinstance(t, (int, np.integer)) or t != n:
            raise ValueError(
                f"t={t!r} is not valid for at: this classifier is reduced or was saved without its "
                f"path, and takes t={n}, the number of its features. save(whole_path=True) keeps "
                "all rounds, except for rivals; at(t).reduced() is of fewer features."
            )

    def to_frame(self) -> pd.DataFrame:
        """Return the one round as a pandas frame of one row."""
        frame = super().to_frame()
        frame.index = frame.index.astype("int64") - 1 + len(self.only.atoms)
        return frame


def alone(clf: Predictor) -> PathOfOne:
    """Return the path that a fitted classifier has without the rounds before its model."""
    path = clf.path_
    if isinstance(path, PathOfOne):
        return path
    places, columns = path.places(clf.selected_)
    only = _round_of(path, path.step(clf.selected_.size))
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


def training_of(path: ModelPath) -> dict[str, Any]:
    """Return what people may want to know of the run of a path."""
    if isinstance(path, PathOfOne):
        return path.training
    rounds = [path.start, *path] if isinstance(path, Path) else []
    late = [t for t, round_ in enumerate(rounds) if not round_.status.converged]
    seconds = rounds[-1].seconds if rounds else float(path.seconds[-1])
    return {"losses": path.losses, "seconds": seconds, "not_converged": late}


def _round_of(path: ModelPath, step: Step) -> Round:
    """Return a step as a round; what a rival's step does not tell is NaN, and its alpha 0."""
    if isinstance(step, Round):
        return replace(step, plain=None)
    status = Status(step.loss, step.loss, path.n_iter, np.nan, np.nan, "", 0.0)
    return Round(-1, np.nan, step.W, status, step.seconds, step.atoms, cost=step.cost)
