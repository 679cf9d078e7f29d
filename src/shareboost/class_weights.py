"""Columns of W by feature and by column of X: what each says of each class, and is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .path import Path, Round

# A feature speaks for or against the classes whose weights are at least so much of its largest.
LEAST_SHARE = 0.5


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
