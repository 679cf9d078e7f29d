import builtins
from itertools import pairwise

import numpy as np
import pytest

from paper import networks


@pytest.fixture(autouse=True)
def one_thread():
    """These nets are small: threads of torch would wait for each other more than work."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tiny():
    """A recipe that learns within seconds, and images a net can tell apart: bars."""
    import torch

    random = np.random.default_rng(0)
    y = random.integers(4, size=300)
    X = np.zeros((300, 28, 28), dtype=np.uint8)
    for image, label in zip(X, y, strict=True):
        band = slice(9, 12) if label % 2 else slice(16, 19)
        if label < 2:
            image[band, 4:24] = 250
        else:
            image[4:24, band] = 250

    def build():
        return torch.nn.Sequential(
            torch.nn.Linear(784, 30), torch.nn.ReLU(), torch.nn.Linear(30, 10)
        )

    return networks.Recipe("tiny", build, 1e-2, 3, 2), X.reshape(300, -1), y


def test_a_net_learns(tiny):
    recipe, X, y = tiny
    net = networks.train(recipe, X, y, epochs=15)
    assert np.mean(networks.predict(net, X) == y) > 0.9


def test_the_seed_decides_all(tiny):
    recipe, X, y = tiny
    nets = [networks.train(recipe, X, y, epochs=1, seed=seed) for seed in (0, 0, 1)]
    scores = [networks.scores_of(net, X) for net in nets]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.allclose(scores[0], scores[2])


def test_training_leaves_torchs_own_random_numbers(tiny):
    import torch

    recipe, X, y = tiny
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    networks.train(recipe, X[:60], y[:60], epochs=1)
    assert torch.equal(torch.rand(3), expected)


def test_multiply_adds_of_the_nets():
    widths = networks.PERCEPTRON
    dense = sum(a * b for a, b in pairwise(widths))
    assert networks.multiply_adds(networks.perceptron()) == dense
    assert dense == pytest.approx(7.6e6, rel=0.01)  # the table's
    convolutions = 28**2 * 9 * 16 + 14**2 * 9 * 16 * 32 + 7**2 * 9 * 32 * 64
    dense = 576 * 128 + 128 * 10
    assert networks.multiply_adds(networks.convolutional()) == convolutions + dense


def test_scores_do_not_depend_on_other_images():
    net = networks.convolutional()
    X = np.random.default_rng(0).integers(256, size=(1003, 784)).astype(np.uint8)
    scores = networks.scores_of(net, X)
    assert scores.shape == (1003, 10)
    np.testing.assert_allclose(networks.scores_of(net, X[1001:]), scores[1001:], atol=1e-5)


def test_the_rate_rises_then_falls_to_zero():
    assert networks.rate_at(0.0) == 0.0
    assert networks.rate_at(0.1) == pytest.approx(1.0)
    assert networks.rate_at(0.55) == pytest.approx(0.5)
    assert networks.rate_at(1.0) == pytest.approx(0.0)


def test_epochs_depend_on_the_device():
    recipe = networks.MULTILAYER
    assert recipe.epochs("cuda:0") == recipe.epochs("cuda") == recipe.epochs_on_gpu
    assert recipe.epochs(None) == recipe.epochs("cpu") == recipe.epochs_on_cpu


def test_a_missing_torch_is_named(monkeypatch):
    imports = builtins.__import__

    def without_torch(name, *others):
        if name == "torch":
            raise ImportError("No module named 'torch'")
        return imports(name, *others)

    monkeypatch.setattr(builtins, "__import__", without_torch)
    with pytest.raises(ImportError, match=r"pip install 'shareboost\[paper\]'"):
        networks.perceptron()
