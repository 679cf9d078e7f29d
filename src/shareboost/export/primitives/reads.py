"""Columns of the input as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..c.step import Form, Step
from ..fragments import functions, template
from ..literals import integers
from ..onnx_nodes import Nodes
from .base import Call, CodeBytes, Pairs, Primitive, Values, most_in_range, offsets_of, weighted

if TYPE_CHECKING:
    from ..plan import Plan


@dataclass(frozen=True)
class Reads(Primitive):
    """Columns of the input as they are."""

    columns: NDArray[np.intp]

    of_any_size = True

    @property
    def columns_read(self) -> NDArray[np.intp]:
        return self.columns

    def steps(self, plan: Plan, prefix: str, form: Form) -> list[Step]:
        offsets, bias = offsets_of(self, plan)
        far = bool(offsets.any())
        step = Step(
            self,
            prefix,
            self.places.size,
            plan.weights[:, self.places].T,
            {"columns": self.columns} | ({"offsets": offsets} if far else {}),
            functions("primitives/reads.c"),
            bias=bias,
            words={"less": f" - {prefix}_offsets[i]" if far else ""},
        )
        return [step]

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        return X[:, self.columns] - step.tables.get("offsets", np.float32(0.0))

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        return most_in_range(step, more, low[self.columns], high[self.columns])

    def code_bytes(self, step: Step) -> CodeBytes:
        return CodeBytes(70, 100, 8, 13)

    def calls(self) -> list[Call]:
        fields = {"places": integers(self.places), "columns": integers(self.columns)}
        return [Call("reads", template("primitives/reads.js"), fields)]

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        values = nodes.cast(nodes.take(x, self.columns), np.float64)
        yield weighted(nodes, plan, values, self.places)
