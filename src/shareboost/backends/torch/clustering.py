"""Lloyd's steps of k-means on a torch device."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...progress import track
from .memory import Memory


def lloyd(
    points: Tensor,
    first: NDArray[np.intp],
    n_steps: int,
    what: str,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float32]:
    """Return the centres after some steps from those of the points, (n, p), as NumPy's.

    As scikit-learn's k-means: distances about the mean of all points, and a centre that has
    lost its points goes to the point that is farthest from its own.
    """
    mean = points.mean(dim=0)
    points = points - mean
    own = torch.ones(len(points), device=points.device, dtype=torch.float64)
    if weight is not None:
        own = torch.as_tensor(weight, device=points.device)
    centres = points[torch.as_tensor(first, device=points.device)]
    memory = Memory(points.device)
    before: Tensor | None = None
    for _ in track(range(n_steps), what, n_steps):
        labels = _nearest(points, centres, memory)
        if before is not None and torch.equal(labels, before):
            break
        centres = _means(points, own, labels, centres)
        before = labels
    return (centres + mean).cpu().numpy()


def _nearest(points: Tensor, centres: Tensor, memory: Memory) -> Tensor:
    """Return the number of the nearest centre of each point, the first of equals."""
    labels = torch.empty(len(points), dtype=torch.int64, device=points.device)
    squares = centres.square().sum(dim=1)

    def write(some: slice) -> None:
        apart = torch.addmm(squares, points[some], centres.T, alpha=-2.0)
        labels[some] = apart.argmin(dim=1)

    memory.chunks(len(points), 8 * len(centres), write, "the distances of points to centres")
    return labels


def _means(points: Tensor, weight: Tensor, labels: Tensor, centres: Tensor) -> Tensor:
    """Return the mean of the points of each label; of a label without points another point.

    Sums are taken over points in the order of their labels, so they are always the same.
    """
    n_centres = len(centres)
    order = torch.argsort(labels, stable=True)
    counts = torch.bincount(labels, minlength=n_centres)
    weighted = torch.cat([points.double() * weight[:, None], weight[:, None]], dim=1)[order]
    sums = torch.segment_reduce(weighted, "sum", lengths=counts, unsafe=True, initial=0.0)
    empty = torch.nonzero(sums[:, -1] == 0.0)[:, 0]
    if len(empty):
        distances = (points - centres[labels]).square().sum(dim=1)
        far = torch.topk(distances, len(empty)).indices
        if float(distances[far[0]]) > 0.0:
            for number, point in zip(empty.tolist(), far.tolist(), strict=True):
                moved = torch.cat([points[point].double(), weight.new_ones(1)]) * weight[point]
                sums[labels[point]] -= moved
                sums[number] = moved
    held = sums[:, -1:] > 0.0
    means = sums[:, :-1] / torch.where(held, sums[:, -1:], 1.0)
    return torch.where(held, means, centres.double()).to(points.dtype)
