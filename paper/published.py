"""The paper's Algorithm 1 on data of full size."""

from __future__ import annotations

from typing import Any

from shareboost import ShareBoostClassifier

PUBLISHED = "ShareBoost, as published"  # its name in figures and tables
MOST_FEATURES = 60  # on large data: refits to the minimum take long
# A minimum lies far away, or nowhere, where rows are nearly separated.
MOST_STEPS = 2000
STEPS = f"refits to the minimum, of {MOST_STEPS:,} steps at most"


# What the tuned forms keep to unless a recipe says otherwise: the paper's rule and margin, and a
# small penalty.
TUNED: dict[str, Any] = {"rule": "gradient", "alpha": 3e-5, "margin": 1.0}


def published(n_features: int, **parameters: Any) -> ShareBoostClassifier:
    """Return ``as_published`` whose refits end after ``MOST_STEPS``."""
    return ShareBoostClassifier.as_published(n_features, max_iter=MOST_STEPS, **parameters)
