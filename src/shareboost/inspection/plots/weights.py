"""What a model is made of: the columns of W, and what features add to the score of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...inputs import on_host
from ...model import sharing
from ...validation import at_least
from ..comparison import check_has_path
from ..explanation import Explanation, explanations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...predictor import Predictor

# Told apart by most eyes; styles tell them apart in print.
COLOURS = ("#0b62a4", "#d1495b", "#2a9d5c", "#8f5fbf", "#e08e0b", "#5c5c5c")
FOR, AGAINST, START = COLOURS[0], COLOURS[1], "#9a9a9a"
MOST_NAMES = 60  # beyond which the features' names would run into each other
LONGEST_NAME = 32


def axes_of(ax: Axes | None, size: tuple[float, float] = (6.0, 4.2)) -> Axes:
    """Return the axes, or those of a new figure of that size in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "shareboost.inspection.plots needs matplotlib: install it, or shareboost[plots]."
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def literal(name: Any) -> str:
    """Return a name as text in which matplotlib sees no formula."""
    return str(name).replace("$", r"\$")


def plot_sharing(
    clf: Predictor, *, n_features: int | None = None, relative: bool = True, ax: Axes | None = None
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


def plot_explanation(
    clf: Predictor,
    x: Any,
    *,
    class_of_interest: Any = None,
    background: Any = None,
    n_features: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Draw what each feature adds to the score of one row, as a waterfall.

    Read it from the bottom: the intercept comes first, then what each feature adds, the largest
    contributions last. The topmost bar ends at the score. Each feature is named with its value in
    the row, unless it has several columns. Blue is for the class, red against it.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted.
    x : array-like of shape (n_features_in,) or (1, n_features_in)
        The row, perhaps of a frame: ``X.iloc[0]`` or ``X[:1]``.
    class_of_interest : label, optional
        The class whose score is drawn. None: the one that is predicted. For two classes it is
        the score of the class less that of the other.
    background : array, sparse matrix or frame of shape (n_samples, n_features_in), optional
        Rows to compare with, such as those of training. The bars begin at the mean of their
        scores, and show what each feature adds to its mean contribution there. None: they begin
        at the intercept, as ``clf.explain`` does.
    n_features : int, default=12
        The most features to draw, those of the largest contributions; all others are added up.
    ax : matplotlib Axes, optional
    """
    n_features = at_least("n_features", n_features, 1, "plot_explanation")
    x = on_host(x)
    if len(np.shape(x)) == 1:
        x = x.to_frame().T if hasattr(x, "iloc") else np.reshape(x, (1, -1))
    if np.shape(x)[0] != 1:
        raise ValueError(f"x has the shape {np.shape(x)}: plot_explanation takes one row.")
    [told] = explanations(clf, x, n_features, class_of_interest, background)
    ax = axes_of(ax, (7.2, 1.2 + 0.28 * (len(told.names) + 2)))
    _draw_waterfall(ax, told, "intercept" if background is None else "mean score")
    return ax


def _draw_waterfall(ax: Axes, told: Explanation, start_name: str) -> None:
    """Draw contributions as bars, each of which begins where the one below it ends."""
    names = [_named(*pair) for pair in zip(told.names, told.values, strict=True)]
    sizes = told.contributions.tolist()
    if told.n_others:
        names.append(f"{told.n_others} other feature{'s' if told.n_others > 1 else ''}")
        sizes.append(told.others)
    sizes = np.array([*sizes, told.start])[::-1]
    ends, places = np.cumsum(sizes), np.arange(len(sizes))
    colours = [START, *(FOR if size > 0 else AGAINST for size in sizes[1:])]
    ax.barh(places, sizes, left=ends - sizes, color=colours, height=0.7)
    ax.vlines(ends[:-1], places[:-1] - 0.35, places[1:] + 0.35, color=START, linewidth=0.8)
    ax.axvline(0.0, color=START, linewidth=0.8, zorder=0)
    for place, size, end in zip(places, sizes, ends, strict=True):
        side, offset = ("left", 3) if size >= 0 else ("right", -3)
        text: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8}
        ax.annotate(f"{size:+.3g}", (end, place), (offset, 0), ha=side, **text)
    low, high = ends.min(initial=0.0), ends.max(initial=0.0)
    room = 0.2 * ((high - low) or 1.0)  # for the numbers
    ax.set_xlim(low - room, high + room)
    ax.set_yticks(places, [*names, start_name][::-1])
    label = literal(told.label)
    ax.set(xlabel=f"score of {label}", title=f"class {label}, score {told.score:.3g}")


def _named(name: str, value: float) -> str:
    """Return the name of a feature with its value, where it has one."""
    if len(name) > LONGEST_NAME:  # without its middle: names often differ at their ends alone
        head = LONGEST_NAME // 2
        name = f"{name[:head]}…{name[head + 1 - LONGEST_NAME :]}"
    return literal(name) + ("" if np.isnan(value) else f" = {value:.4g}")
