"""What the rivals have in common: a run that makes steps, their path, and its last model."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning

from ..arrays import pandas_for
from ..dataset import Sample, checked_sample
from ..model import fitted_attributes
from ..path import Path, Round, StopReason
from ..pools import new_pool
from ..pools.base import Pool
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
class RivalStep(Round):
    """A model of a rival, and what else there is to tell of it."""

    details: dict[str, Any] = field(default_factory=dict)  # columns of ``to_frame``

    @classmethod
    def of(
        cls,
        atoms: tuple[int, ...],  # in use, in the order of their columns
        W: Matrix,
        loss: float,
        seconds: float,
        iterations: int,  # from the step before
        details: dict[str, Any],
    ) -> Self:
        """Return a step: of what a rival does not tell of a round there is NaN, 0 or -1."""
        status = Status(loss, loss, iterations, np.nan, np.nan, "", 0.0)
        # Row by row, as from a file: in another order products with rows round differently.
        W = np.ascontiguousarray(W)
        cost = float(len(atoms))
        return cls(-1, np.nan, W, status, seconds, atoms, cost=cost, details=details)


@dataclass(repr=False)
class RivalPath(Path):
    """Every step of one run of a rival, each of more features than before, as many or fewer.

    ``start`` is its first model, that of no feature, and ``rounds`` are all others. A path from a
    file has the models, but not what else a rival told of them.
    """

    def __repr__(self) -> str:
        most = self.n_features.max()
        return f"<RivalPath of {len(self)} models, up to {most} features: {self.stop_reason}>"

    def __len__(self) -> int:
        return 1 + len(self.rounds)

    def __iter__(self) -> Iterator[Round]:
        """Yield the steps."""
        yield self.start
        yield from self.rounds

    @property
    def steps(self) -> list[Round]:
        """All models, the first one without any feature."""
        return list(self)

    def step(self, t: int) -> Round:
        """Return the last step of at most ``t`` features: the first has none."""
        return self.steps[self._place(t)]

    def first(self, t: int) -> RivalPath:
        """Return the path of a run that ended with that step."""
        place = self._place(t)
        if place == len(self.rounds):
            return self
        return replace(self, **self._first(place), stop_reason=StopReason.N_FEATURES)

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
        told = [getattr(step, "details", {}) for step in self]
        details = {name: [of_step[name] for of_step in told] for name in told[0]}
        if "atom" in details:
            details["name"] = self.names(details["atom"])
        columns = {"n_features": self.n_features, "loss": self.losses, **details}
        columns["seconds"] = self.seconds
        columns["iterations"] = [step.status.iterations for step in self]
        columns["atoms"] = [step.atoms for step in self]
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self), name="step"))


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
    stop_reason: StopReason = StopReason.INTERRUPTED  # until they have ended
    # Warnings: mostly of what did not meet its tolerance, and what to change.
    late: list[str] = field(default_factory=list)

    @abstractmethod
    def steps(self) -> Iterator[RivalStep]:
        """Yield each model as soon as it is finished, the one of no feature at once."""


class Rival(Predictor):
    """A classifier whose path is made of a rival's steps."""

    _engine: ClassVar[type[Engine]]

    _path_class = RivalPath
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
        done: list[Round] = []

        def fitted(stop_reason: StopReason) -> dict[str, Any]:
            atoms = list(dict.fromkeys(atom for step in done for atom in step.atoms))
            centers, scales = np.hstack([np.empty((2, 0)), *(engine.units[a] for a in atoms)])
            path = RivalPath(
                pool.features(atoms),
                self.fit_intercept,
                done[0],
                centers,
                scales,
                done[1:],
                stop_reason=stop_reason,
                input_names=tuple(names),
                n_atoms=pool.n_atoms_,
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
        if engine.late:
            before = f" There are {len(engine.late) - 1} like it." if engine.late[1:] else ""
            warnings.warn(engine.late[-1] + before, ConvergenceWarning, stacklevel=3)
        self._set_fitted(fitted(engine.stop_reason))
        return self


def of_blocks(rows: Rows, part: Callable[..., Any], *items: Iterable[Any]) -> list[Any]:
    """Return ``part(block, *items)`` for each block of the rows and its items, on all threads."""
    blocks = zip(rows.shard.blocks, *items, strict=True)
    return list(rows.shard.map(lambda each: part(*each), blocks))


def late_refit(refit: str, status: Status) -> str:
    """Return what to say of a refit that ended above its tolerance."""
    asked = f"where {status.tolerance:.2g} was asked for."
    return f"{refit} ended with a gradient of {status.gradient:.2g}, {asked} {status.advice}"
