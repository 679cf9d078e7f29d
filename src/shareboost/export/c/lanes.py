"""Templates of one size, laid out for C: side by side, in blocks that share each pixel."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plan import Matches

# Templates whose responses are computed side by side: their sums stay in vector registers.
# Measured on 218 templates of MNIST with AVX-512: 106 us an image for 64, 94 for 112, 96 for 224.
LANES = 112
# Lanes of several blocks come in multiples of this.
VECTOR = 8
# Places where a mask is below this share of its largest value add nothing but a floor at zero.
NEGLIGIBLE = 1e-7

Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Lanes:
    """Templates in blocks of lanes, and what is made of their responses.

    A track is the largest response of a lane over a row of places under one mask across: first
    one track a lane, in runs of the same mask, then those of templates that have more masks. A
    feature is the largest of a track over all rows, under a mask down. All of a block come
    together, and ``ends`` tells where the runs, tracks and features of a block begin and end.
    """

    taps: NDArray[np.float32]  # (blocks * taps, lanes)
    n_blocks: int
    runs: Numbers  # (n, 2): the lane after the last one, the mask across
    more: Numbers  # (n, 2), of further tracks: the lane, the mask across
    features: Numbers  # (n, 2): the track, the mask down
    ends: Numbers  # (blocks + 1, 3)
    box: Numbers  # (blocks, 4), of the places that count: first row and end, first column and end
    order: Numbers  # (features,), places of the features among those of the part
    lane: Numbers  # (features,), among the lanes of all blocks

    @property
    def n_lanes(self) -> int:
        """Number of lanes of a block."""
        return self.taps.shape[1]

    @property
    def by_lane(self) -> NDArray[np.float32]:
        """The templates of all lanes, (blocks * lanes, taps)."""
        by_block = self.taps.reshape(self.n_blocks, -1, self.n_lanes)
        return by_block.transpose(0, 2, 1).reshape(self.n_blocks * self.n_lanes, -1)

    @property
    def most_tracks(self) -> int:
        """Number of further tracks of the block that has most of them."""
        return int(np.diff(self.ends[:, 1]).max(initial=0))


def lanes_of(part: Matches, most: int) -> Lanes:
    """Return the layout of a part whose templates are of one size, at most so many a block."""
    blocks, width = _blocks(part, most)
    taps = np.zeros((len(blocks), part.templates[0].size, width), dtype=np.float32)
    runs: list[tuple[int, int]] = []
    more: list[tuple[int, int]] = []
    features: list[tuple[int, int]] = []
    order: list[int] = []
    lanes: list[int] = []
    ends, boxes = [(0, 0, 0)], []
    for number, block in enumerate(blocks):
        primary = [int(part.across[own[0]]) for _, own in block]
        stop = 0
        for mask, group in groupby(primary):
            stop += len(list(group))
            runs.append((stop, mask))
        first = len(more)
        for lane, (template, own) in enumerate(block):
            taps[number, :, lane] = part.templates[template].ravel()
            for mask, group in groupby(own, key=lambda f: int(part.across[f])):
                track = lane
                if mask != primary[lane]:
                    track = width + len(more) - first
                    more.append((lane, mask))
                for feature in group:
                    features.append((track, int(part.down[feature])))
                    order.append(feature)
                    lanes.append(number * width + lane)
        begin = ends[-1][2]
        ends.append((len(runs), len(more), len(features)))
        boxes.append(_box(part, order[begin:]))
    return Lanes(
        taps.reshape(-1, width),
        len(blocks),
        _pairs(runs),
        _pairs(more),
        _pairs(features),
        np.array(ends, dtype=np.intp),
        np.array(boxes, dtype=np.intp),
        np.array(order, dtype=np.intp),
        np.array(lanes, dtype=np.intp),
    )


def _blocks(part: Matches, most: int) -> tuple[list[list[tuple[int, list[int]]]], int]:
    """Return the templates of each block, each with its features by mask; lanes of a block."""
    uses: dict[int, list[int]] = {}
    for feature in range(part.template.size):
        uses.setdefault(int(part.template[feature]), []).append(feature)
    for own in uses.values():
        own.sort(key=lambda feature: (*_masks(part, feature), feature))
    ordered = sorted(uses.items(), key=lambda item: _masks(part, item[1][0]))
    n_blocks = -(-len(ordered) // most)
    width = -(-len(ordered) // n_blocks)
    if n_blocks > 1 and most >= VECTOR:
        width = -(-width // VECTOR) * VECTOR
    return [ordered[start : start + width] for start in range(0, len(ordered), width)], width


def _masks(part: Matches, feature: int) -> tuple[int, int]:
    return int(part.across[feature]), int(part.down[feature])


def _pairs(pairs: list[tuple[int, int]]) -> Numbers:
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)


def _box(part: Matches, features: list[int]) -> tuple[int, int, int, int]:
    """Return the first row and the end of those where any mask matters; so columns."""
    down = [part.masks_down[part.down[f]] for f in features]
    across = [part.masks_across[part.across[f]] for f in features]
    return (*_reach(down), *_reach(across))


def _reach(masks: list[NDArray[Any]]) -> tuple[int, int]:
    """Return the range of places outside of which all masks are negligible."""
    matter = np.any([mask >= NEGLIGIBLE * mask.max() for mask in masks], axis=0)
    where = np.flatnonzero(matter)
    return int(where[0]), int(where[-1]) + 1
