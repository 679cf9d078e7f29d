"""Templates learned by gradient steps: those that ShareBoost chose, and their weights, together.

A model of templates is a small network: a convolution, a mask, a maximum, a linear layer. So its
templates can follow the gradient of the loss too, and become candidates for ShareBoost again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shareboost import ShareBoostClassifier
from shareboost.datasets import deform

from .networks import descend, import_torch

Array = NDArray[Any]

LARGEST = 255.0  # what pixels are divided by, so that learning rates suit all weights


@dataclass(frozen=True)
class Lessons:
    """How templates are learned.

    Attributes
    ----------
    start : int
        Templates that ShareBoost chooses to begin with.
    epochs : int
        Passes over all images, each with a freshly deformed copy.
    rate, weights_rate : float
        Largest learning rates, of templates and of weights.
    dropped : float
        Share of the features that a step does without.
    batch : int
        Images of a step.
    deformation : dict
        Parameters of ``deform``.
    """

    start: int = 500
    epochs: int = 30
    rate: float = 4e-3
    weights_rate: float = 1e-2
    dropped: float = 0.2
    batch: int = 500
    deformation: dict[str, Any] = field(default_factory=dict)


class Learned(NamedTuple):
    """Templates, and which of them under which mask they were learned for.

    Attributes
    ----------
    templates : list of ndarray
        For ``Templates``, an array for each size.
    atoms : ndarray
        Those pairs as atoms of that pool, with as many masks as the model had.
    n_atoms : int
        All atoms of that pool.
    """

    templates: list[NDArray[np.float32]]
    atoms: NDArray[np.intp]
    n_atoms: int


def learn(
    clf: ShareBoostClassifier,
    X: Array,
    y: Array,
    lessons: Lessons,
    seed: int,
    device: str | None,
    prepare: Callable[[Array], Array] = lambda images: images,
) -> Learned:
    """Return a model's templates after lessons.

    Parameters
    ----------
    clf : ShareBoostClassifier
        Fitted, with a pool ``Templates`` that has room for all of its masks.
    X, y : arrays
        Images in rows, uint8, and their labels.
    lessons : Lessons
    seed : int
        Of the order of images and their deformations.
    device : str, optional
        None for the processor.
    prepare : callable, optional
        What is done to images, deformed ones too, before the model sees them.
    """
    torch = import_torch()
    net = Network.of(clf, device)
    optimiser = torch.optim.Adam(
        [
            {"params": net.templates, "lr": lessons.rate},
            {"params": [net.weights, net.intercepts], "lr": lessons.weights_rate},
        ]
    )
    labels = torch.as_tensor(np.tile(np.searchsorted(clf.classes_, y), 2), device=device)

    def with_copies(random: np.random.Generator) -> Any:
        copies = deform(X, 1, random, **lessons.deformation)
        return torch.as_tensor(prepare(np.vstack([X, copies])), device=device)

    def loss(images: Any, some: Any) -> Any:
        return torch.nn.functional.cross_entropy(net.scores(images, lessons.dropped), labels[some])

    with torch.random.fork_rng():
        torch.manual_seed(seed)  # of what is dropped
        descend(optimiser, loss, with_copies, lessons.epochs, seed, lessons.batch)
    found = [size.detach().cpu().numpy().transpose(0, 2, 3, 1).copy() for size in net.templates]
    pool: Any = clf.pool
    n_masks = pool.masks**2
    masks = clf.selected_[np.concatenate(net.places)] % n_masks
    return Learned(found, n_masks * np.arange(masks.size) + masks, n_masks * masks.size)


def features_of(clf: ShareBoostClassifier) -> Any:
    """Return the chosen templates with their masks, in the order of ``selected_``."""
    return clf.path_.at(clf.selected_.size).features


@dataclass
class Network:
    """A model of templates in torch: the same scores up to rounding, and gradients."""

    image_shape: tuple[int, int, int]
    places: list[list[int]]  # of the features of each size
    templates: list[Any]  # (n, channels, rows, columns) for each size
    masks: list[Any]  # (n, places down, places across) for each size
    weights: Any  # (k, features), those of one size after the other
    intercepts: Any  # (k,)

    @classmethod
    def of(cls, clf: ShareBoostClassifier, device: str | None) -> Network:
        """Return that of a fitted classifier."""
        torch = import_torch()

        def tensor(values: Array, learned: bool = True) -> Any:
            return torch.tensor(values, dtype=torch.float32, device=device, requires_grad=learned)

        features = features_of(clf)
        shapes = [template.shape for template in features.templates]
        sizes = [
            [place for place, shape in enumerate(shapes) if shape == size]
            for size in dict.fromkeys(shapes)
        ]
        masks = [np.outer(*pair) for pair in zip(features.down, features.across, strict=True)]
        return cls(
            features.image_shape,
            sizes,
            [
                tensor(np.stack([features.templates[p].transpose(2, 0, 1) for p in size]))
                for size in sizes
            ],
            [tensor(np.stack([masks[p] for p in size]), learned=False) for size in sizes],
            tensor(clf.weights_[:, np.concatenate(sizes)] * LARGEST),
            tensor(clf.intercept_),
        )

    def scores(self, images: Any, dropped: float = 0.0) -> Any:
        """Return the scores of images in rows, (n, k), with a share of the features left out."""
        torch = import_torch()
        planes = images.reshape(-1, *self.image_shape).permute(0, 3, 1, 2).float() / LARGEST
        found = []
        # A GPU convolves several times as fast in half as many digits.
        dtype = torch.bfloat16 if planes.is_cuda else torch.float32
        for templates, masks in zip(self.templates, self.masks, strict=True):
            responses = torch.nn.functional.conv2d(planes.to(dtype), templates.to(dtype))
            found.append((responses * masks.to(dtype)).flatten(2).amax(dim=2).float())
        features = torch.nn.functional.dropout(torch.cat(found, dim=1), dropped)
        return features @ self.weights.T + self.intercepts
