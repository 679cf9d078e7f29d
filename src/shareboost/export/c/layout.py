"""A plan as C will have it: steps in order, weights in their units and types, all tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plan import Plan
from ..primitives import PRIMITIVES
from .early_exit import ROUNDING, checked_every, most_added, rest_table, with_no_class
from .step import Codes, Form, Step, beyond_float32, encode
from .text import table_bytes


@dataclass(frozen=True)
class Layout:
    """A plan as the steps of a header, with the weights that it has there."""

    plan: Plan
    form: Form
    steps: list[Step]
    weights: list[Codes]  # of each step, a feature a row
    intercept: NDArray[np.float64]
    bounds: dict[str, NDArray[np.float32]] = field(default_factory=dict)  # tables of early exit

    @property
    def checked_every(self) -> int:
        """Features between two checks of early exit, where all values have bounds."""
        return checked_every(self.intercept.size, sum(step.n for step in self.steps))

    @property
    def searched(self) -> bool:
        """Whether early exit bounds some values image by image."""
        return any(step.part.searched for step in self.steps)

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where the columns of each step start, and the number of all."""
        return np.cumsum([0, *(len(step.weights) for step in self.steps)])

    @property
    def scales(self) -> list[NDArray[np.float32] | None]:
        """What the values of each step's features are multiplied by; None for 1."""
        found: list[NDArray[np.float32] | None] = []
        for step, codes in zip(self.steps, self.weights, strict=True):
            factor = codes.scales * (1.0 if step.factor is None else step.factor)
            found.append(None if np.all(factor == 1.0) else factor.astype(np.float32))
        return found

    @property
    def tables(self) -> dict[str, NDArray[np.generic]]:
        """All tables by their names in C."""
        name, k = self.form.name, self.intercept.size
        found: dict[str, NDArray[np.generic]] = {
            f"{name}_intercept": self.intercept.astype(np.float32)
        }
        if self.steps:
            weights = [codes.codes.reshape(-1, k) for codes in self.weights]
            found[f"{name}_weights"] = np.concatenate(weights)
        for step, scales in zip(self.steps, self.scales, strict=True):
            own = step.tables | ({} if scales is None else {"scales": scales})
            found |= {f"{step.prefix}_{what}": values for what, values in own.items()}
        return found | self.bounds

    @property
    def decoded(self) -> list[NDArray[np.float64]]:
        """The weights that each step's values really have, (columns, k)."""
        found = []
        for step, codes in zip(self.steps, self.weights, strict=True):
            weights = codes.values.reshape(step.weights.shape)
            found.append(weights if step.factor is None else weights * step.factor[:, None])
        return found

    def scores(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return what a header computes for the rows of X, quantised numbers and all, (n, k)."""
        found = np.tile(self.intercept, (len(X), 1))
        for step, weights in zip(self.steps, self.decoded, strict=True):
            found += step.values(X) @ weights
        return found

    @property
    def table_bytes(self) -> int:
        """What all tables take."""
        return sum(map(table_bytes, self.tables.values()))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what overflows is refused
def layout_of(plan: Plan, form: Form) -> Layout:
    """Return the steps of a plan: cheap features first."""
    steps: list[Step] = []
    for kind in PRIMITIVES.values():
        for part in plan.parts:
            if type(part) is kind:
                prefix = f"{form.name}_{kind.__name__.lower()}{len(steps)}"
                steps += part.steps(plan, prefix, form)
    weights = [encode(step.weights.reshape(step.n, -1), form.weights) for step in steps]
    intercept = plan.intercept + sum(step.bias for step in steps)
    return _checked(Layout(plan, form, steps, weights, intercept))


def _checked(layout: Layout) -> Layout:
    """Return the layout, if float32 holds all of its numbers."""
    for table, values in layout.tables.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise beyond_float32(f"numbers of {table}")
    return layout


def with_bounds(layout: Layout, low: Any, high: Any) -> Layout:
    """Return the layout with the tables of early exit; inputs are between low and high."""
    if not layout.steps:
        return layout
    name = layout.form.name
    weighted = list(zip(layout.steps, layout.decoded, strict=True))
    if layout.searched:
        rounding = ROUNDING * (int(layout.starts[-1]) + 1)
        bounds = {
            f"{step.prefix}_{what}": values
            for step, weights in weighted
            for what, values in step.part.search_tables(step, weights, rounding).items()
        }
    else:
        pairs = [most_added(step, with_no_class(weights), low, high) for step, weights in weighted]
        rest = rest_table(pairs, layout.intercept, layout.checked_every)
        bounds = {f"{name}_rest": rest} if rest.size else {}
    return replace(layout, bounds=bounds)
