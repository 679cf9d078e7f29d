"""How often resamples choose each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...validation import at_least
from ..agreement import Stability
from .axes import COLOURS, axes_of
from .weights import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_stability(stability: Stability, *, n_columns: int = 20, ax: Axes | None = None) -> Axes:
    """Draw in how many of the resamples each column was chosen, the most frequent ones on top.

    Parameters
    ----------
    stability : Stability
        As ``selection_stability`` returns it.
    n_columns : int, default=20
        The most columns to draw; those that were never chosen are left out.
    ax : matplotlib Axes, optional
        What to draw on. None makes a figure.

    Returns
    -------
    matplotlib Axes
        The title tells the index of stability and its 95 % interval.
    """
    if not isinstance(stability, Stability):
        raise TypeError(
            f"stability is a {type(stability).__name__}: plot_stability takes what "
            "selection_stability returns."
        )
    n_columns = at_least("n_columns", n_columns, 1, "plot_stability")
    order = [j for j in stability.order[:n_columns] if stability.frequencies[j] > 0]
    ax = axes_of(ax, (6.0, max(1.8, 0.9 + 0.22 * len(order))))
    ax.barh(range(len(order)), stability.frequencies[order], color=COLOURS[0], height=0.7)
    ax.set_yticks(range(len(order)), [literal(name) for name in stability.names[order]])
    low, high = stability.interval
    ax.set(
        xlim=(0, 1),
        ylim=(len(order) - 0.5, -0.5),
        xlabel=f"fraction of {len(stability.selections)} resamples",
        title=f"stability {stability.index:.2f} ({low:.2f} to {high:.2f})",
    )
    return ax
