"""Rows of experiments as the paper claims them, but for what is changed."""

from paper.both_examples import L1, L2, MIXED, SHARE
from paper.redundant_blocks import BITS, EVEN, FIXED, GROWING
from paper.shared_bits import MIXED_SCALED, SHARE_RAW
from paper.sparsity_guarantee import DENSE
from paper.sparsity_guarantee import MIXED as MIXED_STARS
from shareboost.bounds import generalization_gap

START = 3.0  # the loss without features


def bits(**changed):
    """Of section 6's first example, for 4 and 64 classes; changed: the features of methods."""
    features = {
        **{SHARE: [2, 6], SHARE_RAW: [3, 6], L1: [4, 64], L2: [6, 70]},
        **{MIXED: [2, 6], MIXED_SCALED: [2, 6]},
        **changed,
    }
    said = {"classes": 64, "loss": 0.05, "claimed": 0.06, "right": 1.4, "c": 2.0}
    said |= {"loss_at_c": 0.09, "least_ratio": 0.0, "largest_ratio": 0.0}
    return [
        *(
            {"example": "bits", "size": k, "method": method, "features": n}
            for method, ns in features.items()
            for k, n in zip((4, 64), ns, strict=True)
        ),
        {"example": "argument", **said},
    ]


def blocks(change=lambda row: None):
    """Of section 6's second example, for 1 and 4 blocks; change: a row's features, or None."""
    rows = []
    for kind, seeds in ((EVEN, [None]), (GROWING, [0, 1]), (FIXED, [0, 1])):
        for method in (SHARE, MIXED, L1, L2) if kind == EVEN else (SHARE, MIXED):
            for s in (1, 4):
                for seed in seeds:
                    row = {"example": "blocks", "size": s, "method": method, "rows": kind}
                    row |= {"seed": seed, "features": BITS if method == SHARE else BITS * s}
                    changed = change(row)
                    rows.append(row if changed is None else row | {"features": changed})
    return rows


def share_of_bound(share):
    """Return gaps that are a share of Theorem 1's bound."""
    return lambda T, k, m, seed: share * generalization_gap(T, k, 617, m)


A_TENTH = share_of_bound(0.1)


def theorem_1(gap=A_TENTH, seeds=(0, 1)):
    """Of Theorem 1, for three values each of T, k and m."""
    varied = {"T": [(t, 26, 4000) for t in (2, 8, 32)], "k": [(20, k, 300) for k in (2, 8, 26)]}
    varied["m"] = [(20, 26, m) for m in (250, 1000, 4000)]
    rows = []
    for panel, points in varied.items():
        for T, k, m in points:
            for seed in seeds:
                row = {"theorem": 1, "panel": panel, "data": "isolet", "seed": seed}
                row |= {"rounds": T, "classes": k, "samples": m, "train_error": 0.0}
                row |= {"held_out_error": gap(T, k, m, seed)}
                rows.append(row | {"bound": generalization_gap(T, k, 617, m)})
    return rows


def theorem_2(losses=(START, 2.0, 1.5), score=0.5):
    """Of Theorem 2, a data set with two W*."""
    about = {"theorem": 2, "data": "pendigits"}
    return [
        *(
            {**about, "kind": "round", "rounds": t, "loss": loss} | ({"score": score} if t else {})
            for t, loss in enumerate(losses)
        ),
        {**about, "kind": "W*", "source": DENSE, "norm": 3.0, "loss": 0.4},
        {**about, "kind": "W*", "source": MIXED_STARS, "norm": 1.0, "loss": 1.0},
    ]
