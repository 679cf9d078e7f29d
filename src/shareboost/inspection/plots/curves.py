"""Curves of whole paths: error and loss against features or costs; how often columns are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ...export.cost import running_costs
from ...validation import at_least
from ..comparison import check_has_path, error_curve
from ..stability import Stability
from .weights import COLOURS, axes_of, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...predictor import Predictor


def plot_path(
    clf: Predictor | Mapping[str, Predictor],
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    loss: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw error and training loss against the number of features.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival, or a dict of them
        Fitted. Of a dict all are drawn, called by their keys.
    X, y : array-like, optional
        Rows and labels whose error is drawn in percent, best of all such that the classifier
        has not seen. None: the loss alone is drawn.
    loss : bool, default=True
        Whether to draw the training loss, dashed; beside errors on an axis of its own.
    ax : matplotlib Axes, optional
    """
    if (X is None) != (y is None):
        raise ValueError("X and y are for each other: plot_path takes both or neither.")
    if X is None and not loss:
        raise ValueError("loss=False leaves plot_path nothing to draw without X and y.")
    models = _by_name(clf, "plot_path")
    ax = axes_of(ax)
    ax.set_xlabel("features")
    ax.locator_params(axis="x", integer=True)
    lines = []
    if X is not None:
        ax.set_ylabel("error, %")
        for colour, name, model in models:
            curve = error_curve(model, X, y)  # type: ignore[arg-type]
            label = f"{name}, error" if name else "error"
            lines += ax.plot(curve.n_features, 100 * curve.errors, "-", color=colour, label=label)
    if loss:
        losses = ax if X is None else ax.twinx()
        losses.set_ylabel("training loss")
        for colour, name, model in models:
            label = f"{name}, loss" if name else "loss"
            path = model.path_
            lines += losses.plot(path.n_features, path.losses, "--", color=colour, label=label)
    if len(lines) > 1:
        ax.legend(handles=lines)
    return ax


def plot_cost(
    clf: Predictor | Mapping[str, Predictor], X: Any, y: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw error against the multiply-adds of one prediction, for every model of the path.

    Multiply-adds are on a logarithmic scale; models without any are not drawn.

    Parameters
    ----------
    clf, X, y
        As ``plot_path`` takes them.
    ax : matplotlib Axes, optional
    """
    models = _by_name(clf, "plot_cost")
    ax = axes_of(ax)
    for colour, name, model in models:
        costs = running_costs(model)
        if costs is None:
            kind = type(model.path_.features).__name__
            raise TypeError(f"What {kind} cost to run is not known: they have no exported form.")
        some = costs["multiply_adds"] > 0
        errors = error_curve(model, X, y).errors
        ax.plot(costs["multiply_adds"][some], 100 * errors[some], "-", color=colour, label=name)
    ax.set(xscale="log", xlabel="multiply-adds", ylabel="error, %")
    if len(models) > 1:
        ax.legend()
    return ax


def plot_stability(stability: Stability, *, n_columns: int = 20, ax: Axes | None = None) -> Axes:
    """Draw in how many of the resamples each column was chosen, the most frequent ones on top.

    The title tells the index of stability and its 95 % interval.

    Parameters
    ----------
    stability : Stability
        As ``selection_stability`` returns it.
    n_columns : int, default=20
        The most columns to draw; those that were never chosen are left out.
    ax : matplotlib Axes, optional
    """
    if not isinstance(stability, Stability):
        raise TypeError(
            f"stability is a {type(stability).__name__}: it takes what selection_stability returns."
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


def _by_name(clf: Any, of: str) -> list[tuple[str, str, Predictor]]:
    """Return a colour, the name and the fitted classifier of each; one alone has the empty name."""
    models = dict(clf) if isinstance(clf, Mapping) else {"": clf}
    if not models:
        raise ValueError(f"clf is an empty dict: {of} takes fitted classifiers of shareboost.")
    for model in models.values():
        check_has_path(model)
    return [(colour, *named) for colour, named in zip(cycle(COLOURS), models.items(), strict=False)]
