"""Templates of one size, laid out for C: side by side, in blocks that share each pixel.

The responses of many templates are summed side by side, a pixel at a time, and pixels of zero
are left out: of an image that is mostly blank they are most of the work. The pixels that count
at each place of a row are listed once for all templates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..c.step import Form, Step, encode
from ..c.text import integer_type
from ..fragments import fragments, functions
from . import pruning

if TYPE_CHECKING:
    from ..plan import Plan
    from .matches import Matches

# Lanes of several blocks come in multiples of this.
VECTOR = 8
# Places where a mask is below this share of its largest value add nothing but a floor at zero.
NEGLIGIBLE = 1e-7
# Lists end in so many end marks. Loops that end at a mark cannot be counted ahead, which keeps
# gcc from joining rounds of the outer one (unroll-and-jam): that makes them three times slower.
MARKS = 4
C = "primitives/matches.c"

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


def step_of(part: Matches, plan: Plan, prefix: str, form: Form) -> Step:
    """Return templates of one size as a step of a header."""
    lanes = lanes_of(part, form.lanes)
    coded = encode(lanes.by_lane, form.weights)
    tables = _tables(part, lanes, coded.codes)
    words = _sizes(part, lanes) | _reads_of_four(prefix, part.unit, form)
    more = "\n" + fragments(C)["more"] if lanes.more.size else ""
    code = functions(C, "list", "respond", "row", "matches").replace("$more", more)
    pruned = {"open": "", "closed": "", "all_open": ""}
    if form.early_exit:
        tables |= pruning.bound_tables(part, lanes, coded.codes)
        code += functions("primitives/pruning.c", "energies", "rest", "block")
        pruned = {
            "open": ", const unsigned char *open",
            "closed": " || (open && !open[place])",
            "all_open": ", 0",
        } | pruning.bound_words(part, lanes, coded.codes, form.name)
    lists = words["across"] * words["listed"] * {"uint8_t": 1, "uint16_t": 2}[words["entry"]]
    floats = words["across"] + words["n"] + words["lanes"] + words["tracks"]
    return Step(
        replace(part, **_reordered(part, lanes)),
        prefix,
        words["n"],
        plan.weights[:, part.places[lanes.order]].T,
        tables,
        code,
        multiply_adds=_multiply_adds(lanes, words["taps"]),
        ram=lists + 4 * floats,
        factor=coded.scales[lanes.lane].astype(np.float64) * part.unit,
        lane=lanes.lane,
        words=words | pruned,
    )


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


def _tables(part: Matches, lanes: Lanes, codes: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the tables of the full form."""
    _, width, channels = part.image_shape
    rows, columns, _ = part.templates[0].shape
    tables = {
        "shift": _shifts(rows, columns, width, channels),
        "taps": _by_tap(codes, lanes),
        "down": np.stack(part.masks_down),
        "across": np.stack(part.masks_across),
        "runs": lanes.runs,
        "features": lanes.features,
        "ends": lanes.ends,
        "box": lanes.box,
    }
    return tables | ({"more": lanes.more} if lanes.more.size else {})


def _sizes(part: Matches, lanes: Lanes) -> dict[str, Any]:
    """Return the words of the full form that are sizes of things."""
    _, width, channels = part.image_shape
    rows, columns, _ = part.templates[0].shape
    taps = rows * columns * channels
    return {
        "n": part.places.size,
        "entry": integer_type(taps),
        "end": taps,
        "marks": MARKS,
        "listed": taps + MARKS,
        "taps": taps,
        "lanes": lanes.n_lanes,
        "tracks": lanes.n_lanes + lanes.most_tracks,
        "blocks": lanes.n_blocks,
        "rows": rows,
        "columns": columns,
        "width": width,
        "channels": channels,
        "down": part.masks_down[0].size,
        "across": part.masks_across[0].size,
    }


def _reordered(part: Matches, lanes: Lanes) -> dict[str, Any]:
    """Return what a part has for each feature, in the order of its lanes."""
    by_feature = ("places", "template", "down", "across")
    return {name: getattr(part, name)[lanes.order] for name in by_feature}


def _shifts(rows: int, columns: int, width: int, channels: int) -> NDArray[np.intp]:
    """Return where the pixel of each tap is, from that of the first one."""
    y, x, c = np.indices((rows, columns, channels)).reshape(3, -1)
    return (y * width + x) * channels + c


def _by_tap(codes: NDArray[Any], lanes: Lanes) -> NDArray[Any]:
    """Return the codes of all lanes, (blocks * lanes, taps), as (blocks * taps, lanes)."""
    by_block = codes.reshape(lanes.n_blocks, lanes.n_lanes, -1)
    return by_block.transpose(0, 2, 1).reshape(-1, lanes.n_lanes)


def _reads_of_four(prefix: str, unit: float, form: Form) -> dict[str, str]:
    """Return the words that read pixels and taps a, b, c and d."""
    smaller = "" if unit == 1.0 else f" * {float(np.float32(1.0 / unit))!r}f"
    tap = "float" if form.weights == "float32" else f"{form.weights}_t"
    words = {"smaller": smaller, "tap": tap}
    for i, letter in enumerate("abcd"):
        words[f"pixel_{letter}"] = f"(float)at[{prefix}_shift[list[{i}]]]{smaller}"
        words[letter] = f"{letter}[j]" if form.weights == "float32" else f"(float){letter}[j]"
    return words


def _multiply_adds(lanes: Lanes, taps: int) -> int:
    """Return those of an image without blank pixels."""
    total = 0
    for (y0, y1, x0, x1), starts, stops in zip(
        lanes.box, lanes.ends[:-1], lanes.ends[1:], strict=True
    ):
        of_runs = int(lanes.runs[stops[0] - 1, 0])
        tracks = of_runs + stops[1] - starts[1]
        a_place = taps * lanes.n_lanes + tracks
        total += (y1 - y0) * ((x1 - x0) * a_place + stops[2] - starts[2])
    return int(total)
