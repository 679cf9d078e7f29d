"""Moments of the rows in the shells around a centre, and of its pieces from them."""

from __future__ import annotations

import numpy as np

from .compiled import Array, compiled


@compiled(fastmath=True)
def squared_distances(points: Array, centre: Array, out: Array) -> None:
    """Write the squared distance of every point, (n, p), from the centre, (p,)."""
    for i in range(points.shape[0]):
        total = np.float32(0.0)
        for j in range(points.shape[1]):
            apart = points[i, j] - centre[j]
            total += apart * apart
        out[i] = total


@compiled()
def sort_into_shells(distances: Array, squared_radii: Array, order: Array, edges: Array) -> None:
    """Write the rows inside the largest radius, from the innermost shell outwards.

    distances (n,), squared; squared_radii (s,), rising; shell s holds the rows with
    ``radii[s - 1] <= distance < radii[s]``, which are ``order[edges[s]:edges[s + 1]]``.
    """
    n, n_shells = distances.size, squared_radii.size
    shell = np.empty(n, dtype=np.int64)
    edges[:] = 0
    for i in range(n):
        low, high = 0, n_shells  # Numba's searchsorted takes half a second to compile
        while low < high:
            middle = (low + high) // 2
            if squared_radii[middle] <= distances[i]:
                low = middle + 1
            else:
                high = middle
        shell[i] = low
        if low < n_shells:
            edges[shell[i] + 1] += 1
    for s in range(n_shells):
        edges[s + 1] += edges[s]
    place = edges.copy()
    for i in range(n):
        if shell[i] < n_shells:
            order[place[shell[i]]] = i
            place[shell[i]] += 1


@compiled()
def add_moments(
    points: Array, origin: Array, rows: Array, order: Array, depths: Array, edges: Array, out: Array
) -> None:
    """Add to each shell of one centre its sums of rows times coordinates.

    points (n, p) and origin (p,), which is subtracted; a coordinate of 1 follows. rows (n, k),
    the residual; order and edges (s + 1,), as made by ``sort_into_shells``, and in that order
    the depths of the rows: their shell's squared radius less their squared distance. out
    (s, m k, c): the k rows times the powers 0 to m - 1 of the depth, by the c = p + 1
    coordinates, or by c = 2 (p + 1), these and their squares.
    """
    k, p = rows.shape[1], points.shape[1]
    width, n_columns = out.shape[1], out.shape[2]
    inside = edges[-1] - edges[0]
    here = np.empty((inside, n_columns), dtype=np.float32)
    weighted = np.empty((inside, width), dtype=np.float32)
    for place in range(inside):
        i = order[edges[0] + place]
        for j in range(p):
            here[place, j] = points[i, j] - origin[j]
        here[place, p] = 1.0
        if n_columns > p + 1:
            for j in range(p + 1):
                here[place, p + 1 + j] = here[place, j] * here[place, j]
        for q in range(k):
            weighted[place, q] = rows[i, q]
        factor = np.float32(1.0)
        for power in range(1, width // k):
            factor *= depths[edges[0] + place]
            for q in range(k):
                weighted[place, power * k + q] = rows[i, q] * factor
    found = np.empty((width, n_columns), dtype=np.float32)
    for s in range(edges.size - 1):
        start, stop = edges[s] - edges[0], edges[s + 1] - edges[0]
        if stop > start:
            np.dot(weighted[start:stop].T, here[start:stop], found)
            for q in range(width):
                for j in range(n_columns):
                    out[s, q, j] += found[q, j]


@compiled()
def sum_outwards(
    moments: Array, squared_radii: Array, power: int, factors: Array, out: Array
) -> None:
    """Write the sums inside every radius of one centre, of rows times a power of the depth.

    moments (s, m k, p), as made by ``add_moments`` for m > power; squared_radii (s,); factors
    (s, p), which the sums are multiplied by; out (k, s, p).

    From one radius to the next the depth of every row grows by the same step, so each power's
    sum grows by those of the lower ones, as a binomial does. Of rows that are not negative
    all terms are positive: no digit cancels, however thin the shells.
    """
    k, n_shells, p = out.shape
    inside = np.zeros(((power + 1) * k, p))
    for s in range(n_shells):
        step = squared_radii[s] - squared_radii[s - 1] if s else 0.0
        for lowest in range(1, power + 1):
            for q in range((power + 1) * k - 1, lowest * k - 1, -1):
                for j in range(p):
                    inside[q, j] += step * inside[q - k, j]
        for q in range((power + 1) * k):
            for j in range(p):
                inside[q, j] += moments[s, q, j]
        for q in range(k):
            for j in range(p):
                out[q, s, j] = inside[power * k + q, j] * factors[s, j]
