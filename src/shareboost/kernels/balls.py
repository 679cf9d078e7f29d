"""Projection on the l1 ball, group by group."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .compiled import compiled

Array = NDArray[Any]


@compiled()
def l1_thresholds(values: Array, edges: Array, radii: Array, out: Array) -> None:
    """Write what the entries of each group shrink by when it is projected on the l1 ball.

    values (n,), of group j from ``edges[j]`` to ``edges[j + 1]``; radii and out (groups,). The
    threshold is the number theta >= 0 with ``sum(max(|v| - theta, 0)) = radius``, and 0 inside
    the ball.
    Michelot's algorithm: entries at or below the threshold of those that are left drop out
    until none does, which takes as many passes as entries at most and few in fact.
    """
    for j in range(edges.size - 1):
        total = 0.0
        for i in range(edges[j], edges[j + 1]):
            total += abs(values[i])
        radius = radii[j]
        if total <= radius:
            out[j] = 0.0
            continue
        count = edges[j + 1] - edges[j]
        theta = (total - radius) / count
        while True:
            left, kept = 0.0, 0
            for i in range(edges[j], edges[j + 1]):
                size = abs(values[i])
                if size > theta:
                    left += size
                    kept += 1
            if kept == count or kept == 0:
                break
            count = kept
            # It rises in exact numbers; rounding must not turn it back.
            theta = max(theta, (left - radius) / count)
        out[j] = theta


@compiled()
def clip_groups(values: Array, edges: Array, caps: Array) -> None:
    """Clip the entries of each group to its cap, in place."""
    for j in range(edges.size - 1):
        cap = caps[j]
        for i in range(edges[j], edges[j + 1]):
            values[i] = min(max(values[i], -cap), cap)
