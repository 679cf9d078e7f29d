"""Neural networks on MNIST, rivals of the paper's table 1: a perceptron and a convolutional net."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shareboost.datasets import deform

Array = NDArray[Any]

SIDE = 28
# The table's net has 7.6 million connections; these are 7.56 million.
PERCEPTRON = (SIDE * SIDE, 2200, 1600, 1100, 500, 10)
BATCH = 250
_WARM_UP = 0.1  # of all steps


class Recipe(NamedTuple):
    """How a network is built and trained; nothing of it was chosen on test images."""

    name: str
    build: Callable[[], Any]
    rate: float  # the largest learning rate of Adam
    epochs_on_gpu: int
    epochs_on_cpu: int  # some minutes on two cores

    def epochs(self, device: str | None) -> int:
        """Return for how many epochs to train there."""
        on_gpu = device is not None and device.startswith("cuda")
        return self.epochs_on_gpu if on_gpu else self.epochs_on_cpu

    def settings(self, device: str | None) -> tuple[str, float, int]:
        """Return what a trained network depends on."""
        return self.name, self.rate, self.epochs(device)


def import_torch() -> Any:
    """Return torch, or say how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "The networks of the MNIST experiment need PyTorch: pip install 'shareboost[paper]'."
        ) from error
    return torch


def perceptron() -> Any:
    """Return a multilayer perceptron on rows of pixels, with the widths ``PERCEPTRON``."""
    nn = import_torch().nn
    layers: list[Any] = []
    for width, following in pairwise(PERCEPTRON):
        layers += [nn.Linear(width, following), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def convolutional() -> Any:
    """Return a net of three convolutions and two dense layers on rows of pixels."""
    nn = import_torch().nn
    layers: list[Any] = [nn.Unflatten(1, (1, SIDE, SIDE))]
    for channels, following in ((1, 16), (16, 32), (32, 64)):
        convolution = nn.Conv2d(channels, following, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(following), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(64 * 3 * 3, 128), nn.ReLU(), nn.Linear(128, 10)
    )


MULTILAYER = Recipe("Neural net, 7.6 million connections", perceptron, 1e-3, 300, 18)
CONVOLUTIONAL = Recipe("Neural net, convolutional", convolutional, 3e-3, 300, 20)


def multiply_adds(net: Any) -> int:
    """Return how many multiply-adds one image takes, those of dense and convolution layers.

    Normalisation is left out: after training it is a factor of the weights before it.
    """
    torch = import_torch()
    counted: list[int] = []

    def count(layer: Any, inputs: Any, output: Any) -> None:
        # Every weight is used once for each place of the output.
        places = math.prod(output.shape[2:])
        counted.append(layer.weight.numel() * places)

    kinds = (torch.nn.Linear, torch.nn.Conv2d)
    hooks = [layer.register_forward_hook(count) for layer in net.modules() if type(layer) in kinds]
    scores_of(net, np.zeros((1, SIDE * SIDE), dtype=np.uint8))
    for hook in hooks:
        hook.remove()
    return sum(counted)


def train(
    recipe: Recipe, X: Array, y: Array, epochs: int, device: str | None = None, seed: int = 0
) -> Any:
    """Return a network, trained on freshly deformed images in every epoch.

    The cross-entropy falls by Adam. The last weights are the result: nothing is held out,
    nothing looked at.

    Parameters
    ----------
    recipe : Recipe
    X : ndarray of shape (n, 784), uint8
    y : ndarray of shape (n,)
    epochs : int
    device : str, optional
        Of torch; its processor by default.
    seed : int, default=0
        Of the first weights, the order of images and their deformations.

    Returns
    -------
    torch.nn.Module
        On the processor, ready to predict.
    """
    torch = import_torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = recipe.build()
    device = device or "cpu"
    net.to(device).train()
    labels = torch.as_tensor(y.astype(np.int64), device=device)

    def deformed(random: np.random.Generator) -> Any:
        return torch.as_tensor(deform(X, 1, random), device=device)

    def loss(images: Any, some: Any) -> Any:
        return torch.nn.functional.cross_entropy(net(images.float() / 255), labels[some])

    descend(torch.optim.Adam(net.parameters(), lr=recipe.rate), loss, deformed, epochs, seed)
    return net.to("cpu").eval()


def descend(
    optimiser: Any,
    loss: Callable[[Any, Any], Any],
    images_of: Callable[[np.random.Generator], Any],
    epochs: int,
    seed: int,
    batch: int = BATCH,
) -> None:
    """Follow the gradient with steps that grow in the first tenth and shrink as a cosine after it.

    Parameters
    ----------
    optimiser : torch.optim.Optimizer
        Its learning rates are the largest.
    loss : callable
        Of some images and of their places among all.
    images_of : callable
        Returns the images of an epoch; the generator is the epoch's. It is called in a thread
        of its own, an epoch ahead.
    epochs, seed : int
    batch : int, default=250
        Images of a step.
    """
    torch = import_torch()
    rates = [group["lr"] for group in optimiser.param_groups]

    def drawn(epoch: int) -> tuple[Any, Any]:
        random = np.random.default_rng((seed, epoch))  # another's epochs draw otherwise
        images = images_of(random)
        return images, torch.as_tensor(random.permutation(len(images)), device=images.device)

    for epoch, (images, order) in enumerate(_made_ahead(drawn, epochs)):
        batches = order.split(batch)
        for step, some in enumerate(batches):
            if len(some) == 1:  # a single image has no variance to normalise by
                continue
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * rate_at((epoch + step / len(batches)) / epochs)
            optimiser.zero_grad()
            loss(images[some], some).backward()
            optimiser.step()


def _made_ahead(make: Callable[[int], Any], n: int) -> Iterator[Any]:
    """Yield ``make(0)`` to ``make(n - 1)``, each made in a thread while the last is in use."""
    with ThreadPoolExecutor(1) as thread:
        made: deque[Any] = deque()
        for number in range(n + 1):
            if number < n:
                made.append(thread.submit(make, number))
            if number > 0:
                yield made.popleft().result()


def rate_at(progress: float) -> float:
    """Return the learning rate at a share of all steps, as a share of the largest."""
    if progress < _WARM_UP:
        return progress / _WARM_UP
    return 0.5 * (1.0 + math.cos(math.pi * (progress - _WARM_UP) / (1.0 - _WARM_UP)))


def scores_of(net: Any, X: Array) -> Array:
    """Return the scores of all classes for rows of pixels, (n, 10)."""
    torch = import_torch()
    net.eval()
    with torch.inference_mode():
        blocks = [net(torch.as_tensor(some).float() / 255).numpy() for some in _blocks(X)]
    return np.concatenate(blocks)


def predict(net: Any, X: Array) -> Array:
    """Return the digits of rows of pixels, (n,)."""
    return scores_of(net, X).argmax(axis=1)


def _blocks(X: Array, size: int = 1000) -> list[Array]:
    """Return the rows in blocks, for memory."""
    return [X[start : start + size] for start in range(0, len(X), size)]
