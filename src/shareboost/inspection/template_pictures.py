"""The image templates among features, with their masks, as they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..pools.features import Features

    Picture = NDArray[np.float32]


class TemplatePicture(NamedTuple):
    """A template and its mask."""

    place: int  # of the atom among the features
    template: Picture  # (rows, columns, channels)
    down: Picture  # of the mask, (places down,)
    across: Picture


def image_shape_of(features: Features) -> tuple[int, int, int] | None:
    """Return the shape of the images that templates among the features look at, if there are any.

    Features of a pool that has no exported form have none.
    """
    return next((fields["image_shape"] for fields in _matches(features)), None)


def template_pictures(features: Features) -> list[TemplatePicture]:
    """Return the templates among the features, in their order."""
    atom = np.repeat(np.arange(features.ids.size), features.widths)
    names = ("templates", "down", "across")
    pictures: list[TemplatePicture] = []
    for fields in _matches(features):
        places = atom[fields["places"]].tolist()
        pictures += map(TemplatePicture, places, *(fields[name] for name in names))
    return sorted(pictures, key=lambda picture: picture.place)


def _matches(features: Features) -> list[dict[str, Any]]:
    try:
        parts = list(features.parts(np.arange(features.n_columns)))
    except TypeError:  # another's pool
        return []
    return [fields for name, fields in parts if name == "matches" and fields["places"].size]
