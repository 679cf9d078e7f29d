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
from .c.layout import Layout, layout_of
from .c.step import INPUT_TYPES, LARGEST_CODE, Form, Step
from .plan import plan_of
from .primitives import Products, Reads, Thresholds

if TYPE_CHECKING:
    import pandas as pd

# Bytes of machine code besides those of the primitives, measured alike: of a model without
# features, and of any other.
EMPTY_CODE, BASE_CODE = 80, 107
# What the compiler saves where there are two classes and no more than two features, or more.
TINY_CODE, TWO_CLASSES_CODE = 90, 52
# What a function saves on the stack besides its arrays; those of kinds with arrays save more.
FRAME, FRAME_OF_ARRAYS, FRAME_OF_MORE = 16, 64, 40


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

    def __len__(self) -> int:
        return len(self.n_features)

    def __repr__(self) -> str:
        return (
            f"<CostReport of {self.n_features[-1]} features, weights {self.weights}: "
            f"{self.multiply_adds[-1]:,} multiply-adds, {self.flash[-1]:,} bytes of flash, "
            f"{self.ram[-1]:,} of RAM>"
        )

    def __str__(self) -> str:
        """Return a table of up to a dozen rows."""
        shown = np.unique(np.linspace(0, len(self) - 1, 12).round().astype(int))
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
            {
                "columns": self.n_columns,
                "multiply_adds": self.multiply_adds,
                "flash": self.flash,
                "ram": self.ram,
            },
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
    form = Form(
        "shareboost",
        one_of("weights", weights, LARGEST_CODE, "cost_report"),
        one_of("input_type", input_type, INPUT_TYPES, "cost_report"),
    )
    plan_of(model)  # says what cannot be exported, before the path is read
    path = model.path_
    start = [] if isinstance(path, PathOfOne) else [0]
    counts = np.unique([*start, *path.n_features.tolist()])
    every = track(counts.tolist(), "counting costs", counts.size)
    layouts = [layout_of(plan_of(model.at(t)), form) for t in every]
    return CostReport(
        counts.astype(np.intp),
        np.array([layout.starts[-1] for layout in layouts], dtype=np.intp),
        np.array([multiply_adds(layout) for layout in layouts], dtype=np.int64),
        np.array([flash_bytes(layout) for layout in layouts], dtype=np.int64),
        np.array([ram_bytes(layout) for layout in layouts], dtype=np.int64),
        weights,
    )


def multiply_adds(layout: Layout) -> int:
    """Return the most that a row takes."""
    own = sum(step.multiply_adds for step in layout.steps)
    return own + int(layout.starts[-1]) * layout.intercept.size


def flash_bytes(layout: Layout) -> int:
    """Return the bytes of code and tables."""
    coded = layout.form.weights != "float32"
    code = sum(_code_bytes(step, coded) for step in layout.steps) - _folded(layout)
    return layout.table_bytes + (BASE_CODE + code if layout.steps else EMPTY_CODE)


def _folded(layout: Layout) -> int:
    """Return the bytes of code that the compiler folds away in the smallest models."""
    kinds = {type(step.part) for step in layout.steps}
    k, n = layout.intercept.size, int(layout.starts[-1])
    if not kinds <= {Reads, Products, Thresholds} or k > 3 or n == 0:
        return 0
    if (k == 2 and n <= 2) or (n == 1 and kinds == {Thresholds}):
        return TINY_CODE
    return TWO_CLASSES_CODE if k == 2 and Thresholds not in kinds else 0


def ram_bytes(layout: Layout) -> int:
    """Return the bytes of stack; steps use them one after another."""
    arrays = [step.ram for step in layout.steps if step.ram]
    frame = FRAME_OF_ARRAYS if arrays else FRAME
    frame += FRAME_OF_MORE if len(arrays) > 1 else 0
    return frame + 4 * layout.intercept.size + max(arrays, default=0)


def _code_bytes(step: Step, coded: bool) -> int:
    code = step.part.code_bytes(step)
    if step.n > 1:
        return code.several + (code.several_coded if coded else 0)
    return code.one + (code.one_coded if coded else 0)
