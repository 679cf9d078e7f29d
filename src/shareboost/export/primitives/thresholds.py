"""Tests of columns against thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text import floats, functions, integers, template
from .base import TINY_CODE, Call, CodeBytes, Form, Pairs, Primitive, Step, Values, weighted

if TYPE_CHECKING:
    from ..onnx_model import Nodes
    from ..plan import Plan


@dataclass(frozen=True)
class Thresholds(Primitive):
    """Stumps: 1 where ``input[column] <= threshold``, else 0; NaN gives 0."""

    columns: NDArray[np.intp]
    thresholds: NDArray[np.float64]

    allows_nan = True

    @property
    def columns_read(self) -> NDArray[np.intp]:
        return self.columns

    @property
    def single(self) -> NDArray[np.float32]:
        """The largest float32 numbers not above the thresholds: they test float32 input alike."""
        with np.errstate(over="ignore"):  # the threshold that no number exceeds
            near = self.thresholds.astype(np.float32)
        return np.where(near > self.thresholds, np.nextafter(near, np.float32(-np.inf)), near)

    def steps(self, plan: Plan, prefix: str, form: Form) -> Iterator[Step]:
        """Return one step; of bytes its thresholds are bytes too."""
        cuts: NDArray[Any] = self.single
        whole = np.minimum(np.floor(self.thresholds), 255)
        if form.input_type == "uint8" and np.all(whole >= 0):
            cuts = whole.astype(np.intp)
        yield Step(
            self,
            prefix,
            form,
            self.places.size,
            plan.weights[:, self.places].T,
            {"columns": self.columns, "thresholds": cuts},
            functions("primitives/thresholds.c"),
        )

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        return (X[:, self.columns] <= step.tables["thresholds"]).astype(np.float64)

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        return np.maximum(more, 0.0)

    def code_bytes(self, step: Step) -> CodeBytes:
        return CodeBytes(77, 91, 12, 50)

    def folded_bytes(self, n_classes: int, n_columns: int) -> int:
        most_columns = {2: 2, 3: 1}.get(n_classes, 0)
        return TINY_CODE if n_columns <= most_columns else 0

    def calls(self) -> list[Call]:
        fields = {
            "places": integers(self.places),
            "columns": integers(self.columns),
            "thresholds": floats(self.thresholds),
        }
        return [Call("tests", template("primitives/thresholds.js"), fields)]

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        values = nodes.cast(nodes.take(x, self.columns), np.float64)
        passed = nodes.add("LessOrEqual", values, nodes.constant(self.thresholds, np.float64))
        yield weighted(nodes, plan, nodes.cast(passed, np.float64), self.places)
