"""The image templates among features, with their masks, as they are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..export.plan import parts_of
from ..export.primitives import Matches
from ..pools.features import Features

Picture = NDArray[np.float32]


class TemplatePicture(NamedTuple):
    """A template and its mask."""

    place: int  # of the atom among the features
    template: Picture  # (rows, columns, channels)
    down: Picture  # of the mask, (places down,)
    across: Picture

    @property
    def mask(self) -> Picture:
        """The mask over all places of the template, (places down, places across)."""
        return np.outer(self.down, self.across)


def image_shape_of(features: Features) -> tuple[int, int, int] | None:
    """Return the shape of the images that templates among the features look at.

    None where there are none, and for features of a pool that has no exported form.
    """
    found = _matches(features)
    return found[0].image_shape if found else None


def template_pictures(features: Features) -> list[TemplatePicture]:
    """Return the templates among the features, in their order."""
    atom = np.repeat(np.arange(features.ids.size), features.widths)
    found = [
        TemplatePicture(
            int(atom[place]),
            part.templates[part.template[i]],
            part.masks_down[part.down[i]],
            part.masks_across[part.across[i]],
        )
        for part in _matches(features)
        for i, place in enumerate(part.places)
    ]
    return sorted(found, key=lambda picture: picture.place)


def side_by_side(template: Picture) -> Picture:
    """Return the channels of a template as one picture: a grid of them, NaN in between."""
    rows, columns, channels = template.shape
    wide = int(np.ceil(np.sqrt(channels)))
    high = -(-channels // wide)
    sheet = np.full((high * (rows + 1) - 1, wide * (columns + 1) - 1), np.nan, dtype=np.float32)
    for channel in range(channels):
        row, column = divmod(channel, wide)
        top, left = row * (rows + 1), column * (columns + 1)
        sheet[top : top + rows, left : left + columns] = template[:, :, channel]
    return sheet


def _matches(features: Features) -> list[Matches]:
    try:
        parts = parts_of(features)
    except TypeError:  # another's pool
        return []
    return [part for part in parts if isinstance(part, Matches)]
