"""Theorem 2: the loss after T rounds, far below what is promised."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler

from shareboost.bounds import sparsity_rounds
from shareboost.losses import LogisticLoss
from shareboost.pools import Columns
from shareboost.rivals import MixedNormClassifier

from .drawing import COLOUR_OF, GUIDE, curve, labelled, panels
from .experiment import Claim, Row, verdict
from .lab import Lab
from .published import MOST_STEPS, PUBLISHED, published
from .samples import sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS = {"pendigits": 16, "satimage": 36, "isolet": 60}
DENSE, MIXED = "dense fits", "mixed norm"  # where W* come from
L2_WEIGHTS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
DENSE_FIT: dict[str, Any] = {"fit_intercept": False, "tol": 1e-3, "max_iter": 5000}
MIXED_FIT: dict[str, Any] = {"fit_intercept": False, "path": 20, "path_ratio": 0.03, "tol": 1e-4}
# What stars are looked for with, by their source.
SOUGHT = {DENSE: (L2_WEIGHTS, DENSE_FIT), MIXED: MIXED_FIT}


def measure(lab: Lab) -> list[Row]:
    """Return the loss after every round, and W* with their losses and norms."""
    rows: list[Row] = []
    for name in ["pendigits"] if lab.quick else list(ROUNDS):
        data = lab.load(name)
        if lab.quick:
            data = sample(data, n_train=750, n_test=0)
        X = MaxAbsScaler().fit_transform(data.X_train.astype(np.float64))
        about = {"theorem": 2, "data": name}
        fit = partial(_run, X, data.y_train, ROUNDS[name], lab.device)
        run = lab.part(f"{name} ShareBoost", fit, (X.shape, ROUNDS[name], MOST_STEPS))
        rows += [{**about, "kind": "round", "rounds": t, **found} for t, found in enumerate(run)]
        for source, stars in ((DENSE, _dense_stars), (MIXED, _mixed_stars)):
            look = partial(stars, X, data.y_train)
            found = lab.part(f"{name} W* of {source}", look, (X.shape, SOUGHT[source]))
            rows += [{**about, "kind": "W*", "source": source, **star} for star in found]
    return rows


def _run(X: NDArray[np.float64], y: NDArray[Any], T: int, device: str | None) -> list[Row]:
    """Return the loss after every round, before the first too, and the score that chose."""
    path = published(T, device=device).fit(X, y).path_
    rounds = zip(path.losses.tolist(), path.scores.tolist(), strict=True)
    return [{"loss": path.start.loss}, *({"loss": loss, "score": score} for loss, score in rounds)]


def _dense_stars(X: NDArray[np.float64], y: NDArray[Any]) -> list[Row]:
    """Return loss and norm of logistic regressions on all columns."""
    found = []
    for weight in L2_WEIGHTS:
        clf = LogisticRegression(C=1.0 / (weight * len(y)), **DENSE_FIT).fit(X, y)
        found.append({"norm": column_norm(clf.coef_), "loss": margin_loss(clf, X, y)})
    return found


def _mixed_stars(X: NDArray[np.float64], y: NDArray[Any]) -> list[Row]:
    """Return loss and norm of the minimisers of the very norm that the theorem is about."""
    clf = MixedNormClassifier(pool=Columns(scale="none"), **MIXED_FIT)
    return [
        {"norm": step.details["norm"], "loss": step.loss} for step in clf.fit(X, y).path_.steps[1:]
    ]


def column_norm(W: NDArray[np.float64]) -> float:
    """Return the l∞/l1 norm: the columns' largest magnitudes, summed."""
    return float(np.abs(W).max(axis=0).sum())


