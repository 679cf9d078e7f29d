"""Theorem 1: how the gap between held-out and training error grows with T, k and m."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shareboost import ShareBoostClassifier
from shareboost.bounds import generalization_gap
from shareboost.inspection.comparison import error_curve

from .drawing import COLOUR_OF, COLOURS, GUIDE, curve, labelled, panels
from .experiment import Row
from .lab import Lab
from .published import TUNED
from .spread import spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEATURES = 20  # T where k or m varies
FEW_ROWS = 300  # m where k varies: two classes have not many more
DRAWS = 5  # of classes, a seed
# The paper's letter of what varies, and its column among the rows.
VARIED = {"T": "rounds", "k": "classes", "m": "samples"}


class Fit(NamedTuple):
    """A fit to m rows of k classes, both drawn, whose models of T features are wanted."""

    draw: int  # the seed
    k: int
    m: int
    T: tuple[int, ...]


def measure(lab: Lab) -> list[Row]:
    """Return errors on Isolet's training rows: on those fitted to and on those held out."""
    data = lab.load("isolet")
    X, y = data.X_train, data.y_train
    rows: list[Row] = []
    for seed in lab.seeds:
        for panel, fit in _plan(seed, len(np.unique(y)), len(y), lab.quick):
            about = {"theorem": 1, "panel": panel, "data": "isolet", "seed": seed}
            about |= {"draw": fit.draw, "classes": fit.k, "samples": fit.m}
            key = f"{panel} k={fit.k} m={fit.m} draw {fit.draw}"
            errors = partial(_errors, X, y, fit, lab.device)
            for found in lab.part(key, errors, (X.shape, fit)):
                bound = generalization_gap(found["rounds"], fit.k, X.shape[1], fit.m)
                rows.append({**about, **found, "bound": bound})
    return rows


def _plan(seed: int, k: int, n: int, quick: bool) -> list[tuple[str, Fit]]:
    """Return what varies and the fits, of n rows of k classes."""
    most = 1040 if quick else 2 * n // 3
    T = (2, 5, 10, 20) if quick else (2, 5, 10, 20, 40, 80)
    plan = [("T", Fit(seed, k, most, T))]
    for m in (260, 1040) if quick else (260, 520, 1040, 2080, most):
        plan.append(("m", Fit(seed, k, m, (FEATURES,))))
    for classes in (2, 8, k) if quick else (2, 4, 8, 13, 20, k):
        for i in range(2 if quick else DRAWS):
            plan.append(("k", Fit(DRAWS * seed + i, classes, FEW_ROWS, (FEATURES,))))
    return plan


def _errors(X: NDArray[Any], y: NDArray[Any], fit: Fit, device: str | None) -> list[Row]:
    """Return the errors on the rows fitted to, and on all others of their classes."""
    random = np.random.default_rng(fit.draw)
    of_classes = np.isin(y, random.permutation(np.unique(y))[: fit.k])
    rows = random.permutation(np.flatnonzero(of_classes))
    # Of a class without a fitted row, every held-out row counts as wrong.
    fitted, held_out = rows[: fit.m], rows[fit.m :]
    clf = ShareBoostClassifier(max(fit.T), device=device, **TUNED).fit(X[fitted], y[fitted])
    on_fitted, on_held_out = (
        error_curve(clf, X[some], y[some]).errors.tolist() for some in (fitted, held_out)
    )
    return [
        {
            "rounds": t,
            "train_error": on_fitted[min(t, len(on_fitted)) - 1],
            "held_out_error": on_held_out[min(t, len(on_held_out)) - 1],
        }
        for t in fit.T
    ]


def gaps(rows: list[Row], panel: str) -> dict[int, list[float]]:
    """Return the gaps of all draws by the varied number, in rising order."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row.get("panel") == panel:
            gap = row["held_out_error"] - row["train_error"]
            found.setdefault(row[VARIED[panel]], []).append(gap)
    return dict(sorted(found.items()))


def bounds(rows: list[Row], panel: str) -> dict[int, float]:
    """Return Theorem 1's bounds, of constant 1, by the varied number."""
    found = {row[VARIED[panel]]: row["bound"] for row in rows if row.get("panel") == panel}
    return dict(sorted(found.items()))


def mean_gaps(rows: list[Row], panel: str) -> dict[int, float]:
    """Return the mean gaps over all draws by the varied number."""
    return {x: float(np.mean(gap)) for x, gap in gaps(rows, panel).items()}


def constant(rows: list[Row]) -> float:
    """Return the least c for which no mean gap is above c times the bound."""
    return max(
        gap / bounds(rows, panel)[x]
        for panel in VARIED
        for x, gap in mean_gaps(rows, panel).items()
    )


def draw(rows: list[Row]) -> Figure:
    """Return the gap against T, k and m, each with a multiple of its bound."""
    figure, c = panels(1, len(VARIED)), constant(rows)
    for ax, panel in zip(figure.axes, VARIED, strict=True):
        means, scaled = mean_gaps(rows, panel), [c * v for v in bounds(rows, panel).values()]
        x, bars = list(means), [spread(gap) for gap in gaps(rows, panel).values()]
        y = list(means.values())
        ax.errorbar(
            x, y, bars, fmt="o-", color=COLOURS[COLOUR_OF["ShareBoost"]], label="gap", capsize=2
        )
        curve(ax, x, scaled, f"{c:.2g} of the bound", GUIDE, "--")
        ax.set_xscale("log", base=2)
        labelled(ax, f"Isolet, {panel} varies", panel, "held-out less training error")
    return figure


def told(rows: list[Row]) -> str:
    """Return how the gaps lie to Theorem 1's bound, in words."""
    points = [
        (gap, bounds(rows, panel)[x])
        for panel in VARIED
        for x, gap in mean_gaps(rows, panel).items()
    ]
    telling = [gap <= bound for gap, bound in points if bound < 1.0]
    low, high = (100 * edge(gap for gap, _ in points) for edge in (min, max))
    return (
        "There is no verdict on Theorem 1. It says that the test error exceeds the training error "
        "by at most a constant times the bound, does not state the constant, and so no gap refutes "
        f"it. Mean gaps are {low:.1f}% to {high:.1f}%, and {constant(rows):.2g} times the bound "
        f"covers all {len(points)}. With a constant of 1 the bound is above 1, which says nothing, "
        f"at {len(points) - len(telling)} of them; at the other {len(telling)} it is above the gap "
        f"{sum(telling)} times."
    )
