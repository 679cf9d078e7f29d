"""Figures in the layout of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from shareboost.inspection.plots.weights import COLOURS as FIRST_COLOURS

from .published import PUBLISHED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


COLOURS = (*FIRST_COLOURS, "#56b4e9", "#a65628", "#b8a000", "#d63aa8")
GUIDE = 5  # grey, of bounds and of what the paper says
# A method has the same colour in every figure.
COLOUR_OF = {
    PUBLISHED: 0,
    "ShareBoost, no penalty": 6,
    "ShareBoost": 2,
    "ShareBoost, Frobenius penalty": 2,
    "ShareBoost, default penalty": 2,
    "l∞/l1": 3,
    "l∞/l1, refit": 3,
    "JointBoost": 1,
    "one-vs-rest": 4,
    "l1": 7,
    "l2": 8,
    "beyond the paper": 9,
}


def panels(rows: int = 1, columns: int = 1, size: tuple[float, float] = (4.2, 3.2)) -> Figure:
    """Return a figure with a grid of axes, read as ``figure.axes`` row by row.

    It belongs to no window, so that it needs no display and no closing.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained", dpi=120)
    for ax in figure.subplots(rows, columns, squeeze=False).flat:
        ax.grid(alpha=0.25)
    return figure


def curve(ax: Any, x: ArrayLike, y: ArrayLike, label: str, colour: int, style: str = "-") -> None:
    """Draw a curve, in one of ``COLOURS``."""
    ax.plot(x, y, style, label=label, color=COLOURS[colour], markersize=4, linewidth=1.5)


def labelled(ax: Any, title: str, x: str, y: str, legend: bool = True) -> None:
    """Write an axes' title and labels."""
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if legend:
        ax.legend(fontsize=8)