def margin_loss(clf: LogisticRegression, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return eq. (3)'s average loss of a fitted logistic regression of several classes."""
    scores = np.ascontiguousarray(clf.decision_function(X).T)
    places = np.searchsorted(clf.classes_, y)
    return float(LogisticLoss().value_and_residual(scores, places, np.full(len(y), 1.0 / len(y))))


def loss_bound(stars: Iterable[Row], start: float, T: float) -> float:
    """Return the least of Theorem 2's bounds ``L(W*) + 4 |W*|^2 / T`` on the loss after T rounds.

    With W* the theorem has ``c W*`` too; W = 0 has the loss ``start``.
    By convexity its loss is at most ``c L(W*) + (1 - c) start``; the best c is known.
    """
    bounds = [start]
    for star in stars:
        gain, square = start - star["loss"], star["norm"] ** 2
        c = min(1.0, max(0.0, gain * T / (8.0 * square)))
        bounds.append(start - c * gain + 4.0 * c**2 * square / T)
    return min(bounds)


def rounds_asked(stars: Iterable[Row], loss: float) -> int | None:
    """Return after how many rounds Theorem 2 promises a loss; None where no W* is as good."""
    better = [star for star in stars if star["loss"] < loss]
    # A matrix of one entry has the norm of W*.
    return min((sparsity_rounds([[s["norm"]]], loss - s["loss"]) for s in better), default=None)


def draw(rows: list[Row]) -> Figure:
    """Return the loss against rounds, with the bounds, a panel for every data set."""
    names = list(dict.fromkeys(row["data"] for row in rows if row["theorem"] == 2))
    figure = panels(1, len(names))
    for ax, name in zip(figure.axes, names, strict=True):
        losses, stars = _of_data(rows, name)
        curve(ax, range(1, len(losses)), losses[1:], PUBLISHED, COLOUR_OF[PUBLISHED], "o-")
        T = np.geomspace(1, 1e6, 60).tolist()
        for source, colour, style in ((DENSE, GUIDE, "--"), (MIXED, COLOUR_OF["l∞/l1"], "-")):
            own = [star for star in stars if star["source"] == source]
            bound = [loss_bound(own, losses[0], t) for t in T]
            curve(ax, T, bound, f"bound, W* of {source}", colour, style)
        ax.set_xscale("log")
        labelled(ax, name.capitalize(), "rounds T", "average training loss", legend=False)
        ax.set_ylim(top=1.45 * max(losses))  # above all curves there is room for the legend
        ax.legend(loc="upper right", fontsize=8)
    return figure


def _of_data(rows: list[Row], name: str) -> tuple[list[float], list[Row]]:
    """Return a data set's losses, before the first round first, and its W*."""
    own = [row for row in rows if row["theorem"] == 2 and row["data"] == name]
    losses = [row["loss"] for row in own if row["kind"] == "round"]
    return losses, [row for row in own if row["kind"] == "W*"]


def judge(rows: list[Row]) -> list[Claim]:
    """Return what Theorem 2 says, and its proof."""
    below, steps, told = [], [], []
    for name in dict.fromkeys(row["data"] for row in rows if row["theorem"] == 2):
        losses, stars = _of_data(rows, name)
        below += [loss <= loss_bound(stars, losses[0], t) for t, loss in enumerate(losses) if t]
        own = [row for row in rows if row.get("kind") == "round" and row["data"] == name]
        scores = [row["score"] for row in own[1:]]
        gains = -np.diff(losses)
        steps += [float(4 * gain / score**2) for gain, score in zip(gains, scores, strict=True)]
        told.append(f"{name}: {_halved(losses, stars)}")
    return [
        Claim(
            "Theorem 2: after T rounds the loss is at most `L(W*) + 4 ‖W*‖² / T`, whatever W*",
            "at every T",
            f"{sum(below)} of {len(below)} rounds. " + "; ".join(told),
            verdict(all(below), any(below)),
        ),
        Claim(
            "Its proof: a round lowers the loss by at least a quarter of its score squared",
            "1 or more times",
            f"{min(steps):.3g} to {max(steps):.3g} times, median {np.median(steps):.3g}",
            verdict(min(steps) >= 1.0, bool(np.median(steps) >= 1.0)),
        ),
    ]


def _halved(losses: list[float], stars: list[Row]) -> str:
    """Return after how many rounds the loss was half of that without features, and should be."""
    half = losses[0] / 2.0
    after = next((t for t, loss in enumerate(losses) if loss <= half), None)
    here = f"in {len(losses) - 1} rounds not" if after is None else f"after {after} rounds"
    asked = rounds_asked(stars, half)
    promised = "not promised by these W*" if asked is None else f"promised after {asked:,}"
    return f"{here} half of the first loss, {promised}"
