"""Matches by the size of their templates: what one convolution, or one loop, computes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .plan import Matches, Places


@dataclass(frozen=True)
class SameSize:
    """Matches of templates of one size; values are in the order of their templates."""

    places: Places
    image_shape: tuple[int, int, int]
    unit: float
    templates: NDArray[np.float32]  # (n, rows, columns, channels)
    masks_down: NDArray[np.float32]  # (a, places down)
    masks_across: NDArray[np.float32]  # (b, places across)
    template: NDArray[np.intp]  # (values,), rising
    down: NDArray[np.intp]
    across: NDArray[np.intp]


def by_size(part: Matches) -> list[SameSize]:
    """Return the matches of every size of template, in the order of their first use."""
    sizes = [template.shape for template in part.templates]
    found = []
    for size in dict.fromkeys(sizes):
        own = np.flatnonzero([sizes[t] == size for t in part.template])
        own = own[np.argsort(part.template[own], kind="stable")]
        templates, template = np.unique(part.template[own], return_inverse=True)
        masks_down, down = np.unique(part.down[own], return_inverse=True)
        masks_across, across = np.unique(part.across[own], return_inverse=True)
        found.append(
            SameSize(
                part.places[own],
                part.image_shape,
                part.unit,
                np.stack([part.templates[t] for t in templates]),
                np.stack([part.masks_down[m] for m in masks_down]),
                np.stack([part.masks_across[m] for m in masks_across]),
                template,
                down,
                across,
            )
        )
    return found
