"""C for pieces of linear functions, each inside a ball."""

from __future__ import annotations

import numpy as np

from ..plan import Balls, Plan
from .quantisation import encode
from .step import Form, Step

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
        float distance = 0.0f, depth;
        for (j = 0; j < $p; ++j) {
            const float apart = z[j] - $centre;
            distance += apart * apart;
        }
        SHAREBOOST_COUNT($p);
        if (!(distance < ${prefix}_radii[i]))
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
    mean = part.mean.astype(np.float32)
    centres = part.centres + (part.mean - mean) / part.unit
    weights = plan.weights[:, part.places].T.reshape(n, p + 1, -1).copy()
    if part.hard:
        weights[:, p] += np.einsum("j,njk->nk", mean.astype(np.float64), weights[:, :p])
    weights[:, :p] *= part.unit
    coded = encode(centres.reshape(1, -1), form.weights)
    scale = "" if form.weights == "float32" else f" * {float(coded.scales[0])!r}f"
    centre = f"(float){prefix}_centres[i][j]{scale}"
    inside = f"1.0f - distance / {prefix}_radii[i]"
    return Step(
        prefix,
        "balls, hard" if part.hard else "balls",
        n,
        weights.reshape(n * (p + 1), -1),
        np.zeros(len(plan.weights)),
        {"mean": mean, "centres": coded.codes.reshape(n, p), "radii": part.squared_radii},
        BALLS,
        p + 2 * n * p,
        4 * p,
        words={
            "p": p,
            "inverse": f"{float(np.float32(1.0 / part.unit))!r}f",
            "centre": centre,
            "depth": ("1.0f" if part.hard else inside) + "$scaled",
            "value": "z[j]" if part.hard else f"(z[j] - {centre})",
        },
    )
