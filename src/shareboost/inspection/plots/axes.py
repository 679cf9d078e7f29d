"""Axes to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart by most eyes; styles tell them apart in print.
COLOURS = ("#0b62a4", "#d1495b", "#2a9d5c", "#8f5fbf", "#e08e0b", "#5c5c5c")


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
