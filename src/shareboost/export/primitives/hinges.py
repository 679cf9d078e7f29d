"""What columns have above or below thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text import floats, functions, integers, template
from .base import Call, CodeBytes, Form, Pairs, Primitive, Step, Values, most_in_range, weighted

if TYPE_CHECKING:
    from ..onnx_model import Nodes
    from ..plan import Plan


@dataclass(frozen=True)
class Hinges(Primitive):
    """``max(0, input[column] - threshold)``, or ``max(0, threshold - input[column])`` if below."""

    columns: NDArray[np.intp]
    thresholds: NDArray[np.float64]
    below: NDArray[np.intp]

    of_any_size = True

    @property
    def columns_read(self) -> NDArray[np.intp]:
        return self.columns

    def steps(self, plan: Plan, prefix: str, form: Form) -> Iterator[Step]:
        tables: dict[str, NDArray[Any]] = {
            "columns": self.columns,
            "thresholds": self.thresholds.astype(np.float32),
            "below": self.below,
        }
        weights = plan.weights[:, self.places].T
        code = functions("primitives/hinges.c")
        yield Step(self, prefix, form, self.places.size, weights, tables, code)

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        above = X[:, self.columns] - step.tables["thresholds"]
        return np.maximum(np.where(self.below, -above, above), 0.0)

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        ends = np.array([self._sides(low), self._sides(high)])
        return most_in_range(step, more, ends.min(axis=0), ends.max(axis=0))

    def _sides(self, x: Any) -> Values:
        above = x[self.columns] - self.thresholds
        return np.maximum(np.where(self.below, -above, above), 0.0)

    def code_bytes(self, step: Step) -> CodeBytes:
        return CodeBytes(113, 184, 12, 21)

    def calls(self) -> list[Call]:
        fields = {
            "places": integers(self.places),
            "columns": integers(self.columns),
            "thresholds": floats(self.thresholds),
            "below": integers(self.below),
        }
        return [Call("hinges", template("primitives/hinges.js"), fields)]

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        values = nodes.cast(nodes.take(x, self.columns), np.float64)
        above = nodes.add("Sub", values, nodes.constant(self.thresholds, np.float64))
        sides = nodes.add("Mul", above, nodes.constant(1.0 - 2.0 * self.below, np.float64))
        yield weighted(nodes, plan, nodes.add("Relu", sides), self.places)
