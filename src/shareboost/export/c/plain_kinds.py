"""C for columns, stumps and products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..plan import Plan, Products, Reads, Thresholds
from .step import Form, Step

READS = """
static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    int i;
    for (i = first; i < last; ++i)
        ${name}_add($start + i, ((float)x[${prefix}_columns[i]]$less)$scaled, scores);
}
"""

THRESHOLDS = """
static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    int i;
    for (i = first; i < last; ++i)
        if (x[${prefix}_columns[i]] <= ${prefix}_thresholds[i])
            ${name}_add($start + i, $one, scores);
}
"""

PRODUCTS = """
static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    int i;
    for (i = first; i < last; ++i) {
        const float right = (float)x[${prefix}_right[i]];
        const float left = $left;
        SHAREBOOST_COUNT(1);
        ${name}_add($start + i, ($product)$scaled, scores);
    }
}
"""


def reads(part: Reads, plan: Plan, prefix: str, form: Form) -> Step:
    """Return columns of the input as they are."""
    offsets, bias = _offsets(part.places, plan)
    tables = {"columns": part.columns} | ({"offsets": offsets} if offsets.any() else {})
    return Step(
        part,
        prefix,
        "reads",
        part.places.size,
        plan.weights[:, part.places].T,
        bias,
        tables,
        READS,
        0,
        0,
        words={"less": f" - {prefix}_offsets[i]" if offsets.any() else ""},
    )


def thresholds(part: Thresholds, plan: Plan, prefix: str, form: Form) -> Step:
    """Return stumps; of bytes their thresholds are bytes too."""
    single = part.single
    whole = np.minimum(np.floor(part.thresholds), 255)
    if form.input_type == "uint8" and np.all(whole >= 0):
        cuts: NDArray[np.float32] | NDArray[np.intp] = whole.astype(np.intp)
    else:
        cuts = single
    return Step(
        part,
        prefix,
        "thresholds",
        part.places.size,
        plan.weights[:, part.places].T,
        np.zeros(len(plan.weights)),
        {"columns": part.columns, "thresholds": cuts},
        THRESHOLDS,
        0,
        0,
    )


def products(part: Products, plan: Plan, prefix: str, form: Form) -> Step:
    """Return products of two columns; a left one beyond the last stands for 1."""
    offsets, bias = _offsets(part.places, plan)
    alone = part.left < 0
    left = np.where(alone, plan.n_inputs, part.left)
    tables = {"left": left, "right": part.right} | ({"offsets": offsets} if offsets.any() else {})
    read = f"(float)x[{prefix}_left[i]]"
    if alone.any():
        read = f"{prefix}_left[i] < {plan.n_inputs} ? {read} : 1.0f"
    less = f" - {prefix}_offsets[i]" if offsets.any() else ""
    product = f"left * right{less}"
    if not part.single and less:  # exact until what they have in common is gone
        product = f"(float)((double)left * (double)right{less})"
    return Step(
        part,
        prefix,
        "products",
        part.places.size,
        plan.weights[:, part.places].T,
        bias,
        tables,
        PRODUCTS,
        part.places.size,
        0,
        words={"left": read, "product": product},
    )


def _offsets(
    places: NDArray[np.intp], plan: Plan
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the offsets in float32, and what their rounding adds to the scores."""
    offsets = plan.offsets[places].astype(np.float32)
    return offsets, plan.weights[:, places] @ (offsets - plan.offsets[places])
