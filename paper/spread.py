"""Means and spreads over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation, estimated from a sample: 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def in_words(values: Sequence[float], form: str = ".2f", unit: str = "") -> str:
    """Return a mean and its spread, such as "1.61% ± 0.06 over 3 seeds (1.66, 1.55, 1.61)"."""
    mean = f"{np.mean(values):{form}}{unit}"
    if len(values) == 1:
        return f"{mean}, one seed"
    each = ", ".join(f"{value:{form}}" for value in values)
    return f"{mean} ± {spread(values):{form}} over {len(values)} seeds ({each})"
