"""Pieces of linear functions, each inside a ball."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text import fragments, functions
from .base import CodeBytes, Form, Pairs, Primitive, Step, Values, beyond_float32, encode

if TYPE_CHECKING:
    from ..onnx_model import Nodes
    from ..plan import Plan

C = "primitives/balls.c"


@dataclass(frozen=True)
class Balls(Primitive):
    """Pieces: ``p + 1`` values each, which are zero outside a ball.

    With ``z = (input - mean) / unit`` a row is at the squared distance ``|z - centre|^2``. The
    form "paper" gives ``[input, 1]`` where that is below the squared radius; the other form
    ``s * [input - (mean + unit * centre), 1]`` with
    ``s = max(0, 1 - squared distance / squared radius)``. ``places`` are (n * (p + 1),), piece
    after piece.
    """

    centres: NDArray[np.float32]  # (n, p)
    squared_radii: NDArray[np.float32]
    mean: NDArray[np.float64]
    unit: float
    hard: bool  # the form "paper"

    by_input = True

    def steps(self, plan: Plan, prefix: str, form: Form) -> Iterator[Step]:
        """Return one step, in coordinates: ``z = (x - mean) / unit``, with the mean in float32.

        The rounding of the mean goes to the centres and, of the paper's form, whose values are the
        inputs themselves, the mean's part of them to the last value's weight.
        """
        n, p = self.centres.shape
        single = np.finfo(np.float32)
        if not single.tiny <= self.unit <= 1.0 / single.tiny:
            raise beyond_float32("distances")
        mean = self.mean.astype(np.float32)
        centres = self.centres + (self.mean - mean) / self.unit
        weights = plan.weights[:, self.places].T.reshape(n, p + 1, -1).copy()
        if self.hard:
            weights[:, p] += np.einsum("j,njk->nk", mean.astype(np.float64), weights[:, :p])
        weights[:, :p] *= self.unit
        # Of bytes, too: centres a step of 1/127 aside would let rows out of their balls.
        coded = encode(centres.reshape(1, -1), "int16" if form.weights == "int8" else form.weights)
        scale = float(coded.scales[0])
        scaled = "" if form.weights == "float32" else f" * {scale!r}f"
        centre = f"(float){prefix}_centres[i][j]{scaled}"
        inside = "1.0f" if self.hard else f"(1.0f - distance / {prefix}_radii[i])"
        yield Step(
            self,
            prefix,
            form,
            n,
            weights.reshape(n * (p + 1), -1),
            {"mean": mean, "centres": coded.codes.reshape(n, p), "radii": self.squared_radii},
            self._code(centre),
            CodeBytes(450, 495, 37, 80) if self.hard else CodeBytes(350, 375, 36, 85),
            multiply_adds=p + 2 * n * p,
            ram=4 * p,
            words={
                "p": p,
                "scale": scale,
                "inverse": f"{float(np.float32(1.0 / self.unit))!r}f",
                "widened": " * 1.00001f" if self.hard else "",
                "depth": inside + "$scaled",
                "value": "z[j]" if self.hard else f"(z[j] - {centre})",
            },
        )

    def _code(self, centre: str) -> str:
        """Return the functions in C, of which some words are left to be filled in."""
        fill = Template(functions(C, "distance")).safe_substitute
        code, edge = fill(real="float", suffix="", apart=f"z[j] - {centre}"), ""
        if self.hard:
            apart = f"(double)z[j] - (double)({centre})"
            code += fill(real="double", suffix="_exact", apart=apart)
            edge = "\n" + fragments(C)["edge"]
        return code + functions(C, "balls").replace("$edge", edge)

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        z = (X - step.tables["mean"]) / self.unit
        values = []
        for codes, radius in zip(step.tables["centres"], step.tables["radii"], strict=True):
            apart = z - codes * step.words["scale"]
            distance = np.square(apart).sum(axis=1)
            depth = np.maximum(0.0, 1.0 - distance / radius)[:, None]
            if self.hard:
                depth = (distance < radius)[:, None].astype(np.float64)
            values += [depth * (z if self.hard else apart), depth]
        return np.hstack(values)

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        """Return the most that a linear function can be in its ball, times the depth, or 0."""
        n, p = self.centres.shape
        more = more.reshape(n, p + 1, *more.shape[1:])
        centres = step.tables["centres"].astype(np.float64) * step.words["scale"]
        radii = np.sqrt(step.tables["radii"].astype(np.float64))[:, None, None]
        slope = np.sqrt(np.square(more[:, :p]).sum(axis=1)) * radii
        if self.hard:
            middle = np.einsum("njpq,nj->npq", more[:, :p], centres) + more[:, p]
            return np.maximum(0.0, middle + slope)
        # (1 - t^2) (slope t + level) over t from 0 to 1, where its derivative is zero.
        level = more[:, p]
        root = np.sqrt(np.square(level) + 3.0 * np.square(slope))
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.clip(np.nan_to_num((root - level) / (3.0 * slope), posinf=1.0), 0.0, 1.0)
        return np.maximum(0.0, (1.0 - t**2) * (slope * t + level))

    def calls(self) -> list[dict[str, Any]]:
        arguments = {
            "hard": self.hard,
            "starts": self.places[:: self.mean.size + 1],
            "centres": self.centres,
            "squaredRadii": self.squared_radii,
            "mean": self.mean,
            "unit": self.unit,
        }
        return [arguments]

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        p, k = self.mean.size, plan.intercept.size
        x = nodes.cast(x, np.float64)
        about_mean = nodes.add("Sub", x, nodes.constant(self.mean, np.float64))
        points = nodes.add("Div", about_mean, nodes.constant(self.unit, np.float64))
        points = nodes.cast(nodes.cast(points, np.float32), np.float64)  # rounded, as in training
        points = nodes.reshape(points, 0, 1, p)
        places = self.places.reshape(-1, p + 1)
        for some in nodes.batches(len(places), max(p, 2 * k)):
            ball = replace(self, centres=self.centres[some], squared_radii=self.squared_radii[some])
            depths = ball._add_depths(nodes, points)
            weights = plan.weights[:, places[some]]  # (k, n, p + 1)
            linear, constant = weights[:, :, :-1], weights[:, :, -1]
            if not self.hard:
                constant = constant - self.unit * np.einsum("knp,np->kn", linear, ball.centres)
            slopes = nodes.constant(linear.transpose(2, 1, 0).reshape(p, -1), np.float64)
            functions = nodes.add("MatMul", x if self.hard else about_mean, slopes)
            functions = nodes.add("Add", functions, nodes.constant(constant.T.ravel(), np.float64))
            functions = nodes.reshape(functions, 0, len(ball.centres), k)
            scores = nodes.add("MatMul", nodes.reshape(depths, 0, 1, len(ball.centres)), functions)
            yield nodes.reshape(scores, 0, k)

    def _add_depths(self, nodes: Nodes, points: str) -> str:
        """Add what the functions of pieces are multiplied by, (rows, n) in float64.

        Centres are subtracted before squaring: distances that are small beside the coordinates
        lose no digits. Sums of float32 would lose some where a row is near the edge of a ball:
        10 times as many as Python does, in 617 dimensions.
        """
        centres = nodes.cast(nodes.constant(self.centres, np.float32), np.float64)
        distances = nodes.reduce("ReduceSumSquare", nodes.add("Sub", points, centres), 2)
        if self.hard:
            distances = nodes.cast(distances, np.float32)
            radii = nodes.constant(self.squared_radii, np.float32)
            return nodes.cast(nodes.add("Less", distances, radii), np.float64)
        one, radii = (nodes.constant(values, np.float64) for values in (1.0, self.squared_radii))
        return nodes.add("Relu", nodes.add("Sub", one, nodes.add("Div", distances, radii)))
