"""The columns of W, features against classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...class_weights import sharing
from ...predictor import Predictor
from ..comparison import check_has_path
from .axes import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES = 60  # beyond which the features' names would run into each other


def plot_sharing(
    clf: Predictor,
    *,
    n_features: int | None = None,
    relative: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw which feature speaks for and against which class, Fig. 5(b) of the paper.

    Blue is for, red against. A feature of several columns has no single direction: it is blue
    for the classes that it matters to.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted; ``clf.at(t)`` for the weights of fewer features.
    n_features : int, optional
        How many of the chosen features to draw, the first ones. None: all.
    relative : bool, default=True
        Whether to draw each feature's weights over its largest magnitude, or all as they are,
        in the units of the scaled columns.
    ax : matplotlib Axes, optional
        What to draw on. None makes a figure.

    Returns
    -------
    matplotlib Axes
    """
    check_has_path(clf)
    path = clf.path_
    W = sharing(path, path.step(clf.selected_.size))[:n_features]
    places = path.places(clf.selected_)[0][:n_features]
    names = path.features.take(places).atom_names(path.input_names)
    if relative:
        largest = np.abs(W).max(axis=1, keepdims=True, initial=0.0)
        W = W / np.where(largest > 0, largest, 1.0)
    ax = axes_of(ax, (max(3.0, 1.5 + 0.35 * W.shape[1]), max(2.5, 0.8 + 0.2 * min(len(W), 60))))
    draw_sharing(ax, W, clf.classes_.tolist(), names if len(names) <= MOST_NAMES else None)
    return ax


def draw_sharing(
    ax: Axes,
    W: NDArray[np.floating[Any]],
    classes: Sequence[Any],
    names: Sequence[str] | None = None,
) -> None:
    """Draw weights as a heat map, (features, classes), white at zero."""
    largest = float(np.abs(W).max(initial=0.0)) or 1.0
    ax.imshow(W, cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
    ax.grid(visible=False)
    ax.set_xticks(range(W.shape[1]), [literal(name) for name in classes])
    ax.set_xlabel("class")
    if names is None:
        ax.set_ylabel("feature")
    else:
        ax.set_yticks(range(len(names)), [literal(name) for name in names])


def literal(name: Any) -> str:
    """Return a name as text in which matplotlib sees no formula."""
    return str(name).replace("$", r"\$")
