"""Run times of predictors, one thread each."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Array = NDArray[Any]

BATCH = 100  # images of a timed batch
TIMED = 5  # batches


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS, OpenMP and torch, where it was imported, to one thread."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    with threadpool_limits(1):
        try:
            if torch is not None:
                torch.set_num_threads(1)
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)


def milliseconds(predict: Callable[[Array], Array], X: Array) -> float:
    """Return the run time of one image in one thread: the median over batches of ``BATCH``."""
    batches = [X[start : start + BATCH] for start in range(0, min(len(X), TIMED * BATCH), BATCH)]
    times = []
    with one_thread():
        predict(batches[0])  # what is done once is not an image's
        for some in batches:
            started = time.perf_counter()
            predict(some)
            times.append((time.perf_counter() - started) * 1000 / len(some))
    return float(np.median(times))
