import math

import pytest
from made_up_rows import bits

from paper import Verdict
from paper.both_examples import L1, L2, MIXED, SHARE
from paper.shared_bits import (
    MIXED_SCALED,
    SHARE_RAW,
    _argument,
    _fewest,
    _search,
    judge,
)


def verdicts(rows):
    return [claim.verdict for claim in judge(rows)]


def test_what_the_paper_claims_holds():
    assert verdicts(bits()) == [Verdict.HOLDS] * 6


@pytest.mark.parametrize(
    ("method", "features", "place", "expected"),
    [
        (L1, [4, 6], 0, Verdict.IN_PART),
        (L1, [3, 6], 0, Verdict.IN_PART),  # l2 still uses k
        (SHARE, [2, 64], 1, Verdict.IN_PART),
        (SHARE, [5, 64], 1, Verdict.FAILS),
        (SHARE, [None, None], 1, Verdict.FAILS),  # never all rows right
        (MIXED, [4, 6], 2, Verdict.IN_PART),
        (MIXED, [4, 70], 2, Verdict.FAILS),
    ],
)
def test_a_claim_holds_as_far_as_it_does(method, features, place, expected):
    found = verdicts(bits(**{method: features}))
    assert found[place] == expected
    assert found[:place] + found[place + 1 :] == [Verdict.HOLDS] * 5


def test_what_the_paper_says_of_its_weights_is_judged_by_the_losses_themselves():
    found = _argument(64)
    assert found["loss"] == pytest.approx(0.272, abs=1e-3)
    assert found["claimed"] == pytest.approx(0.056, abs=1e-3)
    assert found["loss"] < found["right"]
    assert found["loss_at_c"] > 0.1
    assert found["largest_ratio"] == pytest.approx(0.33, abs=0.01)
    rows = [row | found if row["example"] == "argument" else row for row in bits()]
    assert verdicts(rows)[3:] == [Verdict.FAILS] * 3


@pytest.mark.parametrize(
    ("method", "features"),
    [(SHARE, 5), (SHARE_RAW, 5), (L1, 32), (L2, 37), (MIXED, 5), (MIXED_SCALED, 5)],
)
def test_features_for_32_classes(method, features):
    """Section 6: log2(k) bits, or k indicators, or both."""
    found = _fewest(method, 32, None)
    assert found["features"] == features
    assert found["models"] > 0


def test_a_search_is_told_apart_by_its_settings():
    methods = (SHARE, SHARE_RAW, L1, L2, MIXED, MIXED_SCALED)
    assert len({repr(_search(method, 32)) for method in methods}) == 6
    assert _search(SHARE, 32)["n_features"] == 4 * math.log2(32)
