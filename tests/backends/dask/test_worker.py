"""The rows of one block: an answer depends on the state that is asked for, and on nothing else."""

import pickle

import numpy as np
import pytest

from shareboost.backends.dask.worker import Point, State, asked, encoded
from shareboost.dataset import Sample
from shareboost.losses import LogisticLoss
from shareboost.pools import Columns
from shareboost.shard import Chosen, Shard

LOSS = LogisticLoss(1.0)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    return Sample(rng.normal(size=(5000, 6)), rng.integers(3, size=5000), np.ones(5000))


@pytest.fixture
def new(sample):
    pool = Columns().fit(sample.X)
    return lambda: encoded(3, True, None, pool, sample)


def state(*atoms, seed=0):
    chosen = tuple(Chosen(atom, np.array([0.1 * atom]), np.array([1.5])) for atom in atoms)
    W = np.random.default_rng(seed).normal(size=(3, 1 + len(atoms)))
    return State(chosen, Point(W, LOSS))


def answers(shard, at):
    n = 1 + len(at.chosen)
    return asked(at, [(Shard.correlate, 0, n)], shard), asked(at, [(Shard.products, 0, n)], shard)


def assert_same(found, wanted):
    for (one,), (other,) in zip(found, wanted, strict=True):
        assert np.array_equal(one, other)


def test_what_was_asked_before_changes_no_answer(new):
    wanted = answers(new(), state(2, 5, seed=3))
    shard = new()
    for earlier in (state(2), state(4, 5), state(2, 5, 0), state(2, 5), state()):
        answers(shard, earlier)
    assert_same(answers(shard, state(2, 5, seed=3)), wanted)


def test_a_copy_that_was_sent_amid_an_answer_answers_alike(new):
    shard = new()
    answers(shard, state(2, 0))
    buffers = []
    sent = pickle.dumps(shard, protocol=5, buffer_callback=buffers.append)
    answers(shard, state(3, 0))  # before the buffers are written
    copy = pickle.loads(sent, buffers=[bytes(buffer.raw()) for buffer in buffers])
    assert_same(answers(copy, state(2, 0)), answers(new(), state(2, 0)))
