"""Models, and the path of one run as all that reads it sees it."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .input_columns import columns_read
from .pools.columns import ColumnFeatures
from .pools.features import Features

if TYPE_CHECKING:
    from .path import Path, Round

# Columns of about this many bytes are computed at a time, and rows of at least so many: what a
# step leaves is then still in a cache when the next one comes.
CHUNK_BYTES = 1 << 20
CHUNK_ROWS = 4096
MOST_BYTES = 1 << 26  # however few the rows

# A feature speaks for or against the classes whose weights are at least so much of its largest.
LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Model:
    """Scores ``columns(X) @ weights.T + intercept``, all in the units of X."""

    features: Features
    weights: NDArray[np.float64]  # (k, n_columns)
    intercept: NDArray[np.float64]  # (k,)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class for every row of X, (rows, k)."""
        scores = np.empty((X.shape[0], self.intercept.size))
        for rows, by_class in self._scored(X):
            scores[rows] = by_class.T
        return scores

    def best(self, X: Any) -> NDArray[np.intp]:
        """Return the place of the highest score of every row of X, the first of equals, (rows,).

        No score is kept, and the largest is found one class at a time for all rows of a
        chunk: NumPy's ``argmax`` of each row takes longer than the scores themselves.
        """
        kind = np.min_scalar_type(self.intercept.size - 1).type
        best = np.zeros(X.shape[0], dtype=kind)
        for rows, (largest, *others) in self._scored(X):
            for q, scores in enumerate(others, start=1):
                above = np.multiply(scores > largest, kind(q))  # q, which is more than any before
                np.maximum(best[rows], above, out=best[rows])
                np.maximum(largest, scores, out=largest)
        return best.astype(np.intp)

    def _scored(self, X: Any) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield ranges of rows and the scores there, (k, rows); never all columns at once.

        Columns of X are read in the order of X, so that rows without the others, whose columns
        need no copy, have the same scores to the last bit.
        """
        features, weights, all_of_X = self.features, self.weights, False
        if (columns_in := features.input_columns) is not None:
            order = np.argsort(columns_in, kind="stable")
            features, weights = ColumnFeatures(columns_in[order]), weights[:, order]
            every = np.arange(X.shape[1])
            all_of_X = isinstance(X, np.ndarray) and np.array_equal(features.ids, every)
        a_row = 8 * max(1, weights.shape[1])
        step = max(1, min(max(CHUNK_ROWS, CHUNK_BYTES // a_row), MOST_BYTES // a_row))
        if X.shape[0] > step and hasattr(X, "tocsr"):
            X = X.tocsr()
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            columns = np.ascontiguousarray(X[rows]) if all_of_X else features.columns(X[rows])
            # Converted first: NumPy's own conversion of a transposed matrix is slow.
            scores: NDArray[np.float64] = weights @ columns.astype(np.float64, copy=False).T
            scores += self.intercept[:, None]
            yield rows, scores


class ModelPath(ABC):
    """The models of one run, as curves, plots and reports read them.

    The weights of a step belong to columns ``(x - center) / scale``; ``model`` folds centre
    and scale back, so that a model speaks of the user's own units.
    """

    features: Features  # of all atoms that any model uses
    intercept: bool
    centers: NDArray[np.float64]  # of the columns of features
    scales: NDArray[np.float64]
    input_names: Sequence[str]  # of X's columns

    @abstractmethod
    def __iter__(self) -> Iterator[Round]:
        """Yield the steps in their order."""

    @abstractmethod
    def step(self, t: int) -> Round:
        """Return the last step of at most ``t`` atoms."""

    @property
    def n_features(self) -> NDArray[np.intp]:
        """Number of atoms that each model uses."""
        return np.array([len(step.atoms) for step in self], dtype=np.intp)

    @property
    def losses(self) -> NDArray[np.float64]:
        """Average training loss of each model, without any penalty."""
        return np.array([step.loss for step in self], dtype=np.float64)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time since the run began, of each model."""
        return np.array([step.seconds for step in self], dtype=np.float64)

    def arrivals(self) -> list[tuple[int, ...]]:
        """Return, for each model, the atoms in use that no model before it used.

        A round of swaps may bring in several or none; an atom that it swapped out again at
        once is not among them.
        """
        known: set[int] = set()
        arrivals = []
        for step in self:
            arrivals.append(tuple(atom for atom in step.atoms if atom not in known))
            known.update(step.atoms)
        return arrivals

    def at(self, t: int) -> Model:
        """Return the model of ``t`` atoms; where there is none, the last of fewer."""
        return self.model(self.step(t))

    def model(self, step: Round) -> Model:
        """Return the model of a step."""
        places, columns = self.places(step.atoms)
        return Model(self.features.take(places), *self.weights(step, columns))

    def weights(
        self, step: Round, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights and intercepts of a step, whose columns are at those places."""
        W = step.W
        with np.errstate(over="ignore", invalid="ignore"):  # a fit checks what it keeps
            weights = W[:, int(self.intercept) :] / self.scales[columns]
            intercept = -weights @ self.centers[columns]
        if self.intercept:
            intercept += W[:, 0]
        return weights, intercept

    def places(self, atoms: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where the atoms, and where their columns, are in ``features``."""
        where = {atom: place for place, atom in enumerate(self.features.ids.tolist())}
        places = np.array([where[int(atom)] for atom in atoms], dtype=np.intp)
        return places, self._columns(places)

    def names(self, atoms: Iterable[int]) -> list[str]:
        """Return the name of each atom; of one that no model uses its number, of none nothing."""
        names = self.features.atom_names(self.input_names)
        known = {-1: ""} | dict(zip(self.features.ids.tolist(), names, strict=True))
        return [known.get(atom, str(atom)) for atom in atoms]

    def _used_by(self, steps: Iterable[Round]) -> dict[str, Any]:
        """Return the features that some steps use, their centres and scales, by field."""
        used = [atom for step in steps for atom in step.atoms]
        places = np.flatnonzero(np.isin(self.features.ids, used))
        columns = self._columns(places)
        return {
            "features": self.features.take(places),
            "centers": self.centers[columns],
            "scales": self.scales[columns],
        }

    def _columns(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where the columns of the atoms at those places are."""
        widths = self.features.widths
        stops = np.cumsum(widths)
        columns = [np.arange(stops[place] - widths[place], stops[place]) for place in places]
        return np.concatenate([np.empty(0, dtype=np.intp), *columns])


def fitted_attributes(
    checked: Any, classes: NDArray[Any], path: Path, step: Round
) -> dict[str, Any]:
    """Return all that the classifier of a step of the path holds, by attribute name.

    ``checked`` is an estimator that holds what validation learned of X.
    """
    model = path.model(step)
    inputs = ("n_features_in_", "feature_names_in_", "groups_", "cluster_")
    return {
        **{name: getattr(checked, name) for name in inputs if hasattr(checked, name)},
        "classes_": classes,
        "path_": copy.copy(path),  # a run may go on from here without this fit
        "selected_": model.features.ids,
        "weights_": model.weights,
        "_intercepts_": model.intercept,
        "columns_": columns_read(model.features, checked.n_features_in_),
        "cost_": step.cost,
        "n_iter_": path.n_iter,
    }


def sharing(path: Path, step: Round) -> NDArray[np.float64]:
    """Return the weights of a model by feature and class, (atoms of the step, k), as in Fig. 5(b).

    They are those of the scaled columns that the model was trained on, so that features of
    unlike units compare, less their mean over classes, which changes no prediction. A feature
    above zero speaks for a class, one below speaks against it. One of several columns, such as a
    group or a piece, has no single direction: it has the norm of its weights, at least zero.
    """
    places, _ = path.places(step.atoms)
    W = _by_column(path, step)
    widths = path.features.widths[places]
    starts = np.cumsum(widths) - widths
    norms = np.sqrt(np.add.reduceat(W**2, starts, axis=1)) if len(starts) else W
    return np.where(widths == 1, W[:, starts], norms).T


def importances(path: Path, step: Round, n_columns_in: int) -> NDArray[np.float64]:
    """Return the share of each column of X in the weights of a model, (n_columns_in,).

    A feature's columns count by their absolute weights of ``sharing``, summed over classes, which
    the columns of X that they are made of divide. The shares sum to 1; all are 0 for weights of 0.
    """
    places, _ = path.places(step.atoms)
    shares = path.features.take(places).shares(n_columns_in)
    sizes: NDArray[np.float64] = shares.T @ np.abs(_by_column(path, step)).sum(axis=0)
    return sizes / sizes.sum() if sizes.any() else sizes


def _by_column(path: Path, step: Round) -> NDArray[np.float64]:
    """Return the weights of the scaled columns less their mean over classes, (k, columns)."""
    _, columns = path.places(step.atoms)
    W = path.weights(step, columns)[0] * path.scales[columns]
    return W - W.mean(axis=0)
