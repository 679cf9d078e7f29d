"""Small checkpoints, for the tests of their file."""

import base64
import json
import os
import zlib
from contextlib import contextmanager

import numpy as np
import pytest

from shareboost.io.checkpoint import FORMAT, Checkpoint
from shareboost.io.text import first_line
from shareboost.path import Path, Round
from shareboost.pools import Columns
from shareboost.solvers import Status

IDENTITY = {"X": "aa", "y": "bb", "alpha": "cc"}
K = 3
POOL = Columns().fit(np.random.default_rng(0).random((20, 8)))


def run(n_rounds, seed=0):
    """The path of a run of columns after some rounds, with numbers of every sort."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(8)[:n_rounds]

    def round_(t, plain=None):
        status = Status(
            *rng.normal(size=2).tolist(),
            3,
            *rng.exponential(size=2).tolist(),
            "Raise max_iter.",
            1e-3,
        )
        return Round(
            *(int(ids[t - 1]) if t else -1, float(rng.normal()) if t else np.nan),
            rng.normal(size=(K, 1 + t)),
            *(status, rng.random(), tuple(ids[:t].tolist())),
            *(((1, 7), (7, 1)) if t == 2 else (), plain, t == 3, float(t)),
        )

    rounds = [round_(t, round_(t) if t > 1 else None) for t in range(1, n_rounds + 1)]
    centers, scales = rng.normal(size=n_rounds), rng.exponential(size=n_rounds)
    return Path(POOL.features(ids), True, round_(0), centers, scales, rounds, n_atoms=8)


def save(path, identity=IDENTITY, n_rounds=3):
    checkpoint = Checkpoint(path, identity)
    checkpoint.save(run(n_rounds))
    return checkpoint


def load(path, identity=IDENTITY, resolved=None):
    return Checkpoint(path, identity).path(POOL, K, resolved or {})


def document_in(path):
    """The JSON of a checkpoint without its first line."""
    document = json.loads(path.read_bytes())
    return {key: document[key] for key in document.keys() - {"format", "version", "crc32"}}


def n_rounds_in(path):
    """How many rounds a checkpoint holds."""
    rounds = document_in(path)["path"]["rounds"]
    return rounds["atom"]["shape"][0] - 1 - base64.b64decode(rounds["has_plain"]["base64"]).count(1)


def file_of(document):
    """A checkpoint of a document, whatever it holds, with the right checksum."""
    rest = json.dumps(document)[1:].encode()
    return first_line(FORMAT, zlib.crc32(rest)) + rest


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
