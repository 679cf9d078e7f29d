"""95% intervals."""

from __future__ import annotations

import math

NORMAL_QUANTILE = 1.959963984540054  # two-sided, 95%


def of_errors(wrong: int, tested: int) -> tuple[float, float]:
    """Return the interval of a share of errors, by Wilson's score."""
    z2, share = NORMAL_QUANTILE**2, wrong / tested
    middle = (share + z2 / (2 * tested)) / (1 + z2 / tested)
    spread = math.sqrt(share * (1 - share) / tested + z2 / (4 * tested**2))
    reach = NORMAL_QUANTILE / (1 + z2 / tested) * spread
    return max(0.0, middle - reach), min(1.0, middle + reach)
