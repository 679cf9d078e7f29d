"""What the rivals have in common: checked rows, a path made step by step, a classifier from it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning

from ..dataset import Sample, checked_sample
from ..model import fitted_attributes
from ..path import StopReason
from ..pools import Pool
from ..predictor import Predictor
from ..progress import RoundsBar, progress_bars
from ..threads import single_threaded_blas
from .path import RivalPath, RivalStep


class Engine(Protocol):
    """One run of a rival."""

    n_steps: int | None  # at most; None where nobody knows
    intercept: bool  # whether the first column of a step's W is the intercept's
    stop_reason: str  # why the steps ended, once they have
    trouble: str | None  # what did not converge, and what to change

    def steps(self) -> Iterator[RivalStep]:
        """Yield each model as soon as it is finished, the first at once."""

    def units(self, atom: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the centres and scales that an atom's columns were trained in."""


class Rival(Predictor):
    """A classifier whose path is made of a rival's steps."""

    path_: RivalPath
    class_weight: dict[Any, float] | str | None
    verbose: int

    @abstractmethod
    def _new_pool(self) -> Pool:
        """Return the candidates, unfitted."""

    @abstractmethod
    def _engine(self, sample: Sample, pool: Pool, n_classes: int) -> Engine:
        """Return a run on rows of positive weight, with a pool fitted to them."""

    def _check(self, n_classes: int) -> None:
        """Raise where the parameters do not suit the data."""

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
            path = _path(done, engine, pool, stop_reason, tuple(names))
            return fitted_attributes(checked, classes, path, path.steps[-1])

        with progress_bars(bool(self.verbose)):
            with single_threaded_blas:  # whose sums depend on its threads
                pool.fit(sample.X, sample.weight, centred=self._centred())
            engine = self._engine(sample, pool, classes.size)
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

    def _centred(self) -> bool:
        """Return whether columns are trained on about their mean."""
        return bool(getattr(self, "fit_intercept", False))


def _path(
    steps: list[RivalStep], engine: Engine, pool: Pool, stop_reason: str, names: tuple[str, ...]
) -> RivalPath:
    """Return the path of the finished steps."""
    atoms = list(dict.fromkeys(atom for step in steps for atom in step.atoms))
    units = [engine.units(atom) for atom in atoms]
    return RivalPath(
        pool.features(atoms),
        engine.intercept,
        np.concatenate([np.empty(0), *(centers for centers, _ in units)]),
        np.concatenate([np.empty(0), *(scales for _, scales in units)]),
        tuple(steps),
        stop_reason,
        names,
        pool.n_atoms_,
    )
