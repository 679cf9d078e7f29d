"""Products of two columns of the input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text import functions, integers, label, template
from .base import Call, CodeBytes, Form, Pairs, Primitive, Step, Values, most_in_range, weighted
from .reads import Reads, folded_of_values, offsets_of

if TYPE_CHECKING:
    from ..onnx_model import Nodes
    from ..plan import Plan


@dataclass(frozen=True)
class Products(Primitive):
    """Products of two columns of the input; a left one of -1 stands for the constant 1."""

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    single: bool  # whether they are rounded to float32, as those of float32 input in training

    of_any_size = True

    @property
    def columns_read(self) -> NDArray[np.intp]:
        return np.concatenate([self.left[self.left >= 0], self.right])

    def steps(self, plan: Plan, prefix: str, form: Form) -> Iterator[Step]:
        """Return one step, in which a left column beyond the last stands for 1."""
        offsets, bias = offsets_of(self, plan)
        far, alone = bool(offsets.any()), self.left < 0
        tables = {"left": np.where(alone, plan.n_inputs, self.left), "right": self.right}
        read = f"(float)x[{prefix}_left[i]]"
        if alone.any():
            read = f"{prefix}_left[i] < {plan.n_inputs} ? {read} : 1.0f"
        less = f" - {prefix}_offsets[i]" if far else ""
        product = f"left * right{less}"
        if not self.single and less:  # exact until what they have in common is gone
            product = f"(float)((double)left * (double)right{less})"
        yield Step(
            self,
            prefix,
            form,
            self.places.size,
            plan.weights[:, self.places].T,
            tables | ({"offsets": offsets} if far else {}),
            functions("primitives/products.c"),
            bias=bias,
            multiply_adds=self.places.size,
            words={"left": read, "product": product},
        )

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        left = np.where(self.left < 0, 1.0, X[:, self.left])
        products = left * X[:, self.right].astype(np.float64)
        if self.single:
            products = products.astype(np.float32).astype(np.float64)
        return products - step.tables.get("offsets", np.float32(0.0))

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        firsts = [np.where(self.left < 0, 1.0, side[self.left]) for side in (low, high)]
        corners = [first * side[self.right] for first in firsts for side in (low, high)]
        least, most = np.min(corners, axis=0), np.max(corners, axis=0)
        least = np.where(self.left == self.right, np.maximum(least, 0.0), least)
        return most_in_range(step, more, least, most)

    def code_bytes(self, step: Step) -> CodeBytes:
        return CodeBytes(83, 108, 4, 35)

    def folded_bytes(self, n_classes: int, n_columns: int) -> int:
        return folded_of_values(n_classes, n_columns)

    def calls(self) -> list[Call]:
        fields = {
            "places": integers(self.places),
            "left": integers(self.left),
            "right": integers(self.right),
            "single": label(self.single),
        }
        return [Call("products", template("primitives/products.js"), fields)]

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        plain = self.left < 0
        if plain.any():
            yield from Reads(self.places[plain], self.right[plain]).add_scores(nodes, plan, x)
        if not plain.all():
            left = nodes.cast(nodes.take(x, self.left[~plain]), np.float64)
            right = nodes.cast(nodes.take(x, self.right[~plain]), np.float64)
            products = nodes.add("Mul", left, right)
            if self.single:
                products = nodes.cast(nodes.cast(products, np.float32), np.float64)
            yield weighted(nodes, plan, products, self.places[~plain])
