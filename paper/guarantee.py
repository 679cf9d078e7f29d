"""Theorems 1 and 2: how far the guarantees are from what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import generalization_gap, sparsity_guarantee
from .experiment import Claim, Experiment, Row
from .generalization_gap import DRAWS, FEATURES, FEW_ROWS
from .lab import Lab
from .published import STEPS
from .sparsity_guarantee import L2_WEIGHTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def measure(lab: Lab) -> list[Row]:
    """Return losses and W* of Theorem 2, errors and bounds of Theorem 1."""
    return [*sparsity_guarantee.measure(lab), *generalization_gap.measure(lab)]


def draw(lab: Lab, rows: list[Row]) -> dict[str, Figure]:
    """Return the loss against rounds, and the gap against T, k and m, each with its bound."""
    return {
        "guarantee-sparsity": sparsity_guarantee.draw(rows),
        "guarantee-generalization": generalization_gap.draw(rows),
    }


def judge(rows: list[Row]) -> list[Claim]:
    """Return what Theorem 2 says; no verdict on Theorem 1 is possible."""
    return sparsity_guarantee.judge(rows)


EXPERIMENT = Experiment(
    title="Section 5: the guarantees beside what happens",
    shows=(
        "Theorem 2: ShareBoost comes within ε of the loss of any W* in 4 ‖W*‖² / ε rounds, with "
        "the l∞/l1 norm. Theorem 1: the test error of W with T columns exceeds the training error "
        "by O(√((T k log(Tk) log k + T log d + log(1/δ)) / m)). The paper proves both and shows no "
        "figure of them."
    ),
    measure=measure,
    draw=draw,
    judge=judge,
    captions={
        "guarantee-sparsity": "Training loss of ShareBoost as published against rounds, on three "
        "data sets, with the least of Theorem 2's bounds.",
        "guarantee-generalization": "Held-out less training error on Isolet as T, k and m vary, "
        "mean and spread over seeds, with one multiple of Theorem 1's bound.",
    },
    details=generalization_gap.told,
    chosen=f"""
Nothing was chosen by any error, and no test set is read. *Theorem 2*: training rows, every column
divided by its largest magnitude, ShareBoost `as_published` ({STEPS}), no intercept in W* either. W*
are logistic regressions with l2 weights from {L2_WEIGHTS[0]:g} down to {L2_WEIGHTS[-1]:g} against
the average loss, and the 20 minimisers of a path of the mixed norm, whose own norm is that of the
theorem; the bound is the lowest over them and over all between them and 0.

*Theorem 1*: columns of Isolet, `rule="gradient", alpha=3e-5` (the theorem holds for any W of T
columns; with `alpha=0` the rounds would end where the classes are separated). Training rows are
split at random
into rows to fit to and held-out rows: the official test rows are of other speakers, and the theorem
is about rows of one distribution. T varies at k = 26 and two thirds of the rows; m at k = 26 and
T = {FEATURES}; k at T = {FEATURES} and m = {FEW_ROWS}, {DRAWS} draws of classes a seed, all
their other rows held out. The theorem states no constant. The multiple of the bound in the figure
is the least that no mean gap is above; δ is 0.05.
""",
)
