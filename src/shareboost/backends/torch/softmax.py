"""The logistic loss on a torch device: the steps of ``kernels.softmax``, with its shapes."""

from __future__ import annotations

import torch
from torch import Tensor

from .fused import fused

# Above, the scores of an example are too many for one kernel.
MOST_CLASSES = 256


def at_once(scores: Tensor, y: Tensor, weight: Tensor, margin: float) -> Tensor | None:
    """Return the loss, scores overwritten with the residual, by one kernel; None without one."""
    if len(scores) > MOST_CLASSES or (kernels := fused(scores)) is None:
        return None
    return kernels.softmax_residual(scores, y, weight, margin)


def lead(scores: Tensor, y: Tensor, margin: float, own: Tensor) -> None:
    """Take the margin off the true class, then the largest score off all; write the true one's."""
    true = y[None]
    scores.scatter_add_(0, true, scores.new_full((), -margin).expand(1, len(y)))
    scores -= torch.amax(scores, dim=0)
    torch.gather(scores, 0, true, out=own[None])


def residual_of(exps: Tensor, y: Tensor, weight: Tensor, rest: Tensor, total: Tensor) -> None:
    """Overwrite the exponentials of what ``lead`` left with the residual."""
    true = y[None]
    torch.sum(exps.scatter(0, true, 0.0), dim=0, out=rest)
    torch.add(rest, torch.gather(exps, 0, true)[0], out=total)
    share = weight / total
    exps *= share
    exps.scatter_(0, true, -(rest * share)[None])
