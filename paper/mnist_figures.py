"""Figs. 4 to 6: convergence on MNIST, the first templates, and what is misclassified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shareboost.inspection.plots.images import draw_images, draw_templates
from shareboost.inspection.plots.weights import draw_sharing

from .drawing import COLOUR_OF, COLOURS, GUIDE, curve, labelled, panels
from .experiment import Row
from .lab import Lab
from .mnist_recipes import data_of
from .published import PUBLISHED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Of each model its method's colour, and its style.
LINES = {
    "expanded": ("ShareBoost", "-"),
    "plain": ("ShareBoost", ":"),
    "expanded, as published": (PUBLISHED, "-"),
    "plain, as published": (PUBLISHED, ":"),
    "beyond": ("beyond the paper", "-"),
}
# Rounds and error in percent that the paper gives, and where to write it, in points.
CLAIMED = ((305, 0.47, (8, -2)), (266, 0.71, (8, -3)), (75, 1.0, (6, 8)))


def draw(lab: Lab, rows: list[Row]) -> dict[str, Figure]:
    """Return Figs. 4, 5 and 6."""
    first = lab.records["expanded, seed 0"]["value"]
    return {
        "mnist-convergence": convergence(rows),
        "mnist-templates": leading(first["templates"]),
        "mnist-errors": mistakes(lab, first["wrong"]),
    }


def convergence(rows: list[Row]) -> Figure:
    """Return Fig. 4: errors against rounds, whole and zoomed in.

    A colour is a method, as in the other figures, and a style tells what it was trained on.
    """
    figure = panels(1, 2, size=(4.6, 3.4))
    whole, zoomed = figure.axes
    for model, (method, style) in LINES.items():
        some = [r for r in rows if r.get("model") == model]
        rounds = sorted({r["round"] for r in some})
        for kind in ("train", "test") if model == "expanded" else ("test",):
            means = [
                100 * np.mean([r[f"{kind}_error"] for r in some if r["round"] == t]) for t in rounds
            ]
            if not means:
                continue
            dashed = "--" if kind == "train" else style
            curve(whole, rounds, means, f"{model}, {kind}", COLOUR_OF[method], dashed)
            curve(zoomed, rounds, means, "_the same", COLOUR_OF[method], dashed)  # not named twice
    for rounds_, level, offset in CLAIMED:
        for ax in figure.axes:
            ax.plot(rounds_, level, "*", color=COLOURS[GUIDE], markersize=9, zorder=3)
        zoomed.annotate(
            f"{level:g}%", (rounds_, level), offset, textcoords="offset points", va="center"
        )
    zoomed.plot([], [], "*", color=COLOURS[GUIDE], label="what the paper says")
    labelled(whole, "Convergence on MNIST", "rounds", "error, %")
    labelled(zoomed, "Zoomed in", "rounds", "error, %")
    whole.set_yscale("log")
    ticks = (0.5, 1, 2, 5, 10, 20, 50)
    whole.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    whole.set_yticks([], minor=True)
    zoomed.set(xlim=(0, 380), ylim=(0.2, 2.0))
    return figure


def leading(templates: list[dict[str, Any]]) -> Figure:
    """Return Fig. 5: the first templates with their masks, and their columns of W."""
    figure = panels(1, 2, size=(4.6, 4.8))
    left, right = figure.axes
    pairs = [(np.array(one["template"]), np.outer(one["down"], one["across"])) for one in templates]
    draw_templates(left, pairs, across=4)
    left.set_title(f"(a) Leading {len(templates)} selected features")
    W = np.array([one["weights"] for one in templates])
    draw_sharing(right, W, range(W.shape[1]))
    numbers = [1, *range(5, len(W) + 1, 5)]  # as the paper counts
    right.set_yticks([number - 1 for number in numbers], [str(number) for number in numbers])
    labelled(right, "(b) Corresponding columns of W", "digit", "feature", legend=False)
    figure.colorbar(right.images[0], ax=right, label="weight over its feature's largest")
    return figure


def mistakes(lab: Lab, wrong: list[list[int]]) -> Figure:
    """Return Fig. 6: the misclassified digits, each with its prediction and its label."""
    data = data_of(lab)
    across, wrong = 10, wrong[:80]
    down = max(1, -(-len(wrong) // across))
    figure = panels(size=(0.75 * across, 0.95 * down))
    images = np.array([data.X_test[index] for index, _ in wrong]).reshape(-1, 28, 28, 1)
    captions = [f"{predicted} ({data.y_test[index]})" for index, predicted in wrong]
    draw_images(figure.axes[0], images, captions, across)
    return figure
