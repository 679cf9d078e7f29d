"""Matches by the size of their templates: what one convolution, or one loop, computes."""

from __future__ import annotations

from dataclasses import dataclass, replace

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


def by_size(part: Matches) -> list[Matches]:
    """Return the matches of every size of template, in the order of their first use."""
    shapes = [part.templates[template].shape for template in part.template]
    found = []
    for shape in dict.fromkeys(shapes):
        some = np.array([own == shape for own in shapes])
        templates, template = np.unique(part.template[some], return_inverse=True)
        masks_down, down = np.unique(part.down[some], return_inverse=True)
        masks_across, across = np.unique(part.across[some], return_inverse=True)
        found.append(
            replace(
                part,
                places=part.places[some],
                templates=[part.templates[number] for number in templates],
                masks_down=[part.masks_down[number] for number in masks_down],
                masks_across=[part.masks_across[number] for number in masks_across],
                template=template,
                down=down,
                across=across,
            )
        )
    return found


def stacked_by_size(part: Matches) -> list[SameSize]:
    """Return the matches of every size as stacked arrays, in the order of their templates."""
    found = []
    for own in by_size(part):
        order = np.argsort(own.template, kind="stable")
        found.append(
            SameSize(
                own.places[order],
                own.image_shape,
                own.unit,
                np.stack(own.templates),
                np.stack(own.masks_down),
                np.stack(own.masks_across),
                own.template[order],
                own.down[order],
                own.across[order],
            )
        )
    return found
