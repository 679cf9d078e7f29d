"""C that stops reading features once none that is left can change the winner.

Of columns, stumps, products and pieces the most that each can add to the score of one class,
less that of another, is known when the header is written; the sums over those that are left
are a table, a row for every few features. Templates are bounded image by image: see pruning.
"""

from __future__ import annotations

from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plan import Balls, Matches, Products, Reads, Thresholds
from . import pruning
from .step import Step

Pairs = NDArray[np.float64]  # (n, k, k): for score q less score p at [p, q]

# Rounding of a sum of float32, for each of its terms, and some more.
ROUNDING = 4 * 2.0**-23
# Bounds are widened by this share: values, too, are rounded.
SLACK = 1e-5

SETTLED = """
/* Whether no class can overtake the best by what is left for it. */
static inline int ${name}_settled(const float *scores, const float *rest, int best)
{
    int q;
    for (q = 0; q < $k; ++q)
        if (q != best && scores[q] + rest[q] >= scores[best])
            return 0;
    return 1;
}
"""

STATIC = """
    for (first = 0; first < $n; first += $every, ++check) {
        ${prefix}(x, first, first + $every < $n ? first + $every : $n, scores);
        winner = ${name}_best(scores);
        if (check < $checks && ${name}_settled(scores, ${name}_rest[check * $k + winner], winner))
            return winner;
    }"""

MARGIN = """
    for (i = 0; i < $k; ++i)
        margin += $rounding * (scores[i] < 0.0f ? -scores[i] : scores[i]);"""

PREDICT = """
static inline int ${name}_predict(const $input *x)
{
    float scores[$k];$declared
    for (i = 0; i < $k; ++i)
        scores[i] = ${name}_intercept[i];$body
    return ${name}_best(scores);
}
"""


def checked_every(k: int, n_features: int) -> int:
    """Return the number of features between two checks.

    Their table takes about twice the weights, or more for four checks at least.
    """
    return max(1, min(k // 2, n_features // 4))


def most_added(step: Step, weights: NDArray[np.float64], low: Any, high: Any) -> Pairs:
    """Return the most that each feature can add to the score of one class less another.

    Parameters
    ----------
    step : Step
        Of no templates.
    weights : array
        Of its columns as they are in C, (columns, k).
    low, high : array
        The range of every input; not read by stumps and pieces.
    """
    more = weights[:, None, :] - weights[:, :, None]  # (columns, p, q)
    match step.part:
        case Thresholds():
            return np.maximum(more, 0.0)
        case Balls() as part:
            return _in_balls(part, step, more)
        case Reads(columns=columns):
            least, most = low[columns], high[columns]
        case Products(left=left, right=right):
            least, most = _of_products(left, right, low, high)
    offsets = step.tables.get("offsets", np.zeros(step.n, dtype=np.float32))
    ends = np.stack([least - offsets, most - offsets])[:, :, None, None]
    return (more * ends).max(axis=0)


def _of_products(
    left: NDArray[np.intp], right: NDArray[np.intp], low: Any, high: Any
) -> tuple[Any, Any]:
    """Return the least and the most that products can be."""
    ones = left < 0
    firsts = [np.where(ones, 1.0, side[left]) for side in (low, high)]
    corners = np.stack([first * side[right] for first in firsts for side in (low, high)])
    least, most = corners.min(axis=0), corners.max(axis=0)
    return np.where(left == right, np.maximum(least, 0.0), least), most


def _in_balls(part: Balls, step: Step, more: Pairs) -> Pairs:
    """Return the most that a linear function can be in its ball, times the depth there, or 0."""
    n, p = part.centres.shape
    more = more.reshape(n, p + 1, *more.shape[1:])
    centres = step.tables["centres"].astype(np.float64) * step.scale
    radii = np.sqrt(step.tables["radii"].astype(np.float64))[:, None, None]
    slope = np.sqrt(np.square(more[:, :p]).sum(axis=1)) * radii
    if part.hard:
        middle = np.einsum("njpq,nj->npq", more[:, :p], centres) + more[:, p]
        return np.maximum(0.0, middle + slope)
    # (1 - t^2) (slope t + level) over t from 0 to 1, where its derivative is zero.
    level = more[:, p]
    root = np.sqrt(np.square(level) + 3.0 * np.square(slope))
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.clip(np.nan_to_num((root - level) / (3.0 * slope), posinf=1.0), 0.0, 1.0)
    return np.maximum(0.0, (1.0 - t**2) * (slope * t + level))


def rest_table(
    bounds: list[Pairs], intercept: NDArray[np.float64], every: int
) -> NDArray[np.float32]:
    """Return what is left after each check but the last, (checks * k, k), for q less p.

    The bounds of each step are (n, k + 1, k + 1): the last class is one without weights, and so
    tells how large the terms are that rounding comes with.
    """
    k = intercept.size
    whole = np.concatenate(bounds)
    size = np.abs(intercept).max() + (whole[:, k, :] + whole[:, :, k]).max(axis=1).sum()
    rounding = ROUNDING * (len(whole) + 1) * size
    stops, start = [], 0
    for pairs in bounds:
        n = len(pairs)
        stops += [start + min(stop, n) for stop in range(every, n + every, every)]
        start += n
    rows = [whole[stop:, :k, :k].sum(axis=0) * (1.0 + SLACK) + rounding for stop in stops[:-1]]
    table = np.concatenate([np.zeros((0, k)), *rows])
    return np.nextafter(table.astype(np.float32), np.float32(np.inf))


def with_no_class(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights, (columns, k), with those of a class that has none."""
    return np.hstack([weights, np.zeros((len(weights), 1))])


def sizes_table(step: Step, weights: NDArray[np.float64], n_columns: int) -> NDArray[np.float32]:
    """Return how much rounding may do, in units of the highest response under each mask."""
    part = step.part
    assert isinstance(part, Matches)
    norms = 1.0 / step.tables["inverse"].astype(np.float64)
    sizes = np.zeros((len(part.masks_down), len(part.masks_across)))
    np.add.at(sizes, (part.down, part.across), norms * np.abs(weights).max(axis=1))
    return (sizes.ravel() * ROUNDING * (n_columns + 1)).astype(np.float32)


def predict_code(
    steps: list[Step], filled: Any, calls: str, every: int, checks: int, n_columns: int
) -> str:
    """Return the function that predicts; ``filled`` fills a step's words into a text."""
    matched = [step for step in steps if step.kind == "matches"]
    if matched:
        declared = "".join(filled(step, pruning.DECLARED) for step in matched)
        declared += "\n    float rest[$k], margin = 0.0f;\n    int i, winner;"
        body = f"\n{calls}".rstrip() + Template(MARGIN).safe_substitute(
            rounding=f"{ROUNDING * (n_columns + 1):.8g}f"
        )
        body += "".join(filled(step, pruning.BOUNDED) for step in matched)
        for place, step in enumerate(matched):
            later = "".join(filled(other, pruning.LATER) for other in matched[place + 1 :])
            body += filled(step, pruning.SEARCH.replace("$later\n", later))
    else:
        declared = "\n    int i, winner, first, check = 0;"
        words = {"every": every, "checks": checks}
        body = "".join(
            filled(step, Template(STATIC).safe_substitute(words | {"n": step.n})) for step in steps
        )
    return Template(PREDICT).safe_substitute(declared=declared, body=body)
