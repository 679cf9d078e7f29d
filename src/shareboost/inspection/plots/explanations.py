"""The contributions of one row's features to its score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs import on_host
from ...predictor import Predictor
from ...validation import at_least
from ..explanation import Explanation, explanations
from .axes import COLOURS, axes_of
from .weights import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOR, AGAINST, START = COLOURS[0], COLOURS[1], "#9a9a9a"
LONGEST_NAME = 32


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
    contributions last. The topmost bar ends at the score.

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
        What to draw on. None makes a figure.

    Returns
    -------
    matplotlib Axes
        Each feature is named with its value in the row, unless it has several columns. Blue is
        for the class, red against it.
    """
    n_features = at_least("n_features", n_features, 1, "plot_explanation")
    [told] = explanations(clf, _one_row(x), n_features, class_of_interest, background)
    ax = axes_of(ax, (7.2, 1.2 + 0.28 * (len(told.names) + 2)))
    draw_waterfall(ax, told, "intercept" if background is None else "mean score")
    return ax


def _one_row(x: Any) -> Any:
    """Return the row as a table of one row; a pandas series as a frame, with its names."""
    x = on_host(x)
    if len(np.shape(x)) == 1:
        x = x.to_frame().T if hasattr(x, "iloc") else np.reshape(x, (1, -1))
    if np.shape(x)[0] != 1:
        raise ValueError(f"x has the shape {np.shape(x)}: plot_explanation takes one row.")
    return x


def draw_waterfall(ax: Axes, told: Explanation, start_name: str) -> None:
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
        text: dict[str, Any] = {
            "textcoords": "offset points",
            "ha": side,
            "va": "center",
            "fontsize": 8,
        }
        ax.annotate(f"{size:+.3g}", (end, place), (offset, 0), **text)
    low, high = ends.min(initial=0.0), ends.max(initial=0.0)
    room = 0.2 * ((high - low) or 1.0)  # for the numbers
    ax.set_xlim(low - room, high + room)
    ax.set_yticks(places, [*names, start_name][::-1])
    label = literal(told.label)
    ax.set(xlabel=f"score of {label}", title=f"class {label}, score {told.score:.3g}")


def _named(name: str, value: float) -> str:
    """Return the name of a feature with its value, where it has one."""
    return literal(shortened(name)) + ("" if np.isnan(value) else f" = {value:.4g}")


def shortened(name: str) -> str:
    """Return a long name without its middle: names of a table often differ at their ends alone."""
    if len(name) <= LONGEST_NAME:
        return name
    head = LONGEST_NAME // 2
    return f"{name[:head]}…{name[head + 1 - LONGEST_NAME :]}"
