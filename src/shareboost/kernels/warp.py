"""The kernels behind ``deform``: random numbers, displacements and the pixels they fetch.

Every copy of an image has a random stream of its own, named by the key, the number of the image
and the number of the copy. So no copy depends on another, nor on which thread made it.
Nothing here is compiled with ``fastmath``: sums keep the order they are written in.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .compiled import Array, compiled

Four = tuple[float, float, float, float]

# SplitMix64: value number t of a stream is mix(stream + t * STEP).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_N_AFFINE = 4  # values of a stream that come before the noise's


class Strengths(NamedTuple):
    """How far the random affine map and the displacements may go."""

    rotation: float  # radians
    scale: float
    shear: float
    alpha: float  # pixels


@compiled()
def _mix(z: Any) -> Any:
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@compiled()
def stream_of(key: Any, image: int, copy: int) -> Any:
    """Return the stream of one copy of one image."""
    of_image = _mix(np.uint64(key) + _STEP * np.uint64(image + 1))
    return _mix(of_image + _STEP * np.uint64(copy + 1))


@compiled()
def draw_affine(stream: Any) -> Four:
    """Return four numbers uniform in [-1, 1): for rotation, both scales and shear."""
    return _uniform(stream, 1), _uniform(stream, 2), _uniform(stream, 3), _uniform(stream, 4)


@compiled()
def _uniform(stream: Any, number: int) -> float:
    return np.int64(_mix(stream + np.uint64(number) * _STEP) >> np.uint64(11)) * 2.0**-52 - 1.0


@compiled()
def draw_noise(stream: Any, noise: Array) -> None:
    """Fill noise, (height, 2, width), with numbers uniform in [-1, 1), 24 bits each."""
    height, _, width = noise.shape
    unit, one = np.float32(2.0**-23), np.float32(1.0)
    for i in range(height):
        for j in range(width):
            bits = _mix(stream + _STEP * np.uint64(1 + _N_AFFINE + i * width + j))
            noise[i, 0, j] = np.float32(np.int32(bits >> np.uint64(40))) * unit - one
            low = np.int32(bits & np.uint64(0xFFFFFF))
            noise[i, 1, j] = np.float32(low) * unit - one


@compiled()
def source_map(drawn: Four, strengths: Strengths) -> Four:
    """Return the matrix, row by row, from (row, column) in the copy to those in the image.

    Both count from the centre. It is the inverse of rotation times shear times scale.
    """
    angle = drawn[0] * strengths.rotation
    cos, sin = math.cos(angle), math.sin(angle)
    rows = 1.0 + drawn[1] * strengths.scale
    columns = 1.0 + drawn[2] * strengths.scale
    shear = drawn[3] * strengths.shear
    # Rotated back, [cos, sin; -sin, cos], then sheared back, column -= shear * row.
    return cos / rows, sin / rows, (-sin - shear * cos) / columns, (cos - shear * sin) / columns


@compiled()
def smooth(noise: Array, weights: Array, wide: Array) -> None:
    """Convolve the rows from r on of noise, in place, with weights[|t|], |t| <= r.

    noise is (height + 2 r, 2, width), its first and last r rows zero; wide, (2, width +
    2 r), is scratch whose first and last r columns are zero. Row i of the result lies in
    row i of noise, not i + r.
    """
    r = weights.size - 1
    height, width = noise.shape[0] - 2 * r, noise.shape[2]
    row = np.empty(width, dtype=np.float32)
    for i in range(height):
        # Down the columns. Rows i to i + 2 r are still those of the input.
        for f in range(2):
            inner = wide[f, r : r + width]
            for j in range(width):
                inner[j] = weights[0] * noise[i + r, f, j]
            for t in range(1, r + 1):
                for j in range(width):
                    inner[j] += weights[t] * (noise[i + r - t, f, j] + noise[i + r + t, f, j])
        # Along the row, which nothing above reads any more.
        for f in range(2):
            for j in range(width):
                row[j] = weights[0] * wide[f, r + j]
            for t in range(1, r + 1):
                for j in range(width):
                    row[j] += weights[t] * (wide[f, r + j - t] + wide[f, r + j + t])
            noise[i, f] = row


@compiled()
def find_sources(
    displacement: Array, matrix: Four, alpha: float, corner: Array, down: Array, right: Array
) -> None:
    """Find where each pixel's value comes from: the corner of four pixels, and the way to go.

    corner counts in a plane with one row and column more before the image and two after;
    down and right lie in [0, 1].
    """
    height, width = corner.shape
    limit_y, limit_x = np.float32(height + 1), np.float32(width + 1)
    zero, strength = np.float32(0.0), np.float32(alpha)
    yx, xx = np.float32(matrix[1]), np.float32(matrix[3])
    middle_y, middle_x = 0.5 * (height - 1), 0.5 * (width - 1)
    for i in range(height):
        start_y = np.float32(middle_y + 1.0 + matrix[0] * (i - middle_y))
        start_x = np.float32(middle_x + 1.0 + matrix[2] * (i - middle_y))
        for j in range(width):
            dx = np.float32(j) - np.float32(middle_x)
            y = start_y + yx * dx + strength * displacement[i, 0, j]
            x = start_x + xx * dx + strength * displacement[i, 1, j]
            # Outside is background however far; not-a-number becomes 0 and stays harmless.
            y = (y if y < limit_y else limit_y) if y > zero else zero
            x = (x if x < limit_x else limit_x) if x > zero else zero
            row, column = np.int32(y), np.int32(x)
            down[i, j] = y - np.float32(row)
            right[i, j] = x - np.float32(column)
            corner[i, j] = np.intp(row) * (width + 3) + np.intp(column)


@compiled()
def fetch(
    image: Array, plane: Array, corner: Array, down: Array, right: Array, rounding: Any, out: Array
) -> None:
    """Interpolate the image, (height, width, channels), bilinearly, channel by channel.

    plane is scratch, (height + 3, width + 3), zero but for the image's place.
    """
    height, width, n_channels = image.shape
    one, stride = np.float32(1.0), width + 3
    flat = plane.reshape(-1)
    for channel in range(n_channels):
        for i in range(height):
            for j in range(width):
                plane[1 + i, 1 + j] = image[i, j, channel]
        for i in range(height):
            for j in range(width):
                at, y, x = corner[i, j], down[i, j], right[i, j]
                a, b = flat[at], flat[at + 1]
                c, d = flat[at + stride], flat[at + stride + 1]
                value = (one - y) * ((one - x) * a + x * b) + y * ((one - x) * c + x * d)
                # The last bit may not leave the range of the four.
                value = min(max(value, min(min(a, b), min(c, d))), max(max(a, b), max(c, d)))
                out[i, j, channel] = value + rounding


@compiled()
def deform_block(
    images: Array,
    plane: Array,
    place: tuple[Any, int, int],
    weights: Array,
    strengths: Strengths,
    rounding: Any,
    out: Array,
) -> None:
    """Write one deformed copy of each of the images, (n, height, width, channels), into out.

    place is the key, the number of the first image and that of the copy. rounding is 0.5
    where out holds integers, else 0.
    """
    key, first, copy = place
    n, height, width, _ = images.shape
    r = weights.size - 1
    noise = np.zeros((height + 2 * r, 2, width), dtype=np.float32)
    wide = np.zeros((2, width + 2 * r), dtype=np.float32)
    corner = np.empty((height, width), dtype=np.intp)
    down = np.empty((height, width), dtype=np.float32)
    right = np.empty((height, width), dtype=np.float32)
    for q in range(n):
        stream = stream_of(key, first + q, copy)
        if strengths.alpha > 0.0:
            noise[:r] = np.float32(0.0)
            draw_noise(stream, noise[r : r + height])
            smooth(noise, weights, wide)
        matrix = source_map(draw_affine(stream), strengths)
        find_sources(noise[:height], matrix, strengths.alpha, corner, down, right)
        fetch(images[q], plane, corner, down, right, rounding, out[q])
