"""Residual moments of the rows in the shells around a centre, and the scores of its pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True, fastmath=True)
def squared_distances(points: Array, centre: Array, out: Array) -> None:
    """Write the squared distance of every point, (n, p), from the centre, (p,)."""
    for i in range(points.shape[0]):
        total = np.float32(0.0)
        for j in range(points.shape[1]):
            apart = points[i, j] - centre[j]
            total += apart * apart
        out[i] = total


@njit(cache=True, nogil=True)
def sort_into_shells(distances: Array, squared_radii: Array, order: Array, edges: Array) -> None:
    """Write the rows inside the largest radius, from the innermost shell outwards.

    distances (n,), squared; squared_radii (s,), rising; shell s holds the rows with
    ``radii[s - 1] <= distance < radii[s]``, which are ``order[edges[s]:edges[s + 1]]``.
    """
    n, n_shells = distances.size, squared_radii.size
    shell = np.empty(n, dtype=np.int64)
    edges[:] = 0
    for i in range(n):
        shell[i] = np.searchsorted(squared_radii, distances[i], side="right")
        if shell[i] < n_shells:
            edges[shell[i] + 1] += 1
    for s in range(n_shells):
        edges[s + 1] += edges[s]
    place = edges.copy()
    for i in range(n):
        if shell[i] < n_shells:
            order[place[shell[i]]] = i
            place[shell[i]] += 1


@njit(cache=True, nogil=True)
def add_moments(
    points: Array,
    rows: Array,
    order: Array,
    distances: Array,
    edges: Array,
    smooth: bool,
    out: Array,
) -> None:
    """Add to each shell of one centre its sums of residual times coordinates.

    points (n, p), the last coordinate 1; rows (n, k), the residual; order and distances
    of the rows in shells and edges (s + 1,), as made by ``sort_into_shells``; out (s, k,
    p), or (s, 2 k, p) if smooth: then the lower half has the residual times the squared
    distance.
    """
    k, p = rows.shape[1], points.shape[1]
    inside = edges[-1] - edges[0]
    width = 2 * k if smooth else k
    here = np.empty((inside, p), dtype=np.float32)
    residual = np.empty((inside, width), dtype=np.float32)
    for place in range(inside):
        i = order[edges[0] + place]
        far = distances[edges[0] + place]
        for j in range(p):
            here[place, j] = points[i, j]
        for q in range(k):
            residual[place, q] = rows[i, q]
        if smooth:
            for q in range(k):
                residual[place, k + q] = rows[i, q] * far
    found = np.empty((width, p), dtype=np.float32)
    for s in range(edges.size - 1):
        start, stop = edges[s] - edges[0], edges[s + 1] - edges[0]
        if stop > start:
            np.dot(residual[start:stop].T, here[start:stop], found)
            for q in range(width):
                for j in range(p):
                    out[s, q, j] += found[q, j]


@njit(cache=True, nogil=True)
def piece_scores(
    moments: Array,
    squared_radii: Array,
    offset: Array,
    scales: Array,
    smooth: bool,
    scores: Array,
) -> None:
    """Write the score of every piece around one centre.

    moments as made by ``add_moments``; a coordinate's column is the coordinate plus its
    offset, (p,), over its scale; scales (s, p + 1), the last that of the constant.
    """
    n_shells, width, n_columns = moments.shape
    k = width // 2 if smooth else width
    inside = np.zeros((width, n_columns))
    for s in range(n_shells):
        inside += moments[s]
        norm = 0.0
        for q in range(k):
            constant = inside[q, n_columns - 1]
            if smooth:
                constant -= inside[k + q, n_columns - 1] / squared_radii[s]
            norm += abs(constant) / scales[s, n_columns - 1]
            for j in range(n_columns - 1):
                value = inside[q, j]
                if smooth:
                    value -= inside[k + q, j] / squared_radii[s]
                norm += abs(value + offset[j] * constant) / scales[s, j]
        scores[s] = norm
