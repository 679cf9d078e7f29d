"""Verdicts by intervals and paired tests."""

import pytest
from scipy.stats import chi2

from paper import Verdict
from paper.chance import Interval, Paired, at_most, difference, equal, of_seeds, wilson


def test_the_interval_is_that_of_wilsons_formula():
    z, p, n = 1.959964, 0.0047, 10_000
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5
    assert wilson(47, n) == pytest.approx((middle - half, middle + half), rel=1e-4)


def test_an_interval_that_holds_the_limit_tells_nothing():
    found = of_seeds([0.0051, 0.0055, 0.0052], 10_000)
    assert str(found) == "0.41% to 0.69%"
    assert at_most(found, 0.0047) == Verdict.INDISTINGUISHABLE
    assert at_most(found, 0.0069) == Verdict.INDISTINGUISHABLE
    assert at_most(found, 0.007) == Verdict.HOLDS
    assert at_most(found, 0.004) == Verdict.FAILS
    assert at_most(Interval(0.1, 0.2), 0.2) == Verdict.HOLDS


def test_rows_that_both_get_wrong_decide_nothing():
    assert Paired.of([1, 2, 3], [3, 4]) == (2, 1)
    assert Paired.of([5], [5]).p_value == 1.0


def test_a_paired_test_is_mcnemars():
    found = Paired(30, 60)
    assert found.p_value == pytest.approx(chi2.sf((abs(30 - 60) - 1) ** 2 / 90, 1), rel=0.1)
    assert found.better == Verdict.HOLDS
    assert Paired(60, 30).better == Verdict.FAILS
    assert Paired(5, 7).better == Verdict.INDISTINGUISHABLE
    assert str(Paired(5, 7)) == "5 rows wrong here alone and 7 there alone, p = 0.77"


def test_the_interval_of_a_difference_is_newcombes():
    """An example of Newcombe, Statistics in Medicine 17 (1998) 873: 56 of 70 and 48 of 80."""
    assert difference((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_an_error_equals_the_papers_to_two_decimals_or_within_its_interval():
    assert equal(wilson(267, 10_000), 0.0267, 0.0267) == Verdict.HOLDS
    assert equal(wilson(295, 10_000), 0.0267, 0.0295) == Verdict.INDISTINGUISHABLE
    assert equal(wilson(350, 10_000), 0.0267, 0.035) == Verdict.FAILS
