"""What a model will cost where it runs, for every number of features, before it is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import pandas_for
from ..path import PathOfOne
from ..progress import track
from ..validation import one_of
from .layout import Layout, layout_of
from .plan import plan_of
from .primitives.base import INPUT_TYPES, LARGEST_CODE, Form, Step
from .text import table_bytes

if TYPE_CHECKING:
    import pandas as pd

# Bytes of machine code besides those of the primitives, measured alike: of a model without
# features, and of any other.
EMPTY_CODE, BASE_CODE = 80, 107
# What a function saves on the stack besides its arrays; those of kinds with arrays save more.
FRAME, FRAME_OF_ARRAYS, FRAME_OF_MORE = 16, 64, 40

COSTS = ("multiply_adds", "flash", "ram")


@dataclass(frozen=True, repr=False)
class CostReport:
    """What the C form of a model takes, for every number of features of its path.

    All arrays have an entry for each model of the path, the one without features first; one
    entry alone for a classifier that was saved without its path.
    ``multiply_adds`` are the most that any row takes: that of templates is for an image
    without a blank pixel, that of pieces for a row inside all balls. ``flash`` is code and
    tables, ``ram`` the stack; both in bytes, of ``NAME_predict`` compiled by
    ``gcc -std=c99 -Os`` for x86-64, to 10% or 64 bytes.
    """

    n_features: NDArray[np.intp]
    n_columns: NDArray[np.intp]  # values that are weighted
    multiply_adds: NDArray[np.int64]
    flash: NDArray[np.int64]
    ram: NDArray[np.int64]
    weights: str

    def __repr__(self) -> str:
        """Return a table of up to a dozen rows."""
        shown = np.unique(np.linspace(0, self.n_features.size - 1, 12).round().astype(int))
        lines = [f"{'features':>8} {'multiply-adds':>14} {'flash':>10} {'RAM':>8}"]
        lines += [
            f"{self.n_features[i]:>8} {self.multiply_adds[i]:>14,} {self.flash[i]:>10,} "
            f"{self.ram[i]:>8,}"
            for i in shown
        ]
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a model as a pandas frame."""
        pd = pandas_for("n_features, multiply_adds, flash and ram")
        return pd.DataFrame(
            {"columns": self.n_columns} | {name: getattr(self, name) for name in COSTS},
            index=pd.Index(self.n_features, name="n_features"),
        )


def cost_report(model: Any, weights: str = "float32", input_type: str = "float32") -> CostReport:
    """Return what ``to_c(model.at(t))`` will take, for every t of the path.

    Parameters
    ----------
    model : fitted classifier
    weights : {"float32", "int16", "int8"}, default="float32"
    input_type : {"float32", "uint8"}, default="float32"
        As in ``to_c``, without early exit.

    Returns
    -------
    CostReport
        Arrays ``n_features``, ``multiply_adds``, ``flash`` and ``ram``; ``print`` shows a
        table of some of them.
    """
    one_of("weights", weights, LARGEST_CODE, "cost_report")
    one_of("input_type", input_type, INPUT_TYPES, "cost_report")
    form = Form("shareboost", weights, input_type)
    plan_of(model)  # says what cannot be exported, before the path is read
    path = model.path_
    start = [] if isinstance(path, PathOfOne) else [0]
    counts = np.unique(np.array([*start, *path.n_features.tolist()], dtype=np.intp))
    every = track(counts.tolist(), "counting costs", counts.size)
    rows = [_costs(layout_of(plan_of(model.at(t)), form)) for t in every]
    n_columns, multiply_adds, flash, ram = np.array(rows, dtype=np.int64).T
    return CostReport(counts, n_columns.astype(np.intp), multiply_adds, flash, ram, weights)


def running_costs(clf: Any) -> dict[str, NDArray[np.int64]] | None:
    """Return the multiply-adds, and the bytes of flash and RAM, of every model of a path.

    None for features of a pool that has no exported form, whose costs nobody knows.
    """
    try:
        plan_of(clf)
    except TypeError:  # another's pool
        return None
    report = cost_report(clf)
    places = np.searchsorted(report.n_features, clf.path_.n_features)
    return {name: getattr(report, name)[places] for name in COSTS}


def _costs(layout: Layout) -> tuple[int, int, int, int]:
    """Return the number of columns, the most multiply-adds, and the bytes of flash and stack."""
    steps, k, n_columns = layout.steps, layout.intercept.size, layout.starts[-1]
    multiply_adds = sum(step.multiply_adds for step in steps) + n_columns * k
    code = EMPTY_CODE
    if steps:
        folded = min(step.code_bytes.folded_of(k, n_columns) for step in steps)
        code = BASE_CODE + sum(map(_code_bytes, steps)) - folded
    arrays = [step.ram for step in steps if step.ram]  # of steps one after another
    frame = FRAME_OF_ARRAYS if arrays else FRAME
    frame += FRAME_OF_MORE if len(arrays) > 1 else 0
    stack = frame + 4 * k + max(arrays, default=0)
    tables = sum(map(table_bytes, layout.tables.values()))
    return n_columns, multiply_adds, tables + code, stack


def _code_bytes(step: Step) -> int:
    code, coded = step.code_bytes, step.form.weights != "float32"
    if step.n > 1:
        return code.several + code.several_coded * coded
    return code.one + code.one_coded * coded
