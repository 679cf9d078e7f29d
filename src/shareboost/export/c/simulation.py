"""What a header computes, quantised numbers and all, for many rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plan import Balls, Matches, Products, Reads, Thresholds
from .layout import Layout
from .step import Step

Rows = NDArray[Any]
Values = NDArray[np.float64]


def scores(layout: Layout, X: Rows) -> Values:
    """Return the scores of the rows of X, (n, k)."""
    found = np.tile(layout.intercept, (len(X), 1))
    for step, weights in zip(layout.steps, layout.decoded, strict=True):
        found += values(step, X) @ weights
    return found


def values(step: Step, X: Rows) -> Values:
    """Return the values of a step's features, (n, columns), before they are weighted."""
    tables = step.tables
    match step.part:
        case Reads():
            return X[:, tables["columns"]] - tables.get("offsets", np.float32(0.0))
        case Thresholds():
            return (X[:, tables["columns"]] <= tables["thresholds"]).astype(np.float64)
        case Products(left=left, right=right):
            products = np.where(left < 0, 1.0, X[:, left]) * X[:, right].astype(np.float64)
            if step.part.single:
                products = products.astype(np.float32).astype(np.float64)
            return products - tables.get("offsets", np.float32(0.0))
        case Balls() as part:
            return _inside(part, step, X)
        case Matches() as part:
            return _matched(part, step, X)


def _inside(part: Balls, step: Step, X: Rows) -> Values:
    """Return the values of pieces, in coordinates."""
    z = (X - step.tables["mean"]) / part.unit
    found = []
    for codes, radius in zip(step.tables["centres"], step.tables["radii"], strict=True):
        apart = z - codes * step.scale
        distance = np.square(apart).sum(axis=1)
        depth = np.maximum(0.0, 1.0 - distance / radius)[:, None]
        if part.hard:
            depth = (distance < radius)[:, None].astype(np.float64)
        found += [depth * (z if part.hard else apart), depth]
    return np.hstack(found)


def _matched(part: Matches, step: Step, X: Rows) -> Values:
    """Return the largest responses, in units of the codes."""
    from ...kernels.templates import template_column

    images = np.ascontiguousarray(X.reshape(-1, *part.image_shape) / part.unit, dtype=np.float32)
    found = np.empty((part.template.size, len(X)), dtype=np.float32)
    assert step.lane is not None
    lanes = step.words["lanes"]
    blocks = step.tables["taps"].reshape(-1, step.words["taps"], lanes)
    for i, lane in enumerate(step.lane):
        template = blocks[lane // lanes, :, lane % lanes].astype(np.float32)
        template_column(
            images,
            template.reshape(part.templates[0].shape),
            part.masks_down[part.down[i]],
            part.masks_across[part.across[i]],
            found[i],
        )
    return found.T.astype(np.float64)
