"""The computation of a plan in standard operators of ONNX.

All is computed in float64 but for images and their responses to templates, and rounded to float32
where Python does: of two classes whose scores are nearly alike the same one wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch

import numpy as np

from ..pools.numbers import ranges
from .onnx_nodes import Nodes
from .plan import Balls, Matches, Part, Places, Plan, Products, Reads, Thresholds
from .template_sizes import SameSize, stacked_by_size

# About so many numbers a row are held between two nodes at most. Measured for 266 templates on
# MNIST: twice as many save 0.05 ms of 0.25 ms for one image, and take twice the memory of a batch.
MOST_NUMBERS = 8192


def add_scores(nodes: Nodes, plan: Plan, x: str) -> str:
    """Add the scores in float64, (rows, k), of rows of float32 or float64 numbers."""
    found = [scores for part in plan.parts for scores in _scores(part, nodes, plan, x)]
    intercept = nodes.constant(plan.intercept, np.float64)
    if not found:
        rows = nodes.take(nodes.add("Shape", x), np.zeros(1, dtype=np.intp), axis=0)
        k = nodes.constant([plan.intercept.size], np.int64)
        return nodes.add("Expand", intercept, nodes.add("Concat", rows, k, axis=0))
    return nodes.add("Sum", *found, intercept)


def add_probabilities(nodes: Nodes, scores: str, slope: float | None) -> str:
    """Add the softmax of the scores, or their sigmoids over the sum of them, in float64."""
    if slope is None:
        return nodes.add("Softmax", scores, axis=1)
    # log sigmoid(s) = min(s, 0) - log(1 + exp(-|s|)), whose softmax cannot underflow to 0 / 0.
    zero, one = nodes.constant(0.0, np.float64), nodes.constant(1.0, np.float64)
    s = nodes.add("Mul", scores, nodes.constant(slope, np.float64))
    tail = nodes.add("Exp", nodes.add("Neg", nodes.add("Abs", s)))
    logarithm = nodes.add("Log", nodes.add("Add", one, tail))
    return nodes.add("Softmax", nodes.add("Sub", nodes.add("Min", s, zero), logarithm), axis=1)


@singledispatch
def _scores(part: Part, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
    """Yield what a part adds to the scores, (rows, k) in float64, as one or several terms."""
    raise TypeError(f"A part of the type {type(part).__name__} has no form in ONNX.")


@_scores.register
def _(part: Reads, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
    values = nodes.cast(nodes.take(x, part.columns), np.float64)
    yield _weighted(nodes, plan, values, part.places)


@_scores.register
def _(part: Thresholds, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
    values = nodes.cast(nodes.take(x, part.columns), np.float64)
    passed = nodes.add("LessOrEqual", values, nodes.constant(part.thresholds, np.float64))
    yield _weighted(nodes, plan, nodes.cast(passed, np.float64), part.places)


@_scores.register
def _(part: Products, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
    plain = part.left < 0
    if plain.any():
        yield from _scores(Reads(part.places[plain], part.right[plain]), nodes, plan, x)
    if not plain.all():
        left = nodes.cast(nodes.take(x, part.left[~plain]), np.float64)
        right = nodes.cast(nodes.take(x, part.right[~plain]), np.float64)
        products = nodes.add("Mul", left, right)
        if part.single:
            products = nodes.cast(nodes.cast(products, np.float32), np.float64)
        yield _weighted(nodes, plan, products, part.places[~plain])


@_scores.register
def _(part: Balls, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
    p, k = part.mean.size, plan.intercept.size
    x = nodes.cast(x, np.float64)
    about_mean = nodes.add("Sub", x, nodes.constant(part.mean, np.float64))
    points = nodes.add("Div", about_mean, nodes.constant(part.unit, np.float64))
    points = nodes.cast(nodes.cast(points, np.float32), np.float64)  # rounded, as in training
    points = nodes.reshape(points, 0, 1, p)
    places = part.places.reshape(-1, p + 1)
    for some in ranges(len(places), max(1, MOST_NUMBERS // max(p, 2 * k))):
        ball = replace(part, centres=part.centres[some], squared_radii=part.squared_radii[some])
        depths = _depths(nodes, points, ball)
        own = plan.weights[:, places[some]]  # (k, n, p + 1)
        linear, constant = own[:, :, :-1], own[:, :, -1]
        if not part.hard:
            constant = constant - part.unit * np.einsum("knp,np->kn", linear, ball.centres)
        slopes = nodes.constant(linear.transpose(2, 1, 0).reshape(p, -1), np.float64)
        functions = nodes.add("MatMul", x if part.hard else about_mean, slopes)
        functions = nodes.add("Add", functions, nodes.constant(constant.T.ravel(), np.float64))
        functions = nodes.reshape(functions, 0, len(ball.centres), k)
        found = nodes.add("MatMul", nodes.reshape(depths, 0, 1, len(ball.centres)), functions)
        yield nodes.reshape(found, 0, k)


def _depths(nodes: Nodes, points: str, part: Balls) -> str:
    """Add what the functions of pieces are multiplied by, (rows, n) in float64.

    Centres are subtracted before squaring: distances that are small beside the coordinates
    lose no digits. Sums of float32 would lose some where a row is near the edge of a ball:
    10 times as many as Python does, in 617 dimensions.
    """
    centres = nodes.cast(nodes.constant(part.centres, np.float32), np.float64)
    distances = nodes.reduce("ReduceSumSquare", nodes.add("Sub", points, centres), 2)
    if part.hard:
        distances = nodes.cast(distances, np.float32)
        radii = nodes.constant(part.squared_radii, np.float32)
        return nodes.cast(nodes.add("Less", distances, radii), np.float64)
    one, radii = (nodes.constant(values, np.float64) for values in (1.0, part.squared_radii))
    return nodes.add("Relu", nodes.add("Sub", one, nodes.add("Div", distances, radii)))


@_scores.register
def _(part: Matches, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
    images = _images(nodes, x, part)
    for same in stacked_by_size(part):
        n_places = same.masks_down.shape[1] * same.masks_across.shape[1]
        step = max(1, MOST_NUMBERS // n_places)
        found = [_matches(nodes, images, same, some) for some in ranges(same.places.size, step)]
        values = nodes.add("Concat", *found, axis=1) if len(found) > 1 else found[0]
        values = nodes.cast(values, np.float64)
        if same.unit != 1.0:
            values = nodes.add("Mul", values, nodes.constant(same.unit, np.float64))
        yield _weighted(nodes, plan, values, same.places)


def _images(nodes: Nodes, x: str, part: Matches) -> str:
    """Add the rows as images in float32, channels first, over their unit."""
    height, width, channels = part.image_shape
    if part.unit != 1.0:
        x = nodes.cast(x, np.float64)
        x = nodes.add("Mul", x, nodes.constant(1.0 / part.unit, np.float64))
    x = nodes.cast(x, np.float32)
    if channels == 1:
        return nodes.reshape(x, 0, 1, height, width)
    return nodes.add("Transpose", nodes.reshape(x, 0, height, width, channels), perm=[0, 3, 1, 2])


def _matches(nodes: Nodes, images: str, part: SameSize, some: slice) -> str:
    """Add some values of templates, (rows, n); each template is convolved once among them."""
    used, template = np.unique(part.template[some], return_inverse=True)
    filters = nodes.constant(part.templates[used].transpose(0, 3, 1, 2), np.float32)
    responses = nodes.add("Conv", images, filters)
    if used.size < template.size:
        responses = nodes.take(responses, template)
    across = nodes.take(nodes.constant(part.masks_across, np.float32), part.across[some], axis=0)
    down = nodes.take(nodes.constant(part.masks_down, np.float32), part.down[some], axis=0)
    n, n_across, n_down = template.size, part.masks_across.shape[1], part.masks_down.shape[1]
    masks = nodes.add(
        "Mul", nodes.reshape(down, n, n_down, 1), nodes.reshape(across, n, 1, n_across)
    )
    return nodes.reduce("ReduceMax", nodes.add("Mul", responses, masks), 2, 3)


def _weighted(nodes: Nodes, plan: Plan, values: str, places: Places) -> str:
    """Add the values of those places, less their offsets, times their weights, (rows, k)."""
    offsets = plan.offsets[places]
    if offsets.any():
        values = nodes.add("Sub", values, nodes.constant(offsets, np.float64))
    return nodes.add("MatMul", values, nodes.constant(plan.weights[:, places].T, np.float64))
