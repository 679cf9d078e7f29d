import math

import numpy as np
import pytest

from shareboost.experiments import Verdict
from shareboost.experiments.examples import (
    BITS,
    BLOCK_CLASSES,
    EVEN,
    FIXED,
    GROWING,
    L1,
    L2,
    MIXED,
    MIXED_SCALED,
    SHARE,
    SHARE_RAW,
    ZEROED,
    _bits,
    _blocks,
    _drawn_rows,
    draw,
    even_rows,
    judge,
    one_block_loss,
)

K, S = (4, 64), (1, 4)


def made_up(**changed):
    """Rows as the paper claims them, but for the methods of the bits that are given."""
    bits = {
        **{SHARE: [2, 6], SHARE_RAW: [3, 6], L1: [4, 64], L2: [6, 70]},
        **{MIXED: [2, 6], MIXED_SCALED: [2, 6]},
        **changed,
    }
    rows = [
        {"example": "bits", "size": k, "method": method, "features": n}
        for method, ns in bits.items()
        for k, n in zip(K, ns, strict=True)
    ]
    for kind, seeds in ((EVEN, [None]), (GROWING, [0, 1]), (FIXED, [0, 1])):
        for method in (SHARE, MIXED, L1, L2) if kind == EVEN else (SHARE, MIXED):
            for s in S:
                n = BITS if method == SHARE else BITS * s
                about = {"example": "blocks", "size": s, "method": method, "rows": kind}
                rows += [{**about, "seed": seed, "features": n} for seed in seeds]
    return rows


def verdicts(rows):
    return [claim.verdict for claim in judge(rows)]


def test_what_the_paper_claims_holds():
    assert verdicts(made_up()) == [Verdict.HOLDS] * 5


@pytest.mark.parametrize(
    ("method", "features", "place", "expected"),
    [
        (L1, [4, 6], 0, Verdict.IN_PART),
        (SHARE, [2, 64], 1, Verdict.IN_PART),
        (SHARE, [5, 64], 1, Verdict.FAILS),
        (SHARE, [None, None], 1, Verdict.FAILS),  # never all rows right
        (MIXED, [4, 6], 2, Verdict.IN_PART),
        (MIXED, [4, 70], 2, Verdict.FAILS),
    ],
)
def test_a_claim_about_the_bits_holds_as_far_as_it_does(method, features, place, expected):
    found = verdicts(made_up(**{method: features}))
    assert found[place] == expected
    assert found[:place] + found[place + 1 :] == [Verdict.HOLDS] * 4


def test_a_claim_about_the_blocks_holds_as_far_as_it_does():
    rows = made_up()
    for row in rows:
        if row.get("rows") == FIXED and row["method"] == MIXED and row["size"] == 4:
            row["features"] = 6  # of 16
    assert verdicts(rows)[3:] == [Verdict.HOLDS, Verdict.IN_PART]
    for row in rows:
        if row.get("rows") == EVEN and row["method"] == MIXED and row["size"] == 4:
            row["features"] = 8
    assert verdicts(rows)[4] == Verdict.FAILS
    for row in rows:
        if row["example"] == "blocks" and row["method"] == SHARE:
            row["features"] = 17
    assert verdicts(rows)[3] == Verdict.FAILS


def test_the_mean_and_the_spread_of_the_seeds_are_told():
    rows = made_up()
    for row in rows:
        if row.get("rows") == GROWING and row["method"] == MIXED and row["size"] == 4:
            row["features"] = 12 + 2 * row["seed"]
    assert f"{GROWING}: 4, 13 ± 0, 1" in judge(rows)[4].measured


def test_the_figure_has_both_examples_and_their_guides():
    figure = draw(None, made_up(**{MIXED: [None, 6]}))["examples"]
    left, right = figure.axes
    curves = {line.get_label(): line.get_ydata() for line in left.lines}
    assert list(curves) == [L1, L2, MIXED, SHARE, "log2(k)", "k"]
    assert list(curves[SHARE]) == list(curves["log2(k)"]) == [2, 6]
    assert np.isnan(curves[MIXED][0])
    assert left.get_xscale() == left.get_yscale() == right.get_yscale() == "log"
    named = right.get_legend_handles_labels()[1]
    assert {L1, SHARE, f"{MIXED}, {GROWING}", f"{MIXED}, {FIXED}"} < set(named)


def test_a_quick_run_may_lack_a_kind_of_rows():
    rows = [row for row in made_up() if row.get("rows") != FIXED]
    assert verdicts(rows) == [Verdict.HOLDS] * 5
    assert len(draw(None, rows)["examples"].axes) == 2


@pytest.mark.parametrize("s", [1, 3])
def test_even_rows_are_what_drawn_rows_are_in_the_mean(s):
    X, y, weight = even_rows(s)
    assert weight.sum() == pytest.approx(BLOCK_CLASSES)
    lost = (X.reshape(len(X), s, BITS) == 0).all(axis=2)  # (rows, blocks)
    assert weight @ lost / weight.sum() == pytest.approx(np.full(s, ZEROED / s))
    assert len(np.unique(np.column_stack([X, y]), axis=0)) == len(X)


@pytest.mark.parametrize("s", [1, 8])
def test_drawn_rows_keep_their_number(s):
    X, y, weight = _drawn_rows(s, GROWING, seed=0)
    assert weight.sum() == 128 * s
    assert weight @ (X == 0).any(axis=1) == round(ZEROED * 128 * s)
    assert (np.bincount(y, weight) == 8 * s).all()
    assert (weight > 1).any() == (s > 1)


def test_one_block_cannot_do_better():
    """Its weights may grow without end: what is left is the loss of rows without the block."""
    X, y, weight = even_rows(2)
    one = X[:, :BITS]
    W = 50.0 * one[np.argsort(y[:BLOCK_CLASSES])][:BLOCK_CLASSES]
    scores = one @ W.T
    margins = 1.0 - scores[np.arange(len(y)), y][:, None] + scores
    margins[np.arange(len(y)), y] = 0.0
    losses = np.log(np.exp(margins).sum(axis=1))
    assert np.average(losses, weights=weight) == pytest.approx(one_block_loss(2))


@pytest.mark.parametrize(
    ("method", "features"),
    [(SHARE, 5), (SHARE_RAW, 5), (L1, 32), (L2, 37), (MIXED, 5), (MIXED_SCALED, 5)],
)
def test_features_for_32_classes(method, features):
    """Section 6: log2(k) bits, or k indicators, or both."""
    found = _bits(method, 32, None)
    assert found["features"] == features
    assert found["exact"]
    assert found["models"] > 0


@pytest.mark.parametrize(("method", "features"), [(SHARE, 4), (MIXED, 12), (L1, 12), (L2, 12)])
def test_features_for_3_blocks(method, features):
    found = _blocks(method, 3, EVEN, None, None)
    assert found["features"] == features
    assert found["target"] == pytest.approx(2 * 0.1 / 3 * math.log(1 + 15 * math.e))


def test_drawn_rows_of_one_block():
    assert _blocks(SHARE, 1, GROWING, 0, None)["features"] == BITS
