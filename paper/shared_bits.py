"""Section 6, the first example: log2(k) bits tell k classes apart, and so do k indicators."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from shareboost.datasets import make_shared_bits
from shareboost.inspection.comparison import error_curve
from shareboost.losses import LogisticLoss
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
)
from .drawing import COLOUR_OF, GUIDE, curve, labelled
from .experiment import Claim, Row, verdict
from .lab import Lab

EXAMPLE, ARGUMENT = "bits", "argument"
CLASSES, SMALL_CLASSES = 64, 16  # of what the paper says of its weights
FACTOR, SMALL_LOSS = 2.0, 0.1  # its c and epsilon there
SHARE_RAW, MIXED_SCALED = "ShareBoost, columns not scaled", "l∞/l1, columns in [-1, 1]"


def measure(lab: Lab) -> list[Row]:
    """Return the features that every method needs, for every number of classes."""
    rows: list[Row] = []
    for k in [4, 8, 16, 32, 64] if lab.quick else [2**bits for bits in range(2, 11)]:
        for method in (SHARE, SHARE_RAW, L1, L2, MIXED, MIXED_SCALED):
            fewest = partial(_fewest, method, k, lab.device)
            found = lab.part(f"{EXAMPLE} {k} {method}", fewest, _search(method, k))
            rows.append({"example": EXAMPLE, "size": k, "method": method, **found})
    k = SMALL_CLASSES if lab.quick else CLASSES
    settings = (k, FACTOR, SMALL_LOSS, ALPHAS[L2])
    found = lab.part("what the paper says of W(s) and of l2", partial(_argument, k), settings)
    return [*rows, {"example": ARGUMENT, **found}]


def _argument(classes: int) -> Row:
    """Return the losses of weights for the bits, and how large those of l2's minima are."""
    X, y = make_shared_bits(classes, n_repeats=1)
    n_bits = int(math.log2(classes))
    W = np.hstack([X[:, :n_bits], np.zeros((classes, classes))])  # W(s)

    def loss(c: float) -> float:
        scores = np.ascontiguousarray(c * W @ X.T)
        return float(LogisticLoss().value_and_residual(scores, y, np.full(len(y), 1 / len(y))))

    margin = (1 + math.log(classes - 1) - math.log(math.exp(SMALL_LOSS) - 1)) / (n_bits - 2)
    ratios = [ratio for bits in range(2, n_bits + 1) for ratio in _of_bits(2**bits, bits)]
    return {
        "classes": classes,
        "loss": loss(FACTOR),
        "claimed": _bound(classes, FACTOR * (n_bits - 2)),
        "right": _bound(classes, 2 * FACTOR),
        "c": margin,
        "loss_at_c": loss(margin),
        "least_ratio": min(ratios),
        "largest_ratio": max(ratios),
    }


def _of_bits(k: int, n_bits: int) -> list[float]:
    """Return the largest weight of a bit over the largest of all, for every minimum of l2."""
    minima = penalised(L2, *make_shared_bits(k, n_repeats=1))
    return [float(np.abs(m.W[:, :n_bits]).max() / np.abs(m.W).max()) for m in minima]


def _bound(k: int, apart: float) -> float:
    """Return the loss where the scores of all other classes are that much lower."""
    return math.log1p((k - 1) * math.exp(1 - apart))


def _search(method: str, k: int) -> dict[str, Any]:
    """Return where a method's model of fewest features is looked for."""
    bits = int(math.log2(k))
    if method in (L1, L2):
        return {"alphas": ALPHAS[method]}
    scale = "maxabs" if method in (SHARE, MIXED_SCALED) else "none"
    if method in (SHARE, SHARE_RAW):
        return {"scale": scale, "n_features": 4 * bits}
    # The path may end early: what is looked for is its model of fewest features.
    return {"scale": scale, "n_features": 8 * bits, "path": 10, "path_ratio": 0.1}


