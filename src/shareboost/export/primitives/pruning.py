"""C that stops early on templates: bounds of responses skip places, and end the search.

A template's response is at most its norm times that of the pixels under it, by Cauchy and
Schwarz; of a template of zero mean, times that of the pixels less their mean. Where such a
bound, under the mask, does not exceed what a block of templates has found already, the place
is skipped: the values are the same to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..c.text import float_literal
from ..fragments import fragments

if TYPE_CHECKING:
    from .lanes import Lanes
    from .matches import Matches

# Below this share of its norm the mean of a template is bounded by itself.
LARGEST_MEAN = 0.2
SMALLEST_NORM = 1e-30
# More lanes look after 1, 2, 4, ... rows at what they have found; what is out of date skips less.
FEW_LANES = 8
# How often, at most, the rest is bounded: all features that are left are read for it.
MOST_CHECKS = 16


def fragment(name: str) -> str:
    """Return what the function that predicts has on its own line."""
    return "\n" + fragments("primitives/pruning.c")[name]


def bound_tables(part: Matches, lanes: Lanes, codes: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return what bounds need of each feature: one over its template's norm, its mask across.

    The templates are the codes of all lanes, (lanes, taps).
    """
    norms = np.linalg.norm(codes[lanes.lane].astype(np.float64), axis=1)
    inverse = 1.0 / np.maximum(norms, SMALLEST_NORM)
    return {"inverse": inverse.astype(np.float32), "seen": part.across[lanes.order]}


def bound_words(part: Matches, lanes: Lanes, codes: NDArray[Any], name: str) -> dict[str, Any]:
    """Return the words of the code."""
    n = codes.shape[1]
    wide = codes[np.any(codes != 0, axis=1)].astype(np.float64)
    # What the mean of the pixels can add to a response, for a template of norm 1.
    share = (np.abs(wide.mean(axis=1)) / np.linalg.norm(wide, axis=1)).max(initial=0.0)
    # The share of the squares that rounding may hide, in their difference and in a response.
    slack = f"square_at[place] * {1.00001 + 4e-7 * n:.8g}f"
    root = f"{name}_root({slack})"
    if share < LARGEST_MEAN / n**0.5:
        root = f"{name}_root({slack} - sum_at[place] * sum_at[place] * {1.0 / n:.9g}f)"
        root += f" + {float_literal(1.00001 * share)}"
        root += " * (sum_at[place] < 0.0f ? -sum_at[place] : sum_at[place])"
    cast = "" if codes.dtype == np.float32 else "(float)"
    return {
        "energy": root,
        "renewed": "(i & (i - 1)) == 0" if lanes.n_lanes > FEW_LANES else "1",
        "checked": -(-lanes.n_blocks // MOST_CHECKS),
        "masks_down": len(part.masks_down),
        "masks_across": len(part.masks_across),
        "own": f"{cast}{name}_weights[$start + i][best]",
        "others": f"{cast}{name}_weights[$start + i][q]",
    }


def sizes_table(
    part: Matches, inverse: NDArray[np.float32], weights: NDArray[np.float64], rounding: float
) -> NDArray[np.float32]:
    """Return how much rounding may do, in units of the highest response under each mask.

    ``inverse`` is one of ``bound_tables``.
    """
    norms = 1.0 / inverse.astype(np.float64)
    sizes = np.zeros((len(part.masks_down), len(part.masks_across)))
    np.add.at(sizes, (part.down, part.across), norms * np.abs(weights).max(axis=1))
    return (sizes.ravel() * rounding).astype(np.float32)
