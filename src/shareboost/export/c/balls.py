"""C for pieces of linear functions, each inside a ball."""

from __future__ import annotations

from string import Template

import numpy as np

from ..plan import Balls, Plan
from .quantisation import beyond_float32, encode
from .step import Form, Step

# Four sums round less than one: scores stay within 1e-5 of those of Python.
DISTANCE = """
/* The squared distance from a centre. */
static inline $real ${prefix}_distance$suffix(const float *z, int i)
{
    $real sums[4] = {0, 0, 0, 0};
    int j;
    for (j = 0; j < $p; ++j) {
        const $real apart = $apart;
        sums[j & 3] += apart * apart;
    }
    SHAREBOOST_COUNT($p);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
"""

# At the edge of a ball rounding must not decide: there the distance is taken in double.
EDGE = """
        if (distance < ${prefix}_radii[i] * 1.00001f && distance > ${prefix}_radii[i] * .99999f
                && !(${prefix}_distance_exact(z, i) < (double)${prefix}_radii[i]))
            continue;"""

# The last value of a piece is 1, or the depth in the ball; those before it are coordinates.
BALLS = """
static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    float z[$p];
    int i, j;
    for (j = 0; j < $p; ++j)
        z[j] = ((float)x[j] - ${prefix}_mean[j]) * $inverse;
    SHAREBOOST_COUNT($p);
    for (i = first; i < last; ++i) {
        const int column = $start + i * ($p + 1);
        const float distance = ${prefix}_distance(z, i);
        float depth;$edge
        if (!(distance < ${prefix}_radii[i]$widened))
            continue;
        depth = $depth;
        for (j = 0; j < $p; ++j)
            ${name}_add(column + j, depth * $value, scores);
        SHAREBOOST_COUNT($p);
        ${name}_add(column + $p, depth, scores);
    }
}
"""


def balls(part: Balls, plan: Plan, prefix: str, form: Form) -> Step:
    """Return pieces, in coordinates: ``z = (x - mean) / unit``, with the mean in float32.

    The rounding of the mean goes to the centres and, of the paper's form, whose values are the
    inputs themselves, the mean's part of them to the last value's weight.
    """
    n, p = part.centres.shape
    single = np.finfo(np.float32)
    if not single.tiny <= part.unit <= 1.0 / single.tiny:
        raise beyond_float32("distances")
    mean = part.mean.astype(np.float32)
    centres = part.centres + (part.mean - mean) / part.unit
    weights = plan.weights[:, part.places].T.reshape(n, p + 1, -1).copy()
    if part.hard:
        weights[:, p] += np.einsum("j,njk->nk", mean.astype(np.float64), weights[:, :p])
    weights[:, :p] *= part.unit
    # Of bytes, too: centres a step of 1/127 aside would let rows out of their balls.
    coded = encode(centres.reshape(1, -1), "int16" if form.weights == "int8" else form.weights)
    scale = "" if form.weights == "float32" else f" * {float(coded.scales[0])!r}f"
    centre = f"(float){prefix}_centres[i][j]{scale}"
    inside = f"(1.0f - distance / {prefix}_radii[i])"
    code = _distance("float", "", f"z[j] - {centre}")
    if part.hard:
        code += _distance("double", "_exact", f"(double)z[j] - (double)({centre})")
    return Step(
        part,
        prefix,
        "balls, hard" if part.hard else "balls",
        n,
        weights.reshape(n * (p + 1), -1),
        np.zeros(len(plan.weights)),
        {"mean": mean, "centres": coded.codes.reshape(n, p), "radii": part.squared_radii},
        code + BALLS.replace("$edge", EDGE if part.hard else ""),
        p + 2 * n * p,
        4 * p,
        scale=float(coded.scales[0]),
        words={
            "p": p,
            "inverse": f"{float(np.float32(1.0 / part.unit))!r}f",
            "widened": " * 1.00001f" if part.hard else "",
            "depth": ("1.0f" if part.hard else inside) + "$scaled",
            "value": "z[j]" if part.hard else f"(z[j] - {centre})",
        },
    )


def _distance(real: str, suffix: str, apart: str) -> str:
    """Return the function that computes distances in numbers of a type."""
    words = {"real": real, "suffix": suffix, "apart": apart}
    return Template(DISTANCE).safe_substitute(words)
