"""What every model of a path costs to run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

COSTS = ("multiply_adds", "flash", "ram")


def running_costs(clf: Any) -> dict[str, NDArray[np.int64]] | None:
    """Return the multiply-adds, and the bytes of flash and RAM, of every model of a path.

    None for features of a pool that has no exported form, whose costs nobody knows.
    """
    from . import cost_report
    from .plan import plan_of

    try:
        plan_of(clf)
    except TypeError:  # another's pool
        return None
    report = cost_report(clf)
    places = np.searchsorted(report.n_features, clf.path_.n_features)
    return {name: getattr(report, name)[places] for name in COSTS}
