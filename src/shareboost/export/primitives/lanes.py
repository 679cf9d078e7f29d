"""Templates of one size as C: side by side, in blocks that share each pixel.

Pixels of zero, most of a blank image, are left out. Those that count at each place of a row are
listed once for all templates.

Early exit bounds responses. A template's response is at most its norm times that of the pixels
under it, by Cauchy and Schwarz; of a template of zero mean, times that of the pixels less their
mean. Where such a bound, under the mask, does not exceed what a block of templates has found
already, the place is skipped: the values are the same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text import float_literal, fragments, functions
from .base import CodeBytes, Form, Step, Tables, encode

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
# Below this share of its norm the mean of a template is bounded by itself.
LARGEST_MEAN = 0.2
SMALLEST_NORM = 1e-30
# More lanes look after 1, 2, 4, ... rows at what they have found; what is out of date skips less.
FEW_LANES = 8
# How often, at most, the rest is bounded: all features that are left are read for it.
MOST_CHECKS = 16

C, PRUNING = "primitives/matches.c", "primitives/pruning.c"

Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Lanes:
    """Templates in blocks of lanes, and what is made of their responses.

    A track is the largest response of a lane over a row of places under one mask across: first
    one track a lane, in runs of the same mask, then those of templates that have more masks. A
    feature is the largest of a track over all rows, under a mask down. All of a block come
    together, and ``ends`` tells where the runs, tracks and features of a block begin and end.
    """

    templates: NDArray[np.float32]  # (blocks * lanes, taps)
    n_lanes: int  # of a block
    runs: Numbers  # (n, 2): the lane after the last one, the mask across
    more: Numbers  # (n, 2), of further tracks: the lane, the mask across
    features: Numbers  # (n, 2): the track, the mask down
    ends: Numbers  # (blocks + 1, 3)
    box: Numbers  # (blocks, 4), of the places that count: first row and end, first column and end
    order: Numbers  # (features,), places of the features among those of the part
    lane: Numbers  # (features,), among the lanes of all blocks

    def multiply_adds(self) -> int:
        """Return those of an image without blank pixels."""
        rows, columns = self.box[:, 1] - self.box[:, 0], self.box[:, 3] - self.box[:, 2]
        _, n_more, n_features = np.diff(self.ends, axis=0).T
        tracks = self.runs[self.ends[1:, 0] - 1, 0] + n_more
        a_place = self.templates.shape[1] * self.n_lanes + tracks
        return int((rows * (columns * a_place + n_features)).sum())


def step_of(part: Matches, plan: Plan, prefix: str, form: Form) -> Step:
    """Return templates of one size as a step, whose part has the codes of all lanes."""
    lanes = lanes_of(part, form.lanes)
    coded = encode(lanes.templates, form.weights)
    words = _words(part, lanes, prefix, form)
    tables = _tables(part, lanes, coded.codes)
    more = "\n" + fragments(C)["more"] if lanes.more.size else ""
    code = functions(C, "list", "respond", "row", "matches").replace("$more", more)
    if form.early_exit:
        norms = np.linalg.norm(coded.codes[lanes.lane].astype(np.float64), axis=1)
        inverse = 1.0 / np.maximum(norms, SMALLEST_NORM)
        tables |= {"inverse": inverse.astype(np.float32), "seen": part.across[lanes.order]}
        code += functions(PRUNING, "energies", "rest", "block")
        words |= _bound_words(part, lanes, coded.codes, form.name)
    lists = words["across"] * words["listed"] * np.min_scalar_type(words["taps"]).itemsize
    numbers = words["across"] + words["n"] + words["lanes"] + words["tracks"]
    reordered = {name: getattr(part, name)[lanes.order] for name in ("places", "down", "across")}
    # Less for two features, or one template; more for several channels.
    fewer = min(words["n"] - 1, words["lanes"]) == 1
    channels = 120 if words["channels"] > 1 else 0
    several = (880 + channels, 26) if fewer else (1010 + channels, 70)
    return Step(
        replace(
            part,
            templates=list(coded.codes.reshape(-1, *part.templates[0].shape)),
            template=lanes.lane,
            **reordered,
        ),
        prefix,
        form,
        words["n"],
        plan.weights[:, reordered["places"]].T,
        tables,
        code,
        CodeBytes(700 + channels, several[0], 26, several[1]),
        multiply_adds=lanes.multiply_adds(),
        ram=lists + 4 * numbers,
        factor=coded.scales[lanes.lane].astype(np.float64) * part.unit,
        words=words,
    )


def lanes_of(part: Matches, most: int) -> Lanes:
    """Return the layout of a part whose templates are of one size, at most so many a block."""
    blocks, width = _blocks(part, most)
    templates = np.zeros((len(blocks) * width, part.templates[0].size), dtype=np.float32)
    runs: list[tuple[int, int]] = []
    more: list[tuple[int, int]] = []
    features: list[tuple[int, int]] = []
    order: list[int] = []
    lane_of: list[int] = []
    ends, boxes = [(0, 0, 0)], []
    for number, block in enumerate(blocks):
        first = [int(part.across[uses[0]]) for _, uses in block]  # the mask of each lane's run
        runs += [(i + 1, mask) for i, mask in enumerate(first) if first[i + 1 : i + 2] != [mask]]
        tracks = {pair: pair[0] for pair in enumerate(first)}
        for lane, (template, uses) in enumerate(block):
            templates[number * width + lane] = part.templates[template].ravel()
            for feature in uses:
                further = width + len(tracks) - len(block)
                track = tracks.setdefault((lane, int(part.across[feature])), further)
                features.append((track, int(part.down[feature])))
            lane_of += [number * width + lane] * len(uses)
            order += uses
        more += list(tracks)[len(block) :]
        ends.append((len(runs), len(more), len(features)))
        boxes.append(_box(part, order[ends[-2][2] :]))
    pairs = (np.array(pairs, dtype=np.intp).reshape(-1, 2) for pairs in (runs, more, features))
    arrays = (np.array(numbers, dtype=np.intp) for numbers in (ends, boxes, order, lane_of))
    return Lanes(templates, width, *pairs, *arrays)


def _blocks(part: Matches, most: int) -> tuple[list[list[tuple[int, list[int]]]], int]:
    """Return the templates of each block, each with its features by mask; lanes of a block."""
    uses: dict[int, list[int]] = {}
    for feature in np.lexsort((part.down, part.across)).tolist():
        uses.setdefault(int(part.template[feature]), []).append(feature)
    ordered = list(uses.items())
    n_blocks = -(-len(ordered) // most)
    width = -(-len(ordered) // n_blocks)
    if n_blocks > 1 and most >= VECTOR:
        width = -(-width // VECTOR) * VECTOR
    return [ordered[start : start + width] for start in range(0, len(ordered), width)], width


def _box(part: Matches, features: list[int]) -> list[int]:
    """Return the first row and the end of those where any mask matters; so columns."""
    sides = []
    for masks, used in ((part.masks_down, part.down), (part.masks_across, part.across)):
        matter = [masks[i] >= NEGLIGIBLE * masks[i].max() for i in used[features]]
        where = np.flatnonzero(np.any(matter, axis=0))
        sides += [int(where[0]), int(where[-1]) + 1]
    return sides


def _tables(part: Matches, lanes: Lanes, codes: NDArray[Any]) -> Tables:
    """Return the tables of the full form; the codes of templates are those of all lanes."""
    _, width, channels = part.image_shape
    y, x, c = np.indices(part.templates[0].shape).reshape(3, -1)
    by_block = codes.reshape(len(lanes.box), lanes.n_lanes, -1)
    tables = {
        "shift": (y * width + x) * channels + c,  # of each tap's pixel from that of the first
        "taps": by_block.transpose(0, 2, 1).reshape(-1, lanes.n_lanes),
        "down": np.stack(part.masks_down),
        "across": np.stack(part.masks_across),
        "runs": lanes.runs,
        "features": lanes.features,
        "ends": lanes.ends,
        "box": lanes.box,
    }
    return tables | ({"more": lanes.more} if lanes.more.size else {})


def _words(part: Matches, lanes: Lanes, prefix: str, form: Form) -> dict[str, Any]:
    """Return the words of the full form: sizes, and how pixels and taps a, b, c and d are read."""
    rows, columns, channels = part.templates[0].shape
    taps = part.templates[0].size
    smaller = "" if part.unit == 1.0 else f" * {float(np.float32(1.0 / part.unit))!r}f"
    words: dict[str, Any] = {
        "n": part.places.size,
        "entry": f"{np.min_scalar_type(taps)}_t",
        "marks": MARKS,
        "listed": taps + MARKS,
        "taps": taps,
        "lanes": lanes.n_lanes,
        "tracks": lanes.n_lanes + int(np.diff(lanes.ends[:, 1]).max(initial=0)),
        "blocks": len(lanes.box),
        "rows": rows,
        "columns": columns,
        "width": part.image_shape[1],
        "channels": channels,
        "down": part.masks_down[0].size,
        "across": part.masks_across[0].size,
        "smaller": smaller,
        "tap": "float" if form.weights == "float32" else f"{form.weights}_t",
        "open": "",
        "closed": "",
        "all_open": "",
    }
    for i, letter in enumerate("abcd"):
        words[f"pixel_{letter}"] = f"(float)at[{prefix}_shift[list[{i}]]]{smaller}"
        words[letter] = f"{letter}[j]" if form.weights == "float32" else f"(float){letter}[j]"
    return words


def _bound_words(part: Matches, lanes: Lanes, codes: NDArray[Any], name: str) -> dict[str, Any]:
    """Return the words of bounds; the codes of templates are those of all lanes."""
    n = codes.shape[1]
    used = codes[np.any(codes != 0, axis=1)].astype(np.float64)
    # What the mean of the pixels can add to a response, for a template of norm 1.
    share = (np.abs(used.mean(axis=1)) / np.linalg.norm(used, axis=1)).max(initial=0.0)
    energy = fragments(PRUNING)["energy_less_mean" if share < LARGEST_MEAN / n**0.5 else "energy"]
    cast = "" if codes.dtype == np.float32 else "(float)"
    return {
        "energy": Template(energy).substitute(
            name=name,
            # The share of the squares that rounding may hide, in their difference and a response.
            slack=f"{1.00001 + 4e-7 * n:.8g}f",
            n=f"{1.0 / n:.9g}f",
            share=float_literal(1.00001 * share),
        ),
        "renewed": "(i & (i - 1)) == 0" if lanes.n_lanes > FEW_LANES else "1",
        "checked": -(-len(lanes.box) // MOST_CHECKS),
        "masks_down": len(part.masks_down),
        "masks_across": len(part.masks_across),
        "own": f"{cast}{name}_weights[$start + i][best]",
        "others": f"{cast}{name}_weights[$start + i][q]",
        "open": ", const unsigned char *open",
        "closed": " || (open && !open[place])",
        "all_open": ", 0",
    }
