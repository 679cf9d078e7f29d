"""Images, their responses to templates, and the largest of them under masks, on a device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .fused import fused


def as_images(X: Tensor, shape: Sequence[int], unit: float) -> Tensor:
    """Return rows, over a power of two, as images in float32, (n, height, width, channels)."""
    if unit != 1.0:
        X = X * (1.0 / unit)
    return X.float().reshape(-1, *shape)


def pixels(
    X: Tensor,
    image: NDArray[np.intp],
    corner: NDArray[np.intp],
    inside: NDArray[np.intp],
    unit: float,
) -> Tensor:
    """Return the pixels ``corner + inside`` of images, over a power of two, in float32."""
    row, first, others = (torch.as_tensor(p, device=X.device) for p in (image, corner, inside))
    found = X[row[:, None], first[:, None] + others]
    return (found if unit == 1.0 else found * (1.0 / unit)).float()


def responses(images: Tensor, templates: Tensor, size: Sequence[int]) -> Tensor:
    """Return the inner products with templates at all places, (n, down, across, f).

    images (n, height, width, channels); templates (f, pixels), of patches of that size.
    """
    n = len(images)
    windows = images.unfold(1, size[0], 1).unfold(2, size[1], 1)  # (n, down, across, c, rows, cols)
    _, down, across = windows.shape[:3]
    patches = windows.permute(0, 1, 2, 4, 5, 3).reshape(n * down * across, -1)
    return (patches @ templates.T).reshape(n, down, across, -1)


def masked_maxima(found: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Return the largest response of every template under every mask, (n, a, b, f).

    found (n, height, width, f), of the responses; down (a, height) and across (b, width),
    positive, whose products are the masks.
    """
    if (kernels := fused(found)) is not None:
        return kernels.masked_maxima(found, down, across)
    n, _, _, f = found.shape
    out = found.new_empty((n, len(down), len(across), f))
    for b, weights in enumerate(across):
        rows = torch.amax(found * weights[:, None], dim=2)  # (n, height, f)
        for a, own in enumerate(down):
            torch.amax(rows * own[:, None], dim=1, out=out[:, a, b])
    return out


def template_column(
    images: Tensor, template: Tensor, down: Tensor, across: Tensor, out: Tensor
) -> None:
    """Write the largest masked response of each image to one template, as on the host.

    images (n, height, width, channels); template (rows, columns, channels); the mask is the
    product of its two sides; out (n,).
    """
    if (kernels := fused(images)) is not None:
        rows, shape = images.flatten(1), tuple(images.shape[1:])
        out.copy_(kernels.template_column(rows, shape, template, down, across))
        return
    weights = template.permute(2, 0, 1)[None]
    found = torch.nn.functional.conv2d(images.permute(0, 3, 1, 2), weights)[:, 0]
    torch.amax(torch.amax(found * across, dim=2) * down, dim=1, out=out)
