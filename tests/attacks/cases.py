"""Seeded random cases: a fixed few in the ordinary suite, new ones for a time given by `make fuzz`.

SHAREBOOST_FUZZ_SECONDS sets how long each fuzz test draws new cases.
"""

import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


def pick(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    """Return one of the values."""
    return values[rng.integers(len(values))]


def check_cases(name: str, ordinary: int, check: Callable[[np.random.Generator], Any]) -> list[Any]:
    """Call ``check(rng)`` for many random generators and return what the calls returned.

    An exception gets a note with the seed, so ``check(np.random.default_rng(seed))`` repeats it.

    Parameters
    ----------
    name : str
        The name of the fuzz test. Its ordinary cases depend on this name only.
    ordinary : int
        The number of cases where SHAREBOOST_FUZZ_SECONDS is not set.
    check : callable
        Builds one case from a random generator and raises if it breaks a promise.
    """
    outcomes = []
    for seed in _seeds(name, ordinary):
        try:
            outcomes.append(check(np.random.default_rng(seed)))
        except Exception as error:
            error.add_note(f"{name}: this case has the seed {seed}")
            raise
    return outcomes


def _seeds(name: str, ordinary: int) -> Iterator[Any]:
    seconds = os.environ.get("SHAREBOOST_FUZZ_SECONDS")
    if seconds is None:
        for number in range(ordinary):
            yield [zlib.crc32(name.encode()), number]
        return
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        yield np.random.SeedSequence().entropy
