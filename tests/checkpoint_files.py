"""A small checkpoint, for the tests of its file."""

import math
import os
from contextlib import contextmanager

import numpy as np
import pytest

from shareboost.io.checkpoint import Checkpoint

IDENTITY = {"X": "aa", "y": "bb", "alpha": "cc"}
VALUES = {"losses": [0.1, math.inf], "round": 3}
ARRAYS = {"W": np.arange(12.0).reshape(3, 4), "atoms": np.array([5, 2])}


def save(path, identity=IDENTITY, values=VALUES, arrays=ARRAYS):
    checkpoint = Checkpoint(path, identity)
    checkpoint.load()
    checkpoint.save(values, arrays)
    return checkpoint


@contextmanager
def refused(path, message):
    """Expect a ValueError that names the path, and a file that stays as it was."""
    before, stamp = path.read_bytes(), path.stat()
    with pytest.raises(ValueError, match=message) as caught:
        yield
    assert f"checkpoint={str(path)!r}" in str(caught.value)
    assert path.read_bytes() == before
    assert path.stat().st_mtime_ns == stamp.st_mtime_ns
    assert os.listdir(path.parent) == [path.name]
