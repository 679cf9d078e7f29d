"""Work that is cut to the memory of a device."""

from itertools import pairwise, product

import numpy as np
import pytest
from every_pool import classifier
from sklearn.base import clone
from sklearn.datasets import load_digits

torch = pytest.importorskip("torch")

from shareboost.backends.torch import TorchBackend  # noqa: E402
from shareboost.backends.torch import memory as memory_module  # noqa: E402
from shareboost.backends.torch.memory import Memory  # noqa: E402


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.fixture
def little(monkeypatch):
    """A function that leaves so many bytes of room for the chunks of any work."""
    return lambda n_bytes: monkeypatch.setattr(Memory, "room", lambda self: n_bytes)


class Work:
    """A task that runs out of memory on more than some items, and knows what it has done."""

    def __init__(self, most):
        self.most = most
        self.done, self.asked = [], []

    def __call__(self, some):
        self.asked.append(some)
        if some.stop - some.start > self.most:
            raise torch.OutOfMemoryError("no room for a tensor")
        self.done += range(some.start, some.stop)
        return some.stop


def test_chunks_are_all_of_the_work_in_order(device, little):
    for n, room in product([0, 1, 7, 100], [1, 10, 95, 10_000]):
        little(room)
        work = Work(most=n)
        results = Memory(torch.device(device)).chunks(n, 10, work)
        assert work.done == list(range(n))
        assert results == [some.stop for some in work.asked]
        assert all(some.stop - some.start <= max(1, room // 10) for some in work.asked)


def test_work_that_runs_out_of_memory_is_done_in_smaller_chunks(device, little):
    little(1_000_000)
    for most in (1, 2, 3, 13, 64, 99):
        work = Work(most)
        Memory(torch.device(device)).chunks(100, 1, work)
        assert work.done == list(range(100))
        failed = [some for some in work.asked if some.stop - some.start > most]
        assert failed[0] == slice(0, 100)
        sizes = [some.stop - some.start for some in failed]
        assert all(2 * b <= a for a, b in pairwise(sizes))
        assert all(some.start == 0 for some in failed)  # not one more after a size has worked


def test_a_single_item_that_does_not_fit_is_told_with_advice(device):
    work, backend = Work(most=0), TorchBackend(torch.device(device))
    with pytest.raises(MemoryError, match="fewer rows") as caught, backend.deterministic():
        backend.memory.chunks(5, 1234, work)
    for part in (device, "no room for a tensor"):
        assert part in str(caught.value)
    assert work.asked[-1] == slice(0, 1)


def test_other_errors_are_raised_as_they_are(device):
    def fail(some):
        raise RuntimeError("of another kind")

    with pytest.raises(RuntimeError, match="of another kind"):
        Memory(torch.device(device)).chunks(5, 1, fail)


def test_a_device_tells_what_is_free(device):
    memory = Memory(torch.device(device))
    if memory.device.type == "cpu":
        assert memory.free() == np.inf
        assert memory.room() == memory_module.PROCESSOR_BYTES
        return
    held = torch.empty(1 << 26, dtype=torch.uint8, device=device)
    before = memory.free()
    del held  # which torch keeps for reuse
    assert memory.free() >= before + (1 << 26)
    assert 0 < memory.room() <= memory_module.MOST_BYTES
    assert not memory.fits(1 << 60)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("columns", "gradient"),
        ("groups", "newton"),
        ("stumps", "gradient"),
        ("stumps, exact", "newton"),
        ("products", "newton"),
        ("pieces", "gradient"),
        ("pieces, paper", "newton"),
        ("templates", "newton"),
        ("templates, sizes", "gradient"),
        ("union", "newton"),
    ],
)
def test_little_memory_gives_the_same_atoms_and_predictions(name, rule, device, data, little):
    X, y = data
    X = X + np.random.default_rng(0).uniform(0.0, 2.0, size=X.shape)
    rows = torch.tensor(X, device=device)
    clf = classifier(2, name, rule=rule, device=device)
    whole = clone(clf).fit(X, y)
    scores = whole.decision_function(rows)
    little(50_000)
    pieces = clone(clf).fit(X, y)
    assert np.array_equal(pieces.selected_, whole.selected_)
    assert np.abs(pieces.path_.losses - whole.path_.losses).max() < 1e-5
    little(3_000)
    assert torch.allclose(whole.decision_function(rows), scores, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["stumps", "pieces", "templates", "union"])
def test_a_fit_that_runs_out_of_memory_goes_on_in_smaller_chunks(name, device, data, monkeypatch):
    X, y = data
    whole = classifier(2, name, device=device).fit(X, y)
    failures = []
    chunks = Memory.chunks

    def failing_on_many(self, n, bytes_each, task):
        def limited(some):
            if some.stop - some.start > 20:
                failures.append(some)
                raise torch.OutOfMemoryError("artificially out of memory")
            return task(some)

        return chunks(self, n, bytes_each, limited)

    monkeypatch.setattr(Memory, "chunks", failing_on_many)
    again = classifier(2, name, device=device).fit(X, y)
    assert failures
    assert np.array_equal(again.selected_, whole.selected_)
    assert np.abs(again.path_.losses - whole.path_.losses).max() < 1e-5


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("stumps", "newton"),
        ("stumps, exact", "gradient"),
        ("pieces", "newton"),
        ("pieces, paper", "gradient"),
        ("templates", "gradient"),
        ("templates, sizes", "newton"),
    ],
)
def test_what_does_not_fit_is_computed_anew_in_every_round(name, rule, device, data, monkeypatch):
    X, y = data
    kept = classifier(3, name, rule=rule, device=device).fit(X, y)
    asked = []
    monkeypatch.setattr(Memory, "fits", lambda self, *_, **__: asked.append(self) or False)
    monkeypatch.setattr(Memory, "room", lambda self: 100_000)
    anew = classifier(3, name, rule=rule, device=device).fit(X, y)
    assert asked
    assert np.array_equal(anew.selected_, kept.selected_)
    assert np.abs(anew.path_.losses - kept.path_.losses).max() < 1e-5


def test_a_fit_for_which_there_is_no_memory_says_so_and_leaves_the_last_one(
    device, data, monkeypatch
):
    X, y = data
    clf = classifier(2, "stumps", device=device).fit(X, y)
    before = clf.weights_

    chunks = Memory.chunks

    def fail(_):
        raise torch.OutOfMemoryError("artificially out of memory")

    def failing(self, n, bytes_each, task):
        return chunks(self, n, bytes_each, fail)

    monkeypatch.setattr(Memory, "chunks", failing)
    with pytest.raises(MemoryError, match="ran out of memory. .*fewer rows"):
        clf.set_params(n_features=3).fit(X, y)
    assert clf.weights_ is before


@pytest.mark.parametrize("method", ["product", "correlated"])
def test_a_round_for_which_there_is_no_memory_says_so(method, device, data, monkeypatch):
    def fail(*_):
        raise torch.OutOfMemoryError("artificially out of memory")

    monkeypatch.setattr(f"shareboost.backends.torch.backend.TorchBackend.{method}", fail)
    with pytest.raises(MemoryError, match="ran out of memory. .*fewer rows"):
        classifier(2, "stumps", device=device).fit(*data)
