"""The path of a model that was saved without its rounds: that model alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .model_path import Step
from .path import Path, Round

if TYPE_CHECKING:
    import pandas as pd


@dataclass(repr=False)
class PathOfOne(Path):
    """One model of a run, as the path of a classifier that was loaded without the others.

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
                f"t={t!r} is not valid for at: this classifier was saved without its path, and "
                f"takes t={n}, the number of its features. save(whole_path=True) keeps all rounds."
            )

    def to_frame(self) -> pd.DataFrame:
        """Return the one round as a pandas frame of one row."""
        frame = super().to_frame()
        frame.index = frame.index.astype("int64") - 1 + len(self.only.atoms)
        return frame
