"""Section 6, the second example: s copies of the bits, of which one suffices."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shareboost.datasets import make_redundant_blocks
from shareboost.pools import Columns
from shareboost.rivals import MixedNormClassifier

from .both_examples import (
    ALPHAS,
    L1,
    L2,
    MIXED,
    SHARE,
    STYLES,
    listed,
    means,
    of_example,
    penalised,
    shareboost,
    sizes,
    spreads,
)
from .drawing import COLOUR_OF, COLOURS, GUIDE, curve, labelled
from .experiment import Claim, Row, verdict
from .lab import Lab

EXAMPLE = "blocks"
CLASSES = 16
BITS = 4  # their binary logarithm: columns of a block
ZEROED = 0.1  # share of the rows that lose a block
ROWS_A_BLOCK = 128  # drawn rows: 13 lose each block on average
ROWS = 2048

EVEN, GROWING, FIXED = "even", f"{ROWS_A_BLOCK} drawn a block", f"{ROWS} drawn"


class Problem(NamedTuple):
    """Rows, each with a weight."""

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    weight: NDArray[np.float64]


def measure(lab: Lab) -> list[Row]:
    """Return the features that every method needs, for every number of blocks."""
    rows: list[Row] = []
    for s in [1, 2, 4, 8] if lab.quick else [1, 2, 4, 8, 16, 32, 64]:
        for kind, seed in _draws(lab):
            for method in (SHARE, MIXED, L1, L2) if kind == EVEN else (SHARE, MIXED):
                fewest = partial(_fewest, method, s, kind, seed, lab.device)
                settings = (CLASSES, ZEROED, _search(method, s))
                found = lab.part(f"{EXAMPLE} {s} {method} {kind} {seed}", fewest, settings)
                labels = {"example": EXAMPLE, "size": s, "method": method}
                rows.append({**labels, "rows": kind, "seed": seed, **found})
    return rows


def _draws(lab: Lab) -> list[tuple[str, int | None]]:
    """Return the kinds of rows, with their seeds."""
    kinds = [GROWING] if lab.quick else [GROWING, FIXED]
    return [(EVEN, None), *((kind, seed) for kind in kinds for seed in lab.seeds)]


def _search(method: str, s: int) -> dict[str, Any]:
    """Return where a method's model of fewest features is looked for."""
    if method in (L1, L2):
        return {"alphas": ALPHAS[method]}
    if method == SHARE:
        return {"scale": "maxabs", "n_features": min(s, 4) * BITS}
    return {"scale": "none", "path": 30, "path_ratio": 1e-3}


def _fewest(method: str, s: int, kind: str, seed: int | None, device: str | None) -> Row:
    """Return the fewest features that bring the loss to twice that of one block."""
    X, y, weight = even_rows(s) if kind == EVEN else drawn_rows(s, kind, seed)
    target = 2.0 * one_block_loss(s)
    search = _search(method, s)
    if method in (L1, L2):
        minima = list(penalised(method, X, y, weight))
        losses, n_features = zip(*((m.loss, m.n_features()) for m in minima), strict=True)
    else:
        clf: Any
        if method == SHARE:
            clf = shareboost(**search, device=device)
        else:
            clf = MixedNormClassifier(pool=Columns(scale=search.pop("scale")), **search)
        path = clf.fit(X, y, weight).path_
        losses, n_features = path.losses.tolist(), path.n_features.tolist()
    enough = [n for n, loss in zip(n_features, losses, strict=True) if loss <= target]
    return {"features": min(enough, default=None), "models": len(enough), "target": target}


def even_rows(s: int) -> Problem:
    """Return all rows that may be drawn, weighted by their chance."""
    whole, y = make_redundant_blocks(s, CLASSES, n_samples=CLASSES, zeroed=0.0)
    rows, weights = [whole], [np.full(CLASSES, 1.0 - ZEROED)]
    for lost in np.split(np.arange(whole.shape[1]), s):
        rows.append(whole.copy())
        rows[-1][:, lost] = 0.0
        weights.append(np.full(CLASSES, ZEROED / s))
    return Problem(np.vstack(rows), np.tile(y, s + 1), np.concatenate(weights))


