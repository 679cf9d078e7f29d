"""Rows on a cluster that are held out of training."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import worker
from .executor import Fleet, Graph

if TYPE_CHECKING:
    from .dataset import SpreadSample


class SpreadHeldOut:
    """Held-out rows on a cluster, in blocks, as ``HeldOut``."""

    def __init__(self, sample: SpreadSample, rows: Any):
        self.fleet: Fleet = rows.crew.fleet  # which releases all at the end of the run
        graph, samples = sample.samples()
        make = partial(worker.held_out, sample.device)
        given = [(rows.crew.pool_key, key) for key in samples]
        tasks, self._keys = self.fleet.tasks("held-out", [make] * len(given), given)
        self._graph: Graph = graph | tasks
        if self.fleet.has_room(sample.n_bytes):
            self._keys, self._graph = self.fleet.held(self._graph, self._keys), {}

    def score(self, rows: Any, W: NDArray[np.float64]) -> float:
        """Return the weighted share of right answers."""
        count = partial(worker.right, rows.chosen, rows.intercept, W)
        given = [(key,) for key in self._keys]
        tasks, keys = self.fleet.tasks("score", [count] * len(given), given)
        right, total = self.fleet.merged(self._graph | tasks, keys, worker.added)
        return float(right / total)
