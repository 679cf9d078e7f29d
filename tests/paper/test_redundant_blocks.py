import math

import numpy as np
import pytest
from made_up_rows import blocks

from paper import Verdict
from paper.both_examples import L1, L2, MIXED, SHARE
from paper.redundant_blocks import (
    BITS,
    CLASSES,
    EVEN,
    FIXED,
    GROWING,
    ZEROED,
    _fewest,
    drawn_rows,
    even_rows,
    judge,
    one_block_loss,
)


def of(rows, method, features, size=4):
    """Change what a method needs on one kind of rows; None stands for any kind."""

    def change(row):
        asked = (row["rows"] if rows is None else rows, method, size)
        return features(row) if (row["rows"], row["method"], row["size"]) == asked else None

    return change


def verdicts(rows):
    return [claim.verdict for claim in judge(rows)]


def test_what_the_paper_claims_holds():
    assert verdicts(blocks()) == [Verdict.HOLDS] * 2


@pytest.mark.parametrize(
    ("kind", "features", "expected"),
    [
        (FIXED, lambda row: 5, Verdict.IN_PART),  # one more than for one block
        (FIXED, lambda row: 4 + row["seed"], Verdict.HOLDS),  # 4.5, of spread 0.7
        (FIXED, lambda row: 6 + row["seed"], Verdict.IN_PART),
        (FIXED, lambda row: math.nan, Verdict.IN_PART),  # never enough
        (None, lambda row: 5, Verdict.FAILS),
    ],
)
def test_sharing_needs_no_more_than_for_one_block_but_for_the_spread(kind, features, expected):
    assert verdicts(blocks(of(kind, SHARE, features))) == [expected, Verdict.HOLDS]


def test_the_spread_for_one_block_counts_too():
    def change(row):
        if row["rows"] == FIXED and row["method"] == SHARE:
            return 5 if row["size"] == 4 else 4 + row["seed"]
        return None

    assert verdicts(blocks(change)) == [Verdict.HOLDS] * 2


def test_the_mixed_norm_spreads_over_all_blocks_as_far_as_it_does():
    few = of(FIXED, MIXED, lambda row: 6)  # of 16
    half = of(EVEN, MIXED, lambda row: 8)
    assert verdicts(blocks(few)) == [Verdict.HOLDS, Verdict.IN_PART]
    assert verdicts(blocks(half)) == [Verdict.HOLDS, Verdict.IN_PART]
    both = blocks(lambda row: few(row) or half(row))
    assert verdicts(both) == [Verdict.HOLDS, Verdict.FAILS]


def test_the_mean_and_the_spread_of_the_seeds_are_told():
    claims = judge(blocks(of(GROWING, MIXED, lambda row: 12 + 2 * row["seed"])))
    assert f"{GROWING}: 4, 13 ± 0, 1.4" in claims[1].measured
    assert f"{EVEN}: 4, 4; {GROWING}: 4, 4 ± 0, 0" in claims[0].measured


@pytest.mark.parametrize("s", [1, 3])
def test_even_rows_are_what_drawn_rows_are_in_the_mean(s):
    X, y, weight = even_rows(s)
    assert weight.sum() == pytest.approx(CLASSES)
    lost = (X.reshape(len(X), s, BITS) == 0).all(axis=2)  # (rows, blocks)
    assert weight @ lost / weight.sum() == pytest.approx(np.full(s, ZEROED / s))
    assert len(np.unique(np.column_stack([X, y]), axis=0)) == len(X)


@pytest.mark.parametrize("s", [1, 8])
def test_drawn_rows_keep_their_number(s):
    X, y, weight = drawn_rows(s, GROWING, seed=0)
    assert weight.sum() == 128 * s
    assert weight @ (X == 0).any(axis=1) == round(ZEROED * 128 * s)
    assert (np.bincount(y, weight) == 8 * s).all()
    assert (weight > 1).any() == (s > 1)


def test_one_block_cannot_do_better():
    """Its weights may grow without end: what is left is the loss of rows without the block."""
    X, y, weight = even_rows(2)
    one = X[:, :BITS]
    W = 50.0 * one[np.argsort(y[:CLASSES])][:CLASSES]
    scores = one @ W.T
    margins = 1.0 - scores[np.arange(len(y)), y][:, None] + scores
    margins[np.arange(len(y)), y] = 0.0
    losses = np.log(np.exp(margins).sum(axis=1))
    assert np.average(losses, weights=weight) == pytest.approx(one_block_loss(2))


@pytest.mark.parametrize(("method", "features"), [(SHARE, 4), (MIXED, 12), (L1, 12), (L2, 12)])
def test_features_for_3_fewest(method, features):
    found = _fewest(method, 3, EVEN, None, None)
    assert found["features"] == features
    assert found["target"] == pytest.approx(2 * 0.1 / 3 * math.log(1 + 15 * math.e))


def test_drawn_rows_of_one_block():
    assert _fewest(SHARE, 1, GROWING, 0, None)["features"] == BITS
