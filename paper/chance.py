"""What of a difference of errors may be chance: intervals, paired tests and verdicts by them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from shareboost.inspection.comparison import of_errors

from .experiment import Verdict

LEVEL = 0.05  # of tests


class Interval(NamedTuple):
    """The shares of errors that so many errors of so many rows allow."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.2%} to {self.high:.2%}"


def wilson(wrong: int, tested: int) -> Interval:
    """Return Wilson's 95% interval of a share of errors."""
    return Interval(*of_errors(wrong, tested))


def of_seeds(shares: Sequence[float], tested: int) -> Interval:
    """Return the interval of the mean error of models that were tested on the same rows."""
    return wilson(round(float(np.mean(shares)) * tested), tested)


def equal(interval: Interval, share: float, found: float) -> Verdict:
    """Return whether an error is the paper's, which is told to two decimals of a percent."""
    if abs(found - share) < 5e-5:
        return Verdict.HOLDS
    inside = interval.low <= share <= interval.high
    return Verdict.INDISTINGUISHABLE if inside else Verdict.FAILS


def at_most(interval: Interval, limit: float) -> Verdict:
    """Return whether an error is at most so much, beyond chance."""
    if interval.high <= limit:
        return Verdict.HOLDS
    return Verdict.FAILS if interval.low > limit else Verdict.INDISTINGUISHABLE


def difference(one: tuple[int, int], two: tuple[int, int]) -> Interval:
    """Return Newcombe's 95% interval of a share of errors less another.

    Each is a number of errors and of rows. Where both are of the same rows, and their errors by
    row were not kept, it is wider than that of a paired test.
    """
    (p, ours), (q, theirs) = ((wrong / n, wilson(wrong, n)) for wrong, n in (one, two))
    low = np.hypot(p - ours.low, theirs.high - q)
    high = np.hypot(ours.high - p, q - theirs.low)
    return Interval(p - q - float(low), p - q + float(high))


class Paired(NamedTuple):
    """Two methods on the same rows: those that one alone gets wrong, and McNemar's exact test."""

    ours: int
    theirs: int

    @classmethod
    def of(cls, ours: Collection[int], theirs: Collection[int]) -> Paired:
        """Compare the rows that either gets wrong."""
        mine, others = set(ours), set(theirs)
        return cls(len(mine - others), len(others - mine))

    @property
    def p_value(self) -> float:
        """The chance of a difference as large where both are as good."""
        n = self.ours + self.theirs
        return float(binomtest(self.ours, n).pvalue) if n else 1.0

    @property
    def better(self) -> Verdict:
        """Whether the first method makes fewer errors, beyond chance."""
        if self.p_value > LEVEL:
            return Verdict.INDISTINGUISHABLE
        return Verdict.HOLDS if self.ours < self.theirs else Verdict.FAILS

    def __str__(self) -> str:
        alone = f"{self.ours} rows wrong here alone and {self.theirs} there alone"
        return f"{alone}, p = {self.p_value:.2g}"
