"""Section 6: where sharing needs exponentially fewer features, and where mixed norms miss it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import redundant_blocks, shared_bits
from .drawing import panels
from .experiment import Claim, Experiment, Row
from .lab import Lab
from .redundant_blocks import CLASSES, EVEN, FIXED, GROWING, ROWS, ZEROED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def measure(lab: Lab) -> list[Row]:
    """Return the features that every method needs, for every size of both examples."""
    return [*shared_bits.measure(lab), *redundant_blocks.measure(lab)]


def draw(lab: Lab, rows: list[Row]) -> dict[str, Figure]:
    """Return features used against the number of classes, and of blocks."""
    figure = panels(1, 2, (4.8, 3.6))
    for ax, example in zip(figure.axes, (shared_bits, redundant_blocks), strict=True):
        example.draw(ax, rows)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
    return {"examples": figure}


def judge(rows: list[Row]) -> list[Claim]:
    """Return section 6's claims."""
    return [*shared_bits.judge(rows), *redundant_blocks.judge(rows)]


EXPERIMENT = Experiment(
    title="Section 6: two examples of feature sharing",
    shows=(
        "First, rows `[bin(y), 2 log2(k) e^y]`: log2(k) bits tell k classes apart, but the k "
        "indicators have the smaller l1 and l2 norm. Second, s copies of the bits, of which a "
        "tenth of the rows lose one: one copy suffices, but the mixed norm prefers all of them. "
        "The paper argues; it shows no figure."
    ),
    measure=measure,
    draw=draw,
    judge=judge,
    captions={
        "examples": "Features that each method needs on section 6's examples. Left: for zero "
        "training error on shared bits, against the number of classes, between log2(k) and k. "
        "Right: for the loss of one block, against the number of blocks."
    },
    chosen=f"""
Training data alone: the examples have no other. Of every convex method the whole path of its
weight is searched for the model of fewest features that gets every row right (bits), or whose loss
is at most twice the least that one block can reach, `2 (ε / s) ln(1 + (k - 1) e)` in the mean over
draws (blocks, ε = {ZEROED}, k = {CLASSES}; the paper's corollary allows the factor 2).
l1: 8 weights from 0.9 to 0.01 of the least that needs no feature, l2: 8 from 1 to 1e-4, l∞/l1: 10
over one decade (bits) and 30 over three (blocks). A feature is used if it has a weight above 1e-6
of the largest.

ShareBoost is the paper's Algorithm 1, `as_published`, of at most 4 log2(k) rounds. Theorem 2
assumes columns in [-1, 1]; the indicators of the first example, of size 2 log2(k), are divided by
that. The penalties see the columns as they are, since the argument about their norms is about
those. Not scaled, a unit of margin costs the mixed norm log2(k) / 2 by the bits and
k / (2 log2(k)) by the indicators, which is less at k = 8 and the same at k = 4 and 16: there it
uses all indicators, and ShareBoost without scaling begins with them at k = 4 and 8. The claims are
about large k.

Rows of the second example: *{EVEN}*, all that may be drawn, weighted by their chance, which is the
expectation that the paper's proof takes; *{GROWING}*, and *{FIXED}* whatever the
number of blocks, over the seeds. Of {ROWS} rows over 64 blocks 3 lose each block on average, and
some blocks hardly any: the mixed norm then finds those, and is sparse too. ShareBoost needs no more
for s blocks than for one if its mean over the seeds is above that at s = 1 by no more than one
spread of their difference.
""",
)
