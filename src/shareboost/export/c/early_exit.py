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

from ..fragments import fragments, functions
from ..primitives.base import Pairs
from ..primitives.pruning import fragment
from .step import Step

# Rounding of a sum of float32, for each of its terms, and some more.
ROUNDING = 4 * 2.0**-23
# Bounds are widened by this share: values, too, are rounded.
SLACK = 1e-5

C = "c/early_exit.c"


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
        Of values that have a bound for all rows.
    weights : array
        Of its columns as they are in C, (columns, k).
    low, high : array
        The range of every input; not read by stumps and pieces.
    """
    more = weights[:, None, :] - weights[:, :, None]  # (columns, p, q)
    return step.part.most_added(step, more, low, high)


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


def predict_code(
    steps: list[Step], filled: Any, calls: str, every: int, checks: int, n_columns: int
) -> str:
    """Return the function that predicts; ``filled`` fills a step's words into a text."""
    texts = {name: f"\n{text}" for name, text in fragments(C).items()}
    searched = [step for step in steps if step.part.searched]
    if searched:
        declared = "".join(filled(step, fragment("declared")) for step in searched)
        declared += "\n    float rest[$k], margin = 0.0f;\n    int i, winner;"
        body = f"\n{calls}".rstrip() + Template(texts["margin"]).safe_substitute(
            rounding=f"{ROUNDING * (n_columns + 1):.8g}f"
        )
        body += "".join(filled(step, fragment("bounded")) for step in searched)
        for place, step in enumerate(searched):
            later = "".join(filled(other, fragment("later")) for other in searched[place + 1 :])
            body += filled(step, fragment("search").replace("\n$later", later))
    else:
        declared = "\n    int i, winner, first, check = 0;"
        words = {"every": every, "checks": checks}
        body = "".join(
            filled(step, Template(texts["static"]).safe_substitute(words | {"n": step.n}))
            for step in steps
        )
    return Template(functions(C, "predict")).safe_substitute(declared=declared, body=body)
