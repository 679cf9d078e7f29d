"""C for templates: the largest masked response over all places of an image.

The responses of many templates are summed side by side, a pixel at a time, and pixels of zero
are left out: of an image that is mostly blank they are most of the work. The pixels that count
at each place of a row are listed once for all templates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plan import Matches, Plan
from . import pruning
from .lanes import Lanes, lanes_of
from .quantisation import encode
from .step import Form, Step
from .text import integer_type

# Lists end in so many end marks. Loops that end at a mark cannot be counted ahead, which keeps
# gcc from joining rounds of the outer one (unroll-and-jam): that makes them three times slower.
MARKS = 4

LIST = """
/* The pixels that are not zero at each place of a row of places. */
static inline void ${prefix}_list(const $input *x, int y, $entry lists[$across][$listed])
{
    int n[$across];
    int row, column, channel, place;
    for (place = 0; place < $across; ++place)
        n[place] = 0;
    for (row = 0; row < $rows; ++row)
        for (column = 0; column < $width; ++column)
            for (channel = 0; channel < $channels; ++channel)
                if (x[((y + row) * $width + column) * $channels + channel] != 0) {
                    const int last = column < $across ? column : $across - 1;
                    for (place = column < $columns ? 0 : column - $columns + 1; place <= last;
                         ++place)
                        lists[place][n[place]++] =
                            ($entry)((row * $columns + column - place) * $channels + channel);
                }
    for (place = 0; place < $across; ++place)
        for (row = 0; row < $marks; ++row)
            lists[place][n[place] + row] = $end;
}
"""

RESPOND = """
/* The responses of a block of templates at one place. */
static inline void ${prefix}_respond(const $input *at, const $entry *list, int block, float *out)
{
    const $tap (*taps)[$lanes] = ${prefix}_taps + block * $taps;
    int j;
    for (j = 0; j < $lanes; ++j)
        out[j] = 0.0f;
    for (; list[3] != $end; list += 4) {
        const $tap *a = taps[list[0]], *b = taps[list[1]], *c = taps[list[2]], *d = taps[list[3]];
        const float pa = $pixel_a, pb = $pixel_b;
        const float pc = $pixel_c, pd = $pixel_d;
        for (j = 0; j < $lanes; ++j)
            out[j] += (pa * $a + pb * $b) + (pc * $c + pd * $d);
        SHAREBOOST_COUNT(4 * $lanes);
    }
    for (; *list != $end; ++list) {
        const $tap *a = taps[list[0]];
        const float pa = $pixel_a;
        for (j = 0; j < $lanes; ++j)
            out[j] += pa * $a;
        SHAREBOOST_COUNT($lanes);
    }
}
"""

MORE = """
        for (i = ${prefix}_ends[block][1], j = $lanes; i < ${prefix}_ends[block + 1][1]; ++i, ++j) {
            const float value = ${prefix}_across[${prefix}_more[i][1]][place]
                * response[${prefix}_more[i][0]];
            largest[j] = value > largest[j] ? value : largest[j];
            SHAREBOOST_COUNT(1);
        }"""

ROW = """
/* Raises the values of a block's features to what they find in a row of places. */
static inline void ${prefix}_row(
    const $input *x, int y, int block, $entry lists[$across][$listed]$open, float *best)
{
    const int begin = ${prefix}_box[block][2], end = ${prefix}_box[block][3];
    float response[$lanes], largest[$tracks];
    int blank = end - begin < $across;
    int place, i, j;
    for (place = begin; place < end; ++place)
        blank |= lists[place][0] == $end;
    for (j = 0; j < $tracks; ++j)
        largest[j] = blank ? 0.0f : -FLT_MAX;
    for (place = begin; place < end; ++place) {
        if (lists[place][0] == $end$closed)
            continue;
        ${prefix}_respond(x + (y * $width + place) * $channels, lists[place], block, response);
        for (i = ${prefix}_ends[block][0], j = 0; i < ${prefix}_ends[block + 1][0]; ++i) {
            const float mask = ${prefix}_across[${prefix}_runs[i][1]][place];
            const int stop = ${prefix}_runs[i][0];
            SHAREBOOST_COUNT(stop - j);
            for (; j < stop; ++j) {
                const float value = mask * response[j];
                largest[j] = value > largest[j] ? value : largest[j];
            }
        }$more
    }
    for (i = ${prefix}_ends[block][2]; i < ${prefix}_ends[block + 1][2]; ++i) {
        const float value = ${prefix}_down[${prefix}_features[i][1]][y]
            * largest[${prefix}_features[i][0]];
        best[i] = value > best[i] ? value : best[i];
        SHAREBOOST_COUNT(1);
    }
}
"""

MATCHES = """
static inline void $prefix(const $input *x, float *scores)
{
    $entry lists[$across][$listed];
    float best[$n];
    int y, block, i;
    for (block = 0; block < $blocks; ++block)
        for (i = ${prefix}_ends[block][2]; i < ${prefix}_ends[block + 1][2]; ++i)
            best[i] = ${prefix}_box[block][1] - ${prefix}_box[block][0] < $down ? 0.0f : -FLT_MAX;
    for (y = 0; y < $down; ++y) {
        ${prefix}_list(x, y, lists);
        for (block = 0; block < $blocks; ++block)
            if (y >= ${prefix}_box[block][0] && y < ${prefix}_box[block][1])
                ${prefix}_row(x, y, block, lists$all_open, best);
    }
    for (i = 0; i < $n; ++i)
        ${name}_add($start + i, best[i]$scaled, scores);
}
"""


def matches(part: Matches, plan: Plan, prefix: str, form: Form) -> Step:
    """Return templates of one size."""
    lanes = lanes_of(part, form.lanes)
    coded = encode(lanes.by_lane, form.weights)
    tables = _tables(part, lanes, coded.codes)
    words = _sizes(part, lanes) | _reads_of_four(prefix, part.unit, form)
    code = LIST + RESPOND + ROW.replace("$more", MORE if lanes.more.size else "") + MATCHES
    pruned = {"open": "", "closed": "", "all_open": ""}
    if form.early_exit:
        tables |= pruning.bound_tables(part, lanes, coded.codes)
        code += pruning.ENERGIES + pruning.REST + pruning.BLOCK
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
        "matches",
        words["n"],
        plan.weights[:, part.places[lanes.order]].T,
        np.zeros(len(plan.weights)),
        tables,
        code,
        _multiply_adds(lanes, words["taps"]),
        lists + 4 * floats,
        factor=coded.scales[lanes.lane].astype(np.float64) * part.unit,
        lane=lanes.lane,
        words=words | pruned,
    )


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
