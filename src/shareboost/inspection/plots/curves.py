"""Curves of whole paths: error and loss against features, error against what it costs to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ...export.inference_cost import running_costs
from ...predictor import Predictor
from ..comparison import error_curve
from .axes import COLOURS, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        What to draw on. None makes a figure.

    Returns
    -------
    matplotlib Axes
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
        for colour, (name, model) in zip(_colours(models), models.items(), strict=True):
            curve = error_curve(model, X, y)  # type: ignore[arg-type]
            label = f"{name}, error" if name else "error"
            lines += ax.plot(curve.n_features, 100 * curve.errors, "-", color=colour, label=label)
    if loss:
        losses = ax if X is None else ax.twinx()
        losses.set_ylabel("training loss")
        for colour, (name, model) in zip(_colours(models), models.items(), strict=True):
            label = f"{name}, loss" if name else "loss"
            path = model.path_
            lines += losses.plot(path.n_features, path.losses, "--", color=colour, label=label)
    if len(lines) > 1:
        ax.legend(handles=lines)
    return ax


def plot_cost(
    clf: Predictor | Mapping[str, Predictor],
    X: Any,
    y: ArrayLike,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw error against the multiply-adds of one prediction, for every model of the path.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival, or a dict of them
        Fitted. Of a dict all are drawn, called by their keys.
    X, y : array-like
        Rows and labels, best of all such that the classifier has not seen.
    ax : matplotlib Axes, optional
        What to draw on. None makes a figure.

    Returns
    -------
    matplotlib Axes
        Multiply-adds are on a logarithmic scale; models without any are not drawn.
    """
    models = _by_name(clf, "plot_cost")
    ax = axes_of(ax)
    for colour, (name, model) in zip(_colours(models), models.items(), strict=True):
        costs = running_costs(model)
        if costs is None:
            raise TypeError(
                f"What {type(model.path_.features).__name__} cost to run is not known: plot_cost "
                "takes classifiers of the pools of shareboost."
            )
        some = costs["multiply_adds"] > 0
        errors = error_curve(model, X, y).errors
        ax.plot(costs["multiply_adds"][some], 100 * errors[some], "-", color=colour, label=name)
    ax.set(xscale="log", xlabel="multiply-adds", ylabel="error, %")
    if len(models) > 1:
        ax.legend()
    return ax


def _by_name(clf: Any, of: str) -> dict[str, Predictor]:
    """Return fitted classifiers by name; a single one has the empty name."""
    models = dict(clf) if isinstance(clf, Mapping) else {"": clf}
    if not models:
        raise ValueError(
            f"clf is an empty dict: {of} takes a fitted classifier of shareboost, or a dict of "
            "them."
        )
    for model in models.values():
        if not isinstance(model, Predictor):
            raise TypeError(
                f"clf holds a {type(model).__name__}: {of} takes a fitted classifier of "
                "shareboost, or a dict of them."
            )
        check_is_fitted(model)
    return models


def _colours(models: dict[str, Predictor]) -> list[str]:
    return [COLOURS[place % len(COLOURS)] for place in range(len(models))]
