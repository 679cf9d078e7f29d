"""What the kernels of NumPy compute, of tensors: by Triton where it runs, else by torch."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...progress import track
from .memory import Memory

# Of devices that Triton compiles all kernels for.
LEAST_CAPABILITY = (8, 0)
# Above, the scores of an example are too many for one kernel.
MOST_CLASSES = 256


@cache
def fused(device: torch.device) -> Any:
    """Return the module of Triton's kernels where they run, on CUDA with Triton, else None."""
    if device.type != "cuda" or find_spec("triton") is None:
        return None
    modern = torch.cuda.get_device_capability(device) >= LEAST_CAPABILITY
    return import_module(f"{__package__}.triton_kernels") if modern else None


def value_and_residual(scores: Tensor, y: Tensor, weight: Tensor, margin: float) -> Tensor:
    """Return the loss of ``LogisticLoss``; scores, (k, n), are overwritten with the residual."""
    if len(scores) <= MOST_CLASSES and (kernels := fused(scores.device)) is not None:
        return kernels.softmax_residual(scores, y, weight, margin)
    true = y[None]
    # Taking the margin off the true class equals adding it to all the others.
    scores.scatter_add_(0, true, scores.new_full((), -margin).expand(1, len(y)))
    scores -= torch.amax(scores, dim=0)
    own = torch.gather(scores, 0, true)[0]  # at most 0
    scores.exp_()
    # The true class is kept apart, so that neither the loss nor the residual of a confident
    # example is rounded away.
    rest = scores.scatter(0, true, 0.0).sum(dim=0)
    total = rest + torch.gather(scores, 0, true)[0]
    share = weight / total
    scores *= share
    scores.scatter_(0, true, -(rest * share)[None])
    losses = torch.where(own == 0.0, rest.log1p(), total.log() - own)
    return losses.double() @ weight.double()


def pixels(
    X: Tensor,
    image: NDArray[np.intp],
    corner: NDArray[np.intp],
    inside: NDArray[np.intp],
    unit: float,
) -> Tensor:
    """Return the pixels ``corner + inside`` of images, over a power of two, in float32."""
    row, first, others = (torch.as_tensor(p, device=X.device) for p in (image, corner, inside))
    values = X[row[:, None], first[:, None] + others]
    return (values if unit == 1.0 else values * (1.0 / unit)).float()


def masked_maxima(responses: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Return the largest response of every template under every mask, (n, a, b, f).

    responses (n, height, width, f); down (a, height) and across (b, width), positive, whose
    products are the masks.
    """
    if (kernels := fused(responses.device)) is not None:
        return kernels.masked_maxima(responses, down, across)
    n, _, _, f = responses.shape
    out = responses.new_empty((n, len(down), len(across), f))
    for b, beside in enumerate(across):
        rows = torch.amax(responses * beside[:, None], dim=2)  # (n, height, f)
        for a, above in enumerate(down):
            torch.amax(rows * above[:, None], dim=1, out=out[:, a, b])
    return out


def template_column(
    images: Tensor, template: Tensor, down: Tensor, across: Tensor, out: Tensor
) -> None:
    """Write the largest response of each image to one template and mask, (n,).

    images (n, height, width, channels); template (rows, columns, channels).
    """
    if (kernels := fused(images.device)) is not None:
        kernels.template_column(images, template, down, across, out)
        return
    weights = template.permute(2, 0, 1)[None]
    responses = torch.nn.functional.conv2d(images.permute(0, 3, 1, 2), weights)[:, 0]
    torch.amax(torch.amax(responses * across, dim=2) * down, dim=1, out=out)


def lloyd(
    points: Tensor,
    first: NDArray[np.intp],
    n_steps: int,
    what: str,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float32]:
    """Return the centres after some steps from those of the points, (n, p), as NumPy's.

    As scikit-learn's k-means: a centre that has lost its points goes to the farthest point.
    """
    mean = points.mean(dim=0)
    points = points - mean
    mass = torch.as_tensor(np.ones(len(points)) if weight is None else weight, device=points.device)
    centres = points[torch.as_tensor(first, device=points.device)]
    before = torch.full((len(points),), -1, device=points.device)
    for _ in track(range(n_steps), what, n_steps):
        labels = _nearest(points, centres)
        if torch.equal(labels, before):
            break
        centres, before = _means(points, mass, labels, centres), labels
    return (centres + mean).cpu().numpy()


def _nearest(points: Tensor, centres: Tensor) -> Tensor:
    """Return the number of the nearest centre of each point, the first of equals."""
    squares = centres.square().sum(dim=1)

    def nearest(some: slice) -> Tensor:
        return torch.addmm(squares, points[some], centres.T, alpha=-2.0).argmin(dim=1)

    return torch.cat(Memory(points.device).chunks(len(points), 8 * len(centres), nearest))


def _means(points: Tensor, weight: Tensor, labels: Tensor, centres: Tensor) -> Tensor:
    """Return the mean of the points of each label; of a label without points another point."""
    order = torch.argsort(labels, stable=True)  # so that the sums are always the same
    counts = torch.bincount(labels, minlength=len(centres))
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
