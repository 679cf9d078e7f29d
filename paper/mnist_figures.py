"""Figs. 4 to 6: convergence on MNIST, the first templates, and what is misclassified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shareboost.inspection.plots.images import draw_images, draw_templates
from shareboost.inspection.plots.weights import draw_sharing

from .drawing import COLOURS, GUIDE, curve, labelled, panels
from .experiment import Row
from .lab import Lab
from .mnist_recipes import data_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(lab: Lab, rows: list[Row]) -> dict[str, Figure]:
    """Return Figs. 4, 5 and 6."""
    first = lab.records["expanded, seed 0"]["value"]
    return {
        "mnist-convergence": convergence(rows),
        "mnist-templates": leading(first["templates"]),
        "mnist-errors": mistakes(lab, first["wrong"]),
    }


def convergence(rows: list[Row]) -> Figure:
    """Return Fig. 4: errors against rounds, whole and zoomed in."""
    figure = panels(1, 2)
    whole, zoomed = figure.axes
    colours = {"expanded": 2, "plain": 6, "beyond": 4}
    colours |= {"expanded, as published": 0, "plain, as published": 8}
    for model, colour in colours.items():
        some = [r for r in rows if r.get("model") == model]
        rounds = sorted({r["round"] for r in some})
        for kind, style in (("train", "--"), ("test", "-")):
            means = [
                100 * np.mean([r[f"{kind}_error"] for r in some if r["round"] == t]) for t in rounds
            ]
            if not means or (kind == "train" and model != "expanded"):
                continue
            curve(whole, rounds, means, f"{model}, {kind}", colour, style)
            curve(zoomed, rounds, means, "_the same", colour, style)  # not named twice
    for rounds_, level in ((305, 0.47), (266, 0.71), (75, 1.0)):
        zoomed.plot(rounds_, level, "*", color=COLOURS[GUIDE], markersize=9)
        zoomed.annotate(f"{level:g}%", (rounds_, level), (4, 4), textcoords="offset points")
    zoomed.plot([], [], "*", color=COLOURS[GUIDE], label="what the paper says")
    labelled(whole, "Convergence on MNIST", "rounds", "error, %")
    labelled(zoomed, "Zoomed in", "rounds", "error, %")
    zoomed.set(xlim=(0, 350), ylim=(0.2, 2.0))
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