def _fewest(method: str, k: int, device: str | None) -> Row:
    """Return the fewest features of a model that gets every row right."""
    if method in (L1, L2):
        X, y = make_shared_bits(k, n_repeats=1)
        minima = penalised(method, sp.csr_array(X), y)  # of 1 + log2(k) entries a row
        right = [minimum.n_features() for minimum in minima if minimum.errors == 0.0]
        return {"features": min(right, default=None), "models": len(right)}
    X, y = make_shared_bits(k)
    search = _search(method, k)
    clf: Any
    if method in (SHARE, SHARE_RAW):
        clf = shareboost(**search, device=device)
    else:
        clf = MixedNormClassifier(pool=Columns(scale=search.pop("scale")), **search)
    found = error_curve(clf.fit(X, y), X, y)
    models = int((found.errors == 0.0).sum())
    return {"features": found.features_needed(0.0), "models": models}


def draw(ax: Any, rows: list[Row]) -> None:
    """Draw the features needed against the number of classes."""
    own = of_example(rows, EXAMPLE)
    ks = sizes(own)
    for method, style in STYLES.items():
        curve(ax, ks, means(own, method), method, COLOUR_OF[method], style)
    curve(ax, ks, [math.log2(k) for k in ks], "log2(k)", GUIDE, ":")
    curve(ax, ks, ks, "k", GUIDE, "--")
    labelled(ax, "Shared bits", "classes k", "features for zero training error")


def judge(rows: list[Row]) -> list[Claim]:
    """Return what section 6 says of the first example."""
    own = of_example(rows, EXAMPLE)
    ks = sizes(own)
    used = {method: means(own, method) for method in dict.fromkeys(row["method"] for row in own)}
    most = [n >= k for method in (L1, L2) for k, n in zip(ks, used[method], strict=True)]
    # The paper names no polynomial: the square, which is below k from 32 classes on.
    few = [n <= math.log2(k) ** 2 for k, n in zip(ks, used[SHARE], strict=True)]
    least = [n == math.log2(k) for k, n in zip(ks, used[MIXED], strict=True)]
    return [
        Claim(
            "Shared bits: l1 and l2 penalties use at least k features, whatever their weight",
            "k, or more",
            f"l1 {listed(used[L1])}; l2 {listed(used[L2])} at k = {listed(ks)}",
            verdict(all(most), any(most)),
        ),
        Claim(
            "Shared bits: ShareBoost needs polylog(k) features",
            "poly(log k)",
            f"{listed(used[SHARE])}, where log2(k) bits suffice (columns not scaled: "
            f"{listed(used[SHARE_RAW])})",
            verdict(all(few), any(few)),
        ),
        Claim(
            "Shared bits: the mixed norm finds the log2(k) bits for some weight",
            "log2(k)",
            f"{listed(used[MIXED])} (columns in [-1, 1]: {listed(used[MIXED_SCALED])})",
            verdict(all(least), any(least)),
        ),
        *_judge_argument(next(row for row in rows if row["example"] == ARGUMENT)),
    ]


def _judge_argument(found: Row) -> list[Claim]:
    """Return what section 6 says of its weights W(s) and of the minima of l2."""
    k, c = found["classes"], found["c"]
    return [
        Claim(
            "Shared bits: `L(c W(s)) < log(1 + (k - 1) exp(1 - c (log2(k) - 2)))`",
            f"{found['claimed']:.3f} for k = {k}, c = {FACTOR:g}",
            f"{found['loss']:.3f}. The scores of the other classes are lower by 2 at least, which "
            f"gives the exponent 1 - 2c and {found['right']:.3f}",
            verdict(found["loss"] < found["claimed"]),
        ),
        Claim(
            "Shared bits: the c that follows from it has `L(c W(s)) <= epsilon`",
            f"c = {c:.2f} for k = {k}, epsilon = {SMALL_LOSS:g}",
            f"{found['loss_at_c']:.3f}",
            verdict(found["loss_at_c"] <= SMALL_LOSS),
        ),
        Claim(
            "Shared bits: the optimum of the l2 penalty uses the indicators alone, `c W(f)`",
            "weights of bits are 0",
            f"{found['least_ratio']:.0%} to {found['largest_ratio']:.0%} of the largest weight, "
            f"for k = 4 to {k} and {ALPHAS[L2][2]} weights of the penalty",
            verdict(found["largest_ratio"] < 1e-6),
        ),
    ]
