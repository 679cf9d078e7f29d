"""Columns of the input as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text import functions, integers, template
from .base import (
    TINY_CODE,
    Call,
    CodeBytes,
    Form,
    Pairs,
    Primitive,
    Step,
    Values,
    most_in_range,
    weighted,
)

if TYPE_CHECKING:
    from ..onnx_model import Nodes
    from ..plan import Plan

# What the compiler saves where there are two classes and more than two features.
TWO_CLASSES_CODE = 52


@dataclass(frozen=True)
class Reads(Primitive):
    """Columns of the input as they are."""

    columns: NDArray[np.intp]

    of_any_size = True

    @property
    def columns_read(self) -> NDArray[np.intp]:
        return self.columns

    def steps(self, plan: Plan, prefix: str, form: Form) -> Iterator[Step]:
        offsets, bias = offsets_of(self, plan)
        far = bool(offsets.any())
        yield Step(
            self,
            prefix,
            form,
            self.places.size,
            plan.weights[:, self.places].T,
            {"columns": self.columns} | ({"offsets": offsets} if far else {}),
            functions("primitives/reads.c"),
            bias=bias,
            words={"less": f" - {prefix}_offsets[i]" if far else ""},
        )

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        return X[:, self.columns] - step.tables.get("offsets", np.float32(0.0))

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        return most_in_range(step, more, low[self.columns], high[self.columns])

    def code_bytes(self, step: Step) -> CodeBytes:
        return CodeBytes(70, 100, 8, 13)

    def folded_bytes(self, n_classes: int, n_columns: int) -> int:
        return folded_of_values(n_classes, n_columns)

    def calls(self) -> list[Call]:
        fields = {"places": integers(self.places), "columns": integers(self.columns)}
        return [Call("reads", template("primitives/reads.js"), fields)]

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        values = nodes.cast(nodes.take(x, self.columns), np.float64)
        yield weighted(nodes, plan, values, self.places)


def offsets_of(part: Primitive, plan: Plan) -> tuple[NDArray[np.float32], Values]:
    """Return the offsets of a part's values in float32, and what their rounding adds to scores."""
    offsets = plan.offsets[part.places].astype(np.float32)
    return offsets, plan.weights[:, part.places] @ (offsets - plan.offsets[part.places])


def folded_of_values(n_classes: int, n_columns: int) -> int:
    """Return ``folded_bytes`` of values that are computed without a condition."""
    if n_classes > 2:
        return 0
    return TINY_CODE if n_columns <= 2 else TWO_CLASSES_CODE
