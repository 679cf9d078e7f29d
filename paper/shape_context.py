"""Nearest neighbours under shape context matching, a rival of the paper's table 1.

Two images are as far apart as the cheapest one-to-one matching of points along their contours,
where a pair costs the chi-squared distance of what the points see of their own image: histograms
of directions and distances of its other points. There are no warps between matchings and no
comparison of grey values as in the complete method.

References
----------
S. Belongie, J. Malik, J. Puzicha, "Shape matching and object recognition using shape contexts",
IEEE Transactions on Pattern Analysis and Machine Intelligence 24 (2002).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shareboost.kernels.compiled import compiled

Array = NDArray[Any]

POINTS = 100
ANGLES = 12
# Edges of the rings in mean distances between points, as in the authors' code; what lies
# within the first counts to the innermost ring, what lies beyond the last to none.
RINGS = np.geomspace(0.125, 2.0, 5)
BINS = ANGLES * RINGS.size

_GUESS_STEP = 5  # every fifth point is enough to guess which images are near
_GUESSED = 10  # whose matchings tell early how near the nearest are
_SLACK = 1e-3  # for rounding: a sum of 100 costs of at most 1 is good to 1e-4


class Neighbours(NamedTuple):
    """The nearest images, nearest first."""

    places: Array  # (k,)
    costs: Array  # (k,), of the matchings
    n_matched: int  # for how many images a matching was found


def contour_points(image: Array, n_points: int = POINTS) -> Array:
    """Return points (x, y) spaced evenly along an image's contours at half its intensity.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        The background is 0.
    n_points : int, default=POINTS

    Returns
    -------
    ndarray of shape (n_points, 2)
    """
    from contourpy import contour_generator

    padded = np.pad(np.asarray(image, dtype=np.float64), 1)  # closes contours at the border
    if not padded.any():
        raise ValueError("image has no pixel above 0: it takes images with a contour.")
    lines: Any = contour_generator(z=padded).lines(padded.max() / 2)
    starts = np.concatenate([line[:-1] for line in lines])
    steps = np.concatenate([np.diff(line, axis=0) for line in lines])
    lengths = np.hypot(steps[:, 0], steps[:, 1])
    ends = np.cumsum(lengths)
    wanted = (np.arange(n_points) + 0.5) * (ends[-1] / n_points)
    piece = np.minimum(np.searchsorted(ends, wanted), ends.size - 1)
    share = 1.0 - (ends[piece] - wanted) / lengths[piece]
    return starts[piece] + share[:, None] * steps[piece] - 1.0


def descriptors(points: Array) -> Array:
    """Return how many of the other points each point sees in every bin.

    Bins are 12 directions times 5 rings, whose radii grow by a constant factor and are counted
    in mean distances between the points: a larger image has the same descriptors.

    Parameters
    ----------
    points : ndarray of shape (n, 2)

    Returns
    -------
    ndarray of shape (n, BINS), uint8
    """
    apart = points[None, :, :] - points[:, None, :]
    distance = np.hypot(apart[..., 0], apart[..., 1])
    n = len(points)
    ring = np.searchsorted(RINGS, distance / (distance.sum() / (n * (n - 1))))
    turn = np.arctan2(apart[..., 1], apart[..., 0]) / (2 * np.pi) % 1.0
    direction = np.minimum((turn * ANGLES).astype(np.intp), ANGLES - 1)
    seen = (ring < RINGS.size) & ~np.eye(n, dtype=bool)
    owner = np.broadcast_to(np.arange(n)[:, None], (n, n))[seen]
    bins = (owner * ANGLES + direction[seen]) * RINGS.size + ring[seen]
    return np.bincount(bins, minlength=n * BINS).reshape(n, BINS).astype(np.uint8)


def all_descriptors(images: Array) -> Array:
    """Return the descriptors of images (n, height, width): (n, BINS, POINTS), one row a bin."""
    out = np.empty((len(images), BINS, POINTS), dtype=np.uint8)
    for image, target in zip(images, out, strict=True):
        target[:] = descriptors(contour_points(image)).T
    return out


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def _cost_row(g: Array, others: Array, sums: Array, out: Array) -> None:
    """Write the chi-squared distances of one histogram from those of another image.

    g (bins,), float32; others (bins, n), float32; sums (n,), of the other histograms. With
    histograms g and h of the sums G and H, (g - h)^2 / (g + h) = g + h - 4 (g - g^2 / (g + h)),
    and bins with g = 0 add only to H.
    """
    total = np.float32(0.0)
    out[:] = 0
    for b in range(g.size):
        if g[b] > 0:
            total += g[b]
            own, square = g[b], g[b] * g[b]
            row = others[b]
            for j in range(out.size):
                out[j] += square / (own + row[j])
    for j in range(out.size):
        # Over the sums, so that images whose points all lie within the last ring cost 0 to 1.
        cost = (sums[j] - np.float32(3.0) * total + np.float32(4.0) * out[j]) / (sums[j] + total)
        out[j] = max(cost, np.float32(0.0))


@compiled()
def _as_floats(counts: Array, floats: Array, sums: Array) -> None:
    """Write counts (bins, n) as float32 and their sums over bins."""
    sums[:] = 0
    for b in range(counts.shape[0]):
        for j in range(counts.shape[1]):
            floats[b, j] = counts[b, j]
            sums[j] += floats[b, j]


@compiled()
def _costs(query: Array, counts: Array) -> Array:
    """Return the costs of all pairs of points, (points of the query, points of the image)."""
    n = counts.shape[1]
    floats, sums = np.empty(counts.shape, dtype=np.float32), np.empty(n, dtype=np.float32)
    _as_floats(counts, floats, sums)
    out = np.empty((query.shape[0], n), dtype=np.float32)
    for i in range(query.shape[0]):
        _cost_row(query[i], floats, sums, out[i])
    return out


@compiled()
def _bounds(query: Array, images: Array, limit: float, out: Array) -> None:
    """Write a lower bound of the cost of matching the query with each of the images.

    query (points, bins), float32, or some of its points; images (n, bins, points), uint8; out
    (n,). A point costs at least as much as its cheapest partner, and a partner as its cheapest
    point. An image is left as soon as the sum exceeds the limit.
    """
    n_points = images.shape[2]
    floats = np.empty(images.shape[1:], dtype=np.float32)
    sums = np.empty(n_points, dtype=np.float32)
    costs = np.empty(n_points, dtype=np.float32)
    cheapest = np.empty(n_points, dtype=np.float32)
    for place in range(images.shape[0]):
        _as_floats(images[place], floats, sums)
        total = 0.0
        cheapest[:] = np.inf
        for i in range(query.shape[0]):
            _cost_row(query[i], floats, sums, costs)
            least = costs[0]
            for j in range(n_points):
                least = min(least, costs[j])
                cheapest[j] = min(cheapest[j], costs[j])
            total += least
            if total > limit:
                break
        else:
            if query.shape[0] == n_points:
                of_partners = 0.0
                for j in range(n_points):
                    of_partners += cheapest[j]
                total = max(total, of_partners)
        out[place] = total


def matching_cost(query: Array, image: Array) -> float:
    """Return the cost of the cheapest matching of descriptors, (BINS, POINTS) each."""
    costs = _costs(np.ascontiguousarray(query.T, dtype=np.float32), image)
    return float(costs[linear_sum_assignment(costs)].sum(dtype=np.float64))


def nearest(query: Array, images: Array, k: int = 3) -> Neighbours:
    """Return the k images whose matching with the query costs least, the earlier of equals.

    Exact, and without a matching for most images: those whose ``_bounds`` exceed the k-th cost
    found cannot be among the nearest. That cost is known early, as some points of the query
    are enough to guess which images are near.

    Parameters
    ----------
    query : ndarray of shape (BINS, POINTS), uint8
        Of ``all_descriptors``.
    images : ndarray of shape (n, BINS, POINTS), uint8
    k : int, default=3
    """
    points = np.ascontiguousarray(query.T, dtype=np.float32)
    bounds = np.empty(len(images), dtype=np.float32)
    _bounds(points[::_GUESS_STEP].copy(), images, np.inf, bounds)
    guessed = np.argsort(bounds, kind="stable")[: max(_GUESSED, k)]
    costs = {int(place): matching_cost(query, images[place]) for place in guessed}
    limit = sorted(costs.values())[:k][-1] + _SLACK
    _bounds(points, images, limit, bounds)
    for place in np.argsort(bounds, kind="stable"):
        if bounds[place] > limit:
            break
        if int(place) not in costs:
            costs[int(place)] = matching_cost(query, images[place])
            limit = sorted(costs.values())[:k][-1] + _SLACK
    best = sorted(costs.items(), key=lambda found: (found[1], found[0]))[:k]
    return Neighbours(
        np.array([place for place, _ in best]), np.array([cost for _, cost in best]), len(costs)
    )
