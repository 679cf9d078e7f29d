"""Drawings of fitted classifiers, by matplotlib: the extra ``shareboost[plots]``.

Every function draws on the axes ``ax``, or on new ones where it is None, and returns them.
"""

from .curves import plot_cost, plot_path, plot_stability
from .images import plot_errors, plot_templates
from .weights import plot_explanation, plot_sharing

__all__ = [
    "plot_cost",
    "plot_errors",
    "plot_explanation",
    "plot_path",
    "plot_sharing",
    "plot_stability",
    "plot_templates",
]
