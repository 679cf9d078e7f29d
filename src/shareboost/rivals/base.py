"""What the rivals have in common: a run that makes steps, their path, and its last model."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning

from ..arrays import pandas_for
from ..dataset import Sample, checked_sample
from ..model import ModelPath, fitted_attributes
from ..path import Path, StopReason, round_of
from ..pools import new_pool
from ..pools.base import Pool
from ..pools.features import Features
from ..predictor import Predictor
from ..progress import RoundsBar, progress_bars
from ..rows import Rows
from ..solvers import Status
from ..threads import blas

if TYPE_CHECKING:
    import pandas as pd

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class RivalStep:
    """A model of a rival, in training units, and what else there is to tell of it."""

    atoms: tuple[int, ...]  # in use, in the order of their columns
    weights: Matrix | Callable[[], Matrix]  # W, or what computes it where steps are many
    loss: float
    seconds: float
    iterations: int  # from the step before
    details: dict[str, Any]  # columns of ``to_frame``

    @property
    def W(self) -> Matrix:
        """The weights, (k, intercept + columns)."""
        # Row by row, as from a file: in another order products with rows round differently.
        return np.ascontiguousarray(self.weights() if callable(self.weights) else self.weights)

    @property
    def cost(self) -> float:
        """Number of atoms."""
        return float(len(self.atoms))


@dataclass(repr=False)
class RivalPath(ModelPath):
    """Every step of one run of a rival, each of more features than before, as many or fewer."""

    features: Features
    intercept: bool
    centers: Vector
    scales: Vector
    steps: Sequence[RivalStep]  # the first is without any feature
    stop_reason: str
    input_names: tuple[str, ...]
    n_atoms: int

    def __repr__(self) -> str:
        most = self.n_features.max()
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

    def as_rounds(self) -> Path:
        """Return the steps as rounds, which a file holds; it leaves out what only a rival tells."""
        start, *rounds = (round_of(step, step.iterations) for step in self)
        reason = StopReason(self.stop_reason)
        return Path(start=start, rounds=rounds, stop_reason=reason, **_shared_fields(self))

    @classmethod
    def of_rounds(cls, path: Path) -> RivalPath:
        """Return the path of which a file holds the rounds."""
        steps = tuple(
            RivalStep(one.atoms, one.W, one.loss, one.seconds, one.status.iterations, {})
            for one in (path.start, *path.rounds)
        )
        return cls(steps=steps, stop_reason=str(path.stop_reason), **_shared_fields(path))

    def step(self, t: int) -> RivalStep:
        """Return the last step of at most ``t`` features: the first has none."""
        return self.steps[self._place(t)]

    def first(self, t: int) -> RivalPath:
        """Return the path of a run that ended with that step."""
        steps = self.steps[: self._place(t) + 1]
        if len(steps) == len(self):
            return self
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
        names = self.steps[0].details
        details = {name: [step.details[name] for step in self] for name in names}
        if "atom" in details:
            details["name"] = self.names(details["atom"])
        columns = {"n_features": self.n_features, "loss": self.losses, **details}
        columns["seconds"] = self.seconds
        columns["iterations"] = [step.iterations for step in self]
        columns["atoms"] = [step.atoms for step in self]
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self), name="step"))


def _shared_fields(path: Path | RivalPath) -> dict[str, Any]:
    names = ("features", "intercept", "centers", "scales", "input_names", "n_atoms")
    return {name: getattr(path, name) for name in names}


@dataclass
class Engine(ABC):
    """One run of a rival, with its parameters, on rows of positive weight and a fitted pool."""

    rival: Any
    sample: Sample
    pool: Pool
    n_classes: int
    # The centres and scales that the columns of each atom in use were trained in.
    units: dict[int, tuple[Vector, Vector]] = field(default_factory=dict)
    n_steps: int | None = None  # at most; None where nobody knows
    stop_reason: str = ""  # why the steps ended, once they have
    # What did not meet its tolerance, and what to change; and what else is not as asked for.
    late: list[tuple[str, str]] = field(default_factory=list)
    trouble: str = ""

    @abstractmethod
    def steps(self) -> Iterator[RivalStep]:
        """Yield each model as soon as it is finished, the one of no feature at once."""

    def warning(self) -> str:
        """Return what to warn of, if anything."""
        if not self.late:
            return self.trouble
        what, advice = self.late[-1]
        others = f" So did {len(self.late) - 1} others." if self.late[1:] else ""
        return f"{what}{others} {advice} {self.trouble}".rstrip()


class Rival(Predictor):
    """A classifier whose path is made of a rival's steps."""

    _engine: ClassVar[type[Engine]]

    _path_of = RivalPath.of_rounds  # of a file
    path_: RivalPath
    fit_intercept: bool
    verbose: int

    def _new_pool(self) -> Pool:
        """Return the candidates, unfitted."""
        return new_pool(self.pool)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the whole path; the classifier is its last model.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features_in)
            Numbers; NaN where stumps are the candidates.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, of which only the ratios count.

        Returns
        -------
        self
            A fit that fails leaves an earlier fit as it was. One that is interrupted (Ctrl-C)
            raises ``KeyboardInterrupt`` and leaves the finished steps, if any has a feature.
        """
        pool = self._new_pool()
        checked, classes, names, rows = checked_sample(self, X, y, sample_weight, pool.allows_nan)
        sample = rows.weighted
        done: list[RivalStep] = []

        def fitted(stop_reason: str) -> dict[str, Any]:
            atoms = list(dict.fromkeys(atom for step in done for atom in step.atoms))
            centers, scales = np.hstack([np.empty((2, 0)), *(engine.units[a] for a in atoms)])
            path = RivalPath(
                pool.features(atoms),
                self.fit_intercept,
                centers,
                scales,
                tuple(done),
                stop_reason,
                tuple(names),
                pool.n_atoms_,
            )
            return fitted_attributes(checked, classes, path, done[-1])

        with progress_bars(bool(self.verbose)):
            with blas.single_threaded():  # whose sums depend on its threads
                pool.fit(sample.X, sample.weight, centred=self.fit_intercept)
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
        if warning := engine.warning():
            warnings.warn(warning, ConvergenceWarning, stacklevel=3)
        self._set_fitted(fitted(engine.stop_reason))
        return self


def of_blocks(rows: Rows, part: Callable[..., Any], *items: Iterable[Any]) -> list[Any]:
    """Return ``part(block, *items)`` for each block of the rows and its items, on all threads."""
    blocks = zip(rows.shard.blocks, *items, strict=True)
    return list(rows.shard.map(lambda each: part(*each), blocks))


def late_refit(refit: str, status: Status) -> tuple[str, str]:
    """Return what to say of a refit that ended above its tolerance, and what to change."""
    asked = f"where {status.tolerance:.2g} was asked for."
    return f"{refit} ended with a gradient of {status.gradient:.2g} {asked}", status.advice
