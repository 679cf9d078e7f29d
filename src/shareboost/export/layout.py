"""A plan as C will have it: steps in order, weights in their units and types, all tables.

With early exit, C stops reading features once none that is left can change the winner. The most
that those left can add to one class, less another, is a table; templates are bounded image by
image: see lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .primitives import PRIMITIVES
from .primitives.base import Form, Pairs, Step, Tables, beyond_float32

if TYPE_CHECKING:
    from .plan import Plan

# Rounding of a sum of float32, for each of its terms, and some more.
ROUNDING = 4 * 2.0**-23
# Bounds are widened by this share: values, too, are rounded.
SLACK = 1e-5


@dataclass(frozen=True)
class Layout:
    """A plan as the steps of a header."""

    plan: Plan
    form: Form
    steps: list[Step]
    intercept: NDArray[np.float64]
    bounds: Tables = field(default_factory=dict)  # of early exit

    @property
    def checked_every(self) -> int:
        """Features between two checks of early exit: a table of about twice the weights."""
        return max(1, min(self.intercept.size // 2, sum(step.n for step in self.steps) // 4))

    @property
    def searched(self) -> bool:
        """Whether early exit bounds some values image by image."""
        return any(step.part.searched for step in self.steps)

    @property
    def starts(self) -> list[int]:
        """Where the columns of each step start, and the number of all."""
        return np.cumsum([0, *(len(step.weights) for step in self.steps)]).tolist()

    @property
    def tables(self) -> Tables:
        """All tables by their names in C."""
        name, k = self.form.name, self.intercept.size
        tables: Tables = {f"{name}_intercept": self.intercept.astype(np.float32)}
        if self.steps:
            weights = [step.coded.codes.reshape(-1, k) for step in self.steps]
            tables[f"{name}_weights"] = np.concatenate(weights)
        for step in self.steps:
            scales = {} if step.scales is None else {"scales": step.scales}
            for what, values in (step.tables | scales).items():
                tables[f"{step.prefix}_{what}"] = values
        return tables | self.bounds

    def scores(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return what a header computes for the rows of X, quantised numbers and all, (n, k)."""
        scores = np.tile(self.intercept, (len(X), 1))
        for step in self.steps:
            scores += step.part.values(step, X) @ step.decoded
        return scores


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what overflows is refused
def layout_of(plan: Plan, form: Form) -> Layout:
    """Return the steps of a plan, cheap features first; float32 holds all of its numbers."""
    steps: list[Step] = []
    kinds = list(PRIMITIVES.values())
    for part in sorted(plan.parts, key=lambda part: kinds.index(type(part))):
        prefix = f"{form.name}_{type(part).__name__.lower()}{len(steps)}"
        steps += part.steps(plan, prefix, form)
    layout = Layout(plan, form, steps, plan.intercept + sum(step.bias for step in steps))
    for table, values in layout.tables.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise beyond_float32(f"numbers of {table}")
    return layout


def with_bounds(layout: Layout, low: Any, high: Any) -> Layout:
    """Return the layout with the tables of early exit; inputs are between low and high."""
    if layout.searched:
        rounding = ROUNDING * (layout.starts[-1] + 1)
        bounds = {
            f"{step.prefix}_{what}": values
            for step in layout.steps
            for what, values in step.part.search_tables(step, rounding).items()
        }
    else:
        rest = _rest_table(layout, low, high)
        bounds = {f"{layout.form.name}_rest": rest} if rest.size else {}
    return replace(layout, bounds=bounds)


def _rest_table(layout: Layout, low: Any, high: Any) -> NDArray[np.float32]:
    """Return what is left after each check but the last, (checks * k, k), for q less p."""
    k, every = layout.intercept.size, layout.checked_every
    bounds: list[Pairs] = []
    stops: list[int] = []
    for step in layout.steps:
        start = sum(len(added) for added in bounds)
        stops += [start + min(stop, step.n) for stop in range(every, step.n + every, every)]
        # The last class is one without weights: it tells how large the terms are that rounding
        # comes with.
        weights = np.pad(step.decoded, ((0, 0), (0, 1)))
        more = weights[:, None, :] - weights[:, :, None]  # (columns, p, q)
        bounds.append(step.part.most_added(step, more, low, high))
    pairs = np.concatenate(bounds)
    size = np.abs(layout.intercept).max() + (pairs[:, k, :] + pairs[:, :, k]).max(axis=1).sum()
    rounding = ROUNDING * (len(pairs) + 1) * size
    rows = [pairs[stop:, :k, :k].sum(axis=0) * (1.0 + SLACK) + rounding for stop in stops[:-1]]
    table = np.concatenate([np.zeros((0, k)), *rows])
    return np.nextafter(table.astype(np.float32), np.float32(np.inf))
