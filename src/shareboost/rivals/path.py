"""The path of a rival: its models in their order, of whatever numbers of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import pandas_for
from ..model_path import ModelPath, Step
from ..path import StopReason
from ..pools import Features

if TYPE_CHECKING:
    import pandas as pd


class RivalStep(Step, Protocol):
    """A model of a rival, and what else there is to tell of it."""

    @property
    def iterations(self) -> int:
        """Iterations that it took from the step before."""

    @property
    def details(self) -> dict[str, Any]:
        """What the rival tells of the step, by name: columns of ``to_frame``."""


@dataclass(repr=False)
class RivalPath(ModelPath):
    """Every step of one run of a rival.

    A step need not use one feature more than the step before: it may use as many, or
    several more, or fewer.
    """

    features: Features
    intercept: bool
    centers: NDArray[np.float64]
    scales: NDArray[np.float64]
    steps: Sequence[RivalStep]  # the first is without any feature
    stop_reason: str
    input_names: tuple[str, ...]
    n_atoms: int

    def __repr__(self) -> str:
        most = max(self.n_features.tolist(), default=0)
        return f"<RivalPath of {len(self)} models, up to {most} features: {self.stop_reason}>"

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[RivalStep]:
        """Yield the steps."""
        yield from self.steps

    @property
    def n_iter(self) -> int:
        """Iterations of all steps."""
        return sum(step.iterations for step in self)

    def copy(self) -> RivalPath:
        """Return the path: nothing extends it."""
        return self

    def step(self, t: int) -> RivalStep:
        """Return the last step of at most ``t`` features: the first has none."""
        return self.steps[self._place(t)]

    def first(self, t: int) -> RivalPath:
        """Return the path of a run that ended with that step."""
        place = self._place(t)
        if place == len(self) - 1:
            return self
        steps = self.steps[: place + 1]
        return replace(self, **self._used_by(steps), steps=steps, stop_reason=StopReason.N_FEATURES)

    def _place(self, t: int) -> int:
        most = int(self.n_features.max())
        if not isinstance(t, (int, np.integer)) or isinstance(t, bool) or not 0 <= t <= most:
            raise ValueError(
                f"t={t!r} is not valid for at: it takes a number of features, from 0 to {most}."
            )
        return int(np.flatnonzero(self.n_features <= t)[-1])

    def to_frame(self) -> pd.DataFrame:
        """Return one row a step as a pandas frame, with the details that the rival tells."""
        pd = pandas_for("n_features, losses and seconds")
        details = {
            name: [step.details[name] for step in self]
            for name in (self.steps[0].details if self.steps else {})
        }
        if "atom" in details:
            details["name"] = self.names(details["atom"])
        return pd.DataFrame(
            {
                "n_features": self.n_features,
                "loss": self.losses,
                **details,
                "seconds": self.seconds,
                "iterations": [step.iterations for step in self],
                "atoms": [step.atoms for step in self],
            },
            index=pd.RangeIndex(len(self), name="step"),
        )
