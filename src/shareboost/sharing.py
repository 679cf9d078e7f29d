"""Columns of W by feature: what each chosen feature says of each class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .model_path import ModelPath, Step

# A feature speaks for or against the classes whose weights are at least so much of its largest.
LEAST_SHARE = 0.5


def sharing(path: ModelPath, step: Step) -> NDArray[np.float64]:
    """Return the weights of a model by feature and class, as in Fig. 5(b) of the paper.

    They are those of the scaled columns that the model was trained on, so that features of
    unlike units compare, less their mean over classes, which changes no prediction. A feature
    above zero speaks for a class, one below speaks against it. One of several columns, such as a
    group or a piece, has no single direction: it has the norm of its weights, at least zero.

    Returns
    -------
    ndarray of shape (atoms of the step, n_classes)
        In the order of ``step.atoms``.
    """
    places, columns = path.places(step.atoms)
    W = path.weights(step, columns)[0] * path.scales[columns]
    W = W - W.mean(axis=0)
    widths = path.features.widths[places]
    starts = np.cumsum(widths) - widths
    norms = np.sqrt(np.add.reduceat(W**2, starts, axis=1)) if len(starts) else W
    signed = np.where(widths == 1, W[:, starts], norms)
    found: NDArray[np.float64] = signed.T
    return found
