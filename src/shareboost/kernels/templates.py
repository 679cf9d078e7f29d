"""Responses of images to templates, their codes, and sums of numbers of examples times codes."""

from __future__ import annotations

import numpy as np

from . import MIDDLE
from .compiled import Array, compiled

# Examples whose residuals stay in the first cache while a column's codes pass by.
CHUNK = 1024


@compiled()
def masked_maxima(responses: Array, down: Array, across: Array, out: Array) -> None:
    """Write the largest response of every template under every mask.

    responses (height, width, f), of one image; down (a, height) and across (b, width),
    positive, whose products are the masks; out (a, b, f). As the weights are positive,
    the largest over a row can be taken first and the largest of those after it.
    """
    height, width, n_templates = responses.shape
    row = np.empty((across.shape[0], n_templates), dtype=np.float32)
    out[:] = -np.inf
    for y in range(height):
        row[:] = -np.inf
        for x in range(width):
            here = responses[y, x]
            for b in range(across.shape[0]):
                best, weight = row[b], across[b, x]
                for f in range(n_templates):
                    value = weight * here[f]
                    best[f] = value if value > best[f] else best[f]
        for a in range(down.shape[0]):
            weight = down[a, y]
            for b in range(across.shape[0]):
                best, found = out[a, b], row[b]
                for f in range(n_templates):
                    value = weight * found[f]
                    best[f] = value if value > best[f] else best[f]


@compiled(error_model="numpy")
def quantise(values: Array, low: Array, step: Array, codes: Array) -> None:
    """Write ``round((values - low) / step)``, kept within 0 and 255, one row a feature.

    values (n, c); low and step (c,); codes (c, n), uint8.
    """
    n, c = values.shape
    for first in range(0, c, 64):  # whole lines of both arrays stay in the cache
        for i in range(n):
            for j in range(first, min(first + 64, c)):
                code = (values[i, j] - low[j]) / step[j] + np.float32(0.5)
                code = min(max(code, np.float32(0.0)), np.float32(255.0))
                codes[j, i] = np.uint8(code)


@compiled(fastmath=True)
def add_moments(codes: Array, rows: Array, out: Array) -> None:
    """Add to out the sums of rows times codes, and those of rows times their squares.

    codes (c, n), bytes, less ``MIDDLE``; rows (k, n), float32; out (2, k, c), float64.
    """
    k, n = rows.shape
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        for j in range(codes.shape[0]):
            column = codes[j, start:stop]
            for q in range(k):
                row = rows[q, start:stop]
                first, second = np.float32(0.0), np.float32(0.0)
                for i in range(stop - start):
                    code = np.float32(column[i]) - np.float32(MIDDLE)
                    product = code * row[i]
                    first += product
                    second += code * product
                out[0, q, j] += first
                out[1, q, j] += second


@compiled(fastmath=True)
def template_column(images: Array, template: Array, down: Array, across: Array, out: Array) -> None:
    """Write the largest masked response of each image to one template.

    images (n, h, w, channels), float32; template (rows, columns, channels); down
    (h - rows + 1,) and across (w - columns + 1,), the mask; out (n,).
    """
    n, _, width, channels = images.shape
    line = width * channels
    # Responses at all places and, for one long loop, also where rows wrap round.
    length = (down.size - 1) * line + (across.size - 1) * channels + 1
    response = np.empty(length, dtype=np.float32)
    for i in range(n):
        pixels = images[i].ravel()
        response[:] = 0.0
        for dy in range(template.shape[0]):
            for dx in range(template.shape[1]):
                for c in range(channels):
                    weight = template[dy, dx, c]
                    moved = pixels[dy * line + dx * channels + c :]
                    for place in range(length):
                        response[place] += weight * moved[place]
        best = np.float32(-np.inf)
        for y in range(down.size):
            largest = np.float32(-np.inf)
            for x in range(across.size):
                largest = max(largest, across[x] * response[y * line + x * channels])
            best = max(best, down[y] * largest)
        out[i] = best


@compiled(fastmath={"contract"})
def template_columns(
    images: Array, taps: Array, offsets: Array, down: Array, across: Array, out: Array
) -> None:
    """Write the largest masked response of each image to each of many templates of one size.

    images (n, height, width, channels), float32; taps (pixels of a template, f), which are at
    ``offsets`` from the first pixel of a place; down (places down, f) and across (places across,
    f), the masks; out (n, f). Each response is summed in the order of the taps, and zero pixels,
    which are left out, do not change it: it is the same, to the last bit, as that of
    ``template_column``.
    """
    n, _, width, channels = images.shape
    f = taps.shape[1]
    response, largest = np.empty(f, dtype=np.float32), np.empty(f, dtype=np.float32)
    listed = np.empty(offsets.size, dtype=np.intp)
    for i in range(n):
        pixels, best = images[i].ravel(), out[i]
        best[:] = -np.inf
        for y in range(down.shape[0]):
            largest[:] = -np.inf
            for x in range(across.shape[0]):
                at = (y * width + x) * channels
                n_listed = 0
                for t in range(offsets.size):
                    listed[n_listed] = t
                    n_listed += pixels[at + offsets[t]] != 0
                response[:] = 0
                in_fours = n_listed - n_listed % 4
                for s in range(0, in_fours, 4):
                    t0, t1, t2, t3 = listed[s], listed[s + 1], listed[s + 2], listed[s + 3]
                    p0, p1 = pixels[at + offsets[t0]], pixels[at + offsets[t1]]
                    p2, p3 = pixels[at + offsets[t2]], pixels[at + offsets[t3]]
                    w0, w1, w2, w3 = taps[t0], taps[t1], taps[t2], taps[t3]
                    for j in range(f):
                        response[j] = (
                            ((response[j] + p0 * w0[j]) + p1 * w1[j]) + p2 * w2[j]
                        ) + p3 * w3[j]
                for s in range(in_fours, n_listed):
                    p, w = pixels[at + offsets[listed[s]]], taps[listed[s]]
                    for j in range(f):
                        response[j] += p * w[j]
                mask = across[x]
                for j in range(f):
                    value = mask[j] * response[j]
                    largest[j] = value if value > largest[j] else largest[j]
            mask = down[y]
            for j in range(f):
                value = mask[j] * largest[j]
                best[j] = value if value > best[j] else best[j]