def drawn_rows(s: int, kind: str, seed: int | None) -> Problem:
    """Return drawn rows; where they are many, equal ones once, with their number as weight."""
    m = ROWS_A_BLOCK * s if kind == GROWING else ROWS
    X, y = make_redundant_blocks(s, CLASSES, m, ZEROED, seed)
    rows, weight = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    if len(rows) < 4 * CLASSES:  # of so few scikit-learn would ask whether y is of classes
        return Problem(X, y, np.ones(m))
    return Problem(rows[:, :-1].copy(), rows[:, -1].astype(np.intp), weight.astype(float))


def one_block_loss(s: int) -> float:
    """Return the least loss of weights for one block, in the mean over draws.

    Rows that keep the block can be told with any margin; one that lost it is all zeros there, and
    costs ``ln(1 + (k - 1) e)``, whatever the weights.
    """
    return ZEROED / s * math.log(1.0 + (CLASSES - 1) * math.e)


def draw(ax: Any, rows: list[Row]) -> None:
    """Draw the features needed against the number of blocks."""
    own = of_example(rows, EXAMPLE)
    ss = sizes(own)
    for method, style in STYLES.items():
        curve(ax, ss, means(own, method, EVEN), method, COLOUR_OF[method], style)
    for kind, style in ((GROWING, "x:"), (FIXED, "+:")):
        if found := means(own, MIXED, kind):
            look = {"fmt": style, "color": COLOURS[COLOUR_OF[MIXED]], "alpha": 0.6}
            label = f"{MIXED}, {kind}"
            ax.errorbar(ss, found, spreads(own, MIXED, kind), label=label, **look)
    curve(ax, ss, [s * BITS for s in ss], "all columns", GUIDE, "--")
    labelled(ax, "Redundant blocks", "blocks s", "features for the loss of one block")


def judge(rows: list[Row]) -> list[Claim]:
    """Return what section 6 says of the second example."""
    own = of_example(rows, EXAMPLE)
    ss, kinds = sizes(own), list(dict.fromkeys(row["rows"] for row in own))
    few = [fits for kind in kinds for fits in _as_few_as_for_one(own, kind)]
    all_used = [n == s * BITS for s, n in zip(ss, means(own, MIXED, EVEN), strict=True)]
    # Blocks that hardly any drawn row lost may do alone, for a few of the others.
    drawn = [
        n >= 0.5 * s * BITS
        for kind in kinds
        for s, n in zip(ss, means(own, MIXED, kind), strict=True)
    ]
    return [
        Claim(
            f"Redundant blocks: ShareBoost needs no more for s blocks of {BITS} bits than for one",
            "polylog(k), whatever s",
            f"{_told(own, SHARE, kinds)} at s = {listed(ss)}",
            verdict(all(few), any(few)),
        ),
        Claim(
            "Redundant blocks: the mixed norm spreads over all blocks",
            f"{BITS} s",
            _told(own, MIXED, kinds),
            verdict(all(all_used) and all(drawn), all(all_used) or all(drawn)),
        ),
    ]


def _as_few_as_for_one(rows: list[Row], kind: str) -> list[bool]:
    """Return whether every number of blocks needs as few features as one, but for the spread."""
    (one, *more), (one_s, *more_s) = means(rows, SHARE, kind), spreads(rows, SHARE, kind)
    # One spread of the difference.
    return [n <= one + math.hypot(one_s, s) for n, s in zip(more, more_s, strict=True)]


def _told(rows: list[Row], method: str, kinds: list[str]) -> str:
    """Return the features needed of every kind of rows in words, with the spread over seeds."""
    return "; ".join(
        f"{kind}: {listed(means(rows, method, kind))}"
        + (f" ± {listed(spreads(rows, method, kind))}" if kind != EVEN else "")
        for kind in kinds
    )
