"""Values of one column of the input or two: as they are, tests, hinges and products."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import CodeBytes, Form, Pairs, Primitive, Step, Tables, Values, weighted

if TYPE_CHECKING:
    from ..onnx_model import Nodes
    from ..plan import Plan

# Of values that are computed without a condition.
FOLDED = (90, 2, 2), (52, 2, math.inf)


@dataclass(frozen=True)
class ColumnValues(Primitive):
    """One value for each feature, read less its offset, if any."""

    code_bytes: ClassVar[CodeBytes]
    multiply_adds: ClassVar[int] = 0  # that compute a value

    @abstractmethod
    def tables(self, n_inputs: int, input_type: str) -> Tables:
        """Return the tables of the code in C, but for the offsets."""

    def words(self, n_inputs: int, less: str) -> dict[str, Any]:
        """Return the words of the code in C, in which ``less`` subtracts the offset."""
        return {"less": less}

    @abstractmethod
    def before_offsets(self, tables: Tables, X: NDArray[Any]) -> Values:
        """Return the values as C computes them from its tables, (n, columns)."""

    @abstractmethod
    def limits(self, low: Any, high: Any) -> tuple[Values, Values]:
        """Return the least and the most that each value can be, of inputs from low to high."""

    @abstractmethod
    def add_values(self, nodes: Nodes, x: str) -> str:
        """Add the nodes of ONNX that compute the values in float64, (rows, columns)."""

    def steps(self, plan: Plan, prefix: str, form: Form) -> Iterator[Step]:
        """Return one step. What the rounding of its offsets adds to the scores is its bias."""
        exact, weights = plan.offsets[self.places], plan.weights[:, self.places]
        offsets = exact.astype(np.float32)
        far = bool(offsets.any())
        tables = self.tables(plan.n_inputs, form.input_type)
        yield Step(
            self,
            prefix,
            form,
            self.places.size,
            weights.T,
            tables | ({"offsets": offsets} if far else {}),
            f"\n{self.source('c')}\n",
            self.code_bytes,
            bias=weights @ (offsets - exact),
            multiply_adds=self.multiply_adds * self.places.size,
            words=self.words(plan.n_inputs, f" - {prefix}_offsets[i]" if far else ""),
        )

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        return self.before_offsets(step.tables, X) - step.tables.get("offsets", np.float32(0.0))

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        offsets = step.tables.get("offsets", np.zeros(step.n, dtype=np.float32))
        ends = np.stack([end - offsets for end in self.limits(low, high)])
        return (more * ends[:, :, None, None]).max(axis=0)

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        yield weighted(nodes, plan, self.add_values(nodes, x), self.places)


@dataclass(frozen=True)
class OfOneColumn(ColumnValues):
    """One value for each feature, of one column of the input."""

    columns: NDArray[np.intp]

    @property
    def columns_read(self) -> NDArray[np.intp]:
        return self.columns

    def tables(self, n_inputs: int, input_type: str) -> Tables:
        return {"columns": self.columns}

    def add_values(self, nodes: Nodes, x: str) -> str:
        return nodes.cast(nodes.take(x, self.columns), np.float64)


@dataclass(frozen=True)
class Reads(OfOneColumn):
    """Columns of the input as they are."""

    of_any_size = True
    code_bytes = CodeBytes(70, 100, 8, 13, FOLDED)

    def before_offsets(self, tables: Tables, X: NDArray[Any]) -> Values:
        return X[:, self.columns]

    def limits(self, low: Any, high: Any) -> tuple[Values, Values]:
        return low[self.columns], high[self.columns]


@dataclass(frozen=True)
class Thresholds(OfOneColumn):
    """Stumps: 1 where ``input[column] <= threshold``, else 0; NaN gives 0."""

    thresholds: NDArray[np.float64]

    allows_nan = True
    code_bytes = CodeBytes(77, 91, 12, 50, ((90, 2, 2), (90, 3, 1)))

    @property
    def single(self) -> NDArray[np.float32]:
        """The largest float32 numbers not above the thresholds: they test float32 input alike."""
        with np.errstate(over="ignore"):  # the threshold that no number exceeds
            near = self.thresholds.astype(np.float32)
        return np.where(near > self.thresholds, np.nextafter(near, np.float32(-np.inf)), near)

    def tables(self, n_inputs: int, input_type: str) -> Tables:
        """Return the tables; of bytes the thresholds are bytes too."""
        whole = np.minimum(np.floor(self.thresholds), 255)
        as_bytes = input_type == "uint8" and np.all(whole >= 0)
        cuts = whole.astype(np.intp) if as_bytes else self.single
        return {"columns": self.columns, "thresholds": cuts}

    def before_offsets(self, tables: Tables, X: NDArray[Any]) -> Values:
        return (X[:, self.columns] <= tables["thresholds"]).astype(np.float64)

    def limits(self, low: Any, high: Any) -> tuple[Values, Values]:
        return np.zeros(self.places.size), np.ones(self.places.size)

    def add_values(self, nodes: Nodes, x: str) -> str:
        values = super().add_values(nodes, x)
        passed = nodes.add("LessOrEqual", values, nodes.constant(self.thresholds, np.float64))
        return nodes.cast(passed, np.float64)


@dataclass(frozen=True)
class Hinges(OfOneColumn):
    """``max(0, input[column] - threshold)``, or ``max(0, threshold - input[column])`` if below."""

    thresholds: NDArray[np.float64]
    below: NDArray[np.intp]

    of_any_size = True
    code_bytes = CodeBytes(113, 184, 12, 21)

    def tables(self, n_inputs: int, input_type: str) -> Tables:
        thresholds = self.thresholds.astype(np.float32)
        return {"columns": self.columns, "thresholds": thresholds, "below": self.below}

    def words(self, n_inputs: int, less: str) -> dict[str, Any]:
        value = "(side > 0.0f ? side : 0.0f)"
        return {"value": f"({value}{less})" if less else value}

    def before_offsets(self, tables: Tables, X: NDArray[Any]) -> Values:
        above = X[:, self.columns] - tables["thresholds"]
        return np.maximum(np.where(self.below, -above, above), 0.0)

    def limits(self, low: Any, high: Any) -> tuple[Values, Values]:
        ends = self.before_offsets({"thresholds": self.thresholds}, np.stack([low, high]))
        return ends.min(axis=0), ends.max(axis=0)

    def add_values(self, nodes: Nodes, x: str) -> str:
        values = super().add_values(nodes, x)
        above = nodes.add("Sub", values, nodes.constant(self.thresholds, np.float64))
        signs = nodes.constant(1.0 - 2.0 * self.below, np.float64)
        return nodes.add("Relu", nodes.add("Mul", above, signs))


@dataclass(frozen=True)
class Products(ColumnValues):
    """Products of two columns of the input; a left one of -1 stands for the constant 1."""

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    single: bool  # whether they are rounded to float32, as those of float32 input in training

    of_any_size = True
    code_bytes = CodeBytes(83, 108, 4, 35, FOLDED)
    multiply_adds = 1

    @property
    def columns_read(self) -> NDArray[np.intp]:
        return np.concatenate([self.left[self.left >= 0], self.right])

    def tables(self, n_inputs: int, input_type: str) -> Tables:
        """Return the tables, in which a left column beyond the last stands for 1."""
        return {"left": np.where(self.left < 0, n_inputs, self.left), "right": self.right}

    def words(self, n_inputs: int, less: str) -> dict[str, Any]:
        left, product = "(float)x[${prefix}_left[i]]", f"left * right{less}"
        if (self.left < 0).any():
            left = f"${{prefix}}_left[i] < {n_inputs} ? {left} : 1.0f"
        if not self.single and less:  # exact until what they have in common is gone
            product = f"(float)((double)left * (double)right{less})"
        return {"left": left, "product": product}

    def before_offsets(self, tables: Tables, X: NDArray[Any]) -> Values:
        left = np.where(self.left < 0, 1.0, X[:, self.left])
        products = left * X[:, self.right].astype(np.float64)
        return products.astype(np.float32).astype(np.float64) if self.single else products

    def limits(self, low: Any, high: Any) -> tuple[Values, Values]:
        firsts = [np.where(self.left < 0, 1.0, side[self.left]) for side in (low, high)]
        corners = [first * side[self.right] for first in firsts for side in (low, high)]
        least, most = np.min(corners, axis=0), np.max(corners, axis=0)
        return np.where(self.left == self.right, np.maximum(least, 0.0), least), most

    def add_values(self, nodes: Nodes, x: str) -> str:
        left = nodes.cast(nodes.take(x, self.left), np.float64)
        right = nodes.cast(nodes.take(x, self.right), np.float64)
        products = nodes.add("Mul", left, right)
        return nodes.cast(nodes.cast(products, np.float32), np.float64) if self.single else products

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        plain = self.left < 0
        if plain.any():
            yield from Reads(self.places[plain], self.right[plain]).add_scores(nodes, plan, x)
        if not plain.all():
            places, left, right = self.places[~plain], self.left[~plain], self.right[~plain]
            products = replace(self, places=places, left=left, right=right)
            yield weighted(nodes, plan, products.add_values(nodes, x), places)
