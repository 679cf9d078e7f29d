"""What the rivals have in common: a run that makes steps, their path, and its last model."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning

from ..arrays import pandas_for
from ..dataset import Sample, checked_sample
from ..model_path import ModelPath, Step, fitted_attributes
from ..path import StopReason
from ..pools import new_pool
from ..pools.base import Pool
from ..pools.features import Features
from ..predictor import Predictor
from ..progress import RoundsBar, progress_bars
from ..threads import single_threaded_blas

if TYPE_CHECKING:
    import pandas as pd

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class RivalStep(Step, Protocol):
    """A model of a rival, in training units, and what else there is to tell of it."""

    @property
    def iterations(self) -> int:
        """Iterations that it took from the step before."""

    @property
    def details(self) -> dict[str, Any]:
        """What the rival tells of the step, by name: columns of ``to_frame``."""


@dataclass(frozen=True)
class StoredStep:
    """A step that holds its weights."""

    atoms: tuple[int, ...]
    W: Matrix  # (k, intercept + columns)
    loss: float
    seconds: float
    iterations: int
    details: dict[str, Any]

    @property
    def cost(self) -> float:
        """Number of atoms."""
        return float(len(self.atoms))


@dataclass(repr=False)
class RivalPath(ModelPath):
    """Every step of one run of a rival.

    A step need not use one feature more than the step before: it may use as many, or
    several more, or fewer.
    """

    features: Features
    intercept: bool
    centers: Vector
    scales: Vector
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
        """Return one row per step as a pandas frame, with the details that the rival tells."""
        pd = pandas_for("n_features, losses and seconds")
        names = self.steps[0].details if self.steps else {}
        details = {name: [step.details[name] for step in self] for name in names}
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


class Engine(ABC):
    """One run of a rival, with its parameters, on rows of positive weight and a fitted pool."""

    n_steps: int | None = None  # at most; None where nobody knows
    stop_reason = ""  # why the steps ended, once they have
    trouble: str | None = None  # what did not converge, and what to change

    def __init__(self, rival: Any, sample: Sample, pool: Pool, n_classes: int):
        self.rival = rival
        self.sample = sample
        self.pool = pool
        self.n_classes = n_classes
        self.intercept: bool = rival._centred()  # whether W has it as its first column
        # The centres and scales that the columns of each atom in use were trained in.
        self.units: dict[int, tuple[Vector, Vector]] = {}

    @abstractmethod
    def steps(self) -> Iterator[RivalStep]:
        """Yield each model as soon as it is finished, the one of no feature at once."""

    def path(self, steps: list[RivalStep], stop_reason: str, names: Sequence[str]) -> RivalPath:
        """Return the path of the finished steps."""
        atoms = list(dict.fromkeys(atom for step in steps for atom in step.atoms))
        centers, scales = np.hstack([np.empty((2, 0)), *(self.units[atom] for atom in atoms)])
        return RivalPath(
            self.pool.features(atoms),
            self.intercept,
            centers,
            scales,
            tuple(steps),
            stop_reason,
            tuple(names),
            self.pool.n_atoms_,
        )


class Rival(Predictor):
    """A classifier whose path is made of a rival's steps."""

    _engine: ClassVar[type[Engine]]

    path_: RivalPath
    verbose: int

    def _new_pool(self) -> Pool:
        """Return the candidates, unfitted."""
        return new_pool(self.pool)

    def _check(self, n_classes: int) -> None:
        """Raise where the parameters do not suit the data."""

    def _centred(self) -> bool:
        """Return whether there is an intercept, so that columns are trained on about their mean."""
        return bool(getattr(self, "fit_intercept", False))

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the whole path; the classifier is its last model.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features_in)
            Real or integer numbers; NaN where stumps are the candidates.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, of which only the ratios count. A weight of zero equals
            leaving the row out, except that ``classes_`` still holds its label.

        Returns
        -------
        self
            A fit that fails leaves an earlier fit as it was. A fit that is interrupted
            (Ctrl-C) raises ``KeyboardInterrupt`` and leaves the finished steps, or an earlier
            fit where none beyond the intercept is finished.
        """
        pool = self._new_pool()
        checked, classes, names, rows = checked_sample(self, X, y, sample_weight, pool.allows_nan)
        self._check(classes.size)
        sample = rows.weighted
        done: list[RivalStep] = []

        def fitted(stop_reason: str) -> dict[str, Any]:
            path = engine.path(done, stop_reason, names)
            return fitted_attributes(checked, classes, path, path.steps[-1])

        with progress_bars(bool(self.verbose)):
            with single_threaded_blas:  # whose sums depend on its threads
                pool.fit(sample.X, sample.weight, centred=self._centred())
            engine = self._engine(self, sample, pool, classes.size)
            bar = RoundsBar(engine.n_steps, 0)
            try:
                with closing(engine.steps()) as steps:  # type: ignore[type-var]
                    for step in steps:
                        done.append(step)
                        bar.advance(step)
                bar.end(len(done), done[-1].loss, engine.stop_reason)
            except KeyboardInterrupt:
                if len(done) > 1:  # more than the intercept
                    self._set_fitted(fitted(StopReason.INTERRUPTED))
                raise
        if engine.trouble is not None:
            warnings.warn(engine.trouble, ConvergenceWarning, stacklevel=3)
        self._set_fitted(fitted(engine.stop_reason))
        return self


def and_others(late: Sequence[Any]) -> str:
    """Return a sentence on those before the last that ended late too, with a space before it."""
    return f" So did {len(late) - 1} others." if late[1:] else ""
