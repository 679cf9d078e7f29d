"""Rows sorted into the shells around centres on a torch device, and their moments there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .fused import fused

# A tile is so long that a usual shell is about so many, of so many rows at least and at most.
TILES_A_SHELL = 8
LEAST_ROWS, MOST_ROWS = 4, 128
# What a kernel holds of a shell at once.
MOST_COORDINATES, MOST_CLASSES, LEAST_FUSED_ROWS = 128, 64, 16


class Tiles(NamedTuple):
    """The rows of some shells, some rows a tile.

    A shell's tiles follow each other, and the last is filled up with the row after all others.
    """

    rows: Tensor  # (tiles, rows of a tile)
    depths: Tensor  # likewise: a shell's squared radius less the squared distance
    stops: NDArray[np.int64]  # tiles up to each shell, from 0 on, (shells + 1,)

    def of(self, shells: slice) -> Tiles:
        """Return the tiles of a range of shells."""
        own = slice(int(self.stops[shells.start]), int(self.stops[shells.stop]))
        stops = self.stops[shells.start : shells.stop + 1] - own.start
        return Tiles(self.rows[own], self.depths[own], stops)


def tile_rows(of_shell: float) -> int:
    """Return how many rows a tile has, for about so many rows of a shell."""
    return int(np.clip(2 ** np.ceil(np.log2(of_shell / TILES_A_SHELL)), LEAST_ROWS, MOST_ROWS))


def squared_distances(points: Tensor, centres: Tensor) -> Tensor:
    """Return squared distances, (centres, n), in float32, from products in float64."""
    points, centres = points.double(), centres.double()
    squares = points.square().sum(dim=1)
    apart = torch.addmm(squares, centres, points.T, alpha=-2.0)
    apart += centres.square().sum(dim=1)[:, None]
    return apart.clamp_(min=0.0).float()


def tiled(distances: Tensor, radii: Tensor, sizes: Tensor, height: int) -> Tiles:
    """Return the tiles, of so many rows, of all shells around some centres.

    distances (centres, n), squared; radii (centres, most shells), squared and rising, of which
    a centre has as many as ``sizes`` says, (centres,). Shell s holds the rows with
    ``radii[s - 1] <= distance < radii[s]``.
    """
    n = distances.shape[1]
    shells = torch.searchsorted(radii, distances, right=True)
    first = sizes.cumsum(0) - sizes
    centre, row = torch.nonzero(shells < sizes[:, None], as_tuple=True)
    shell = shells[centre, row]
    depth = radii[centre, shell] - distances[centre, row]
    shell, order = (first[centre] + shell).sort(stable=True)
    n_rows = torch.bincount(shell, minlength=int(sizes.sum()))
    counts = (n_rows + height - 1) // height
    rank = torch.arange(len(shell), device=shell.device) - (n_rows.cumsum(0) - n_rows)[shell]
    slot = (counts.cumsum(0) - counts)[shell] * height + rank
    total = int(counts.sum())
    rows = torch.full((total * height,), n, dtype=torch.int32, device=shell.device)
    depths = torch.zeros(total * height, dtype=torch.float32, device=shell.device)
    rows[slot] = row[order].to(torch.int32)
    depths[slot] = depth[order]
    stops = np.concatenate([[0], np.cumsum(counts.cpu().numpy())])
    return Tiles(rows.view(total, height), depths.view(total, height), stops)


def joined(parts: list[Tiles]) -> Tiles:
    """Return the tiles of all parts, one after the other."""
    before = np.cumsum([0, *(part.stops[-1] for part in parts)])
    stops = [part.stops[1:] + start for part, start in zip(parts, before, strict=False)]
    return Tiles(
        torch.cat([part.rows for part in parts]),
        torch.cat([part.depths for part in parts]),
        np.concatenate([[0], *stops]),
    )


def moments(
    points: Tensor, shifts: Tensor, rows: Tensor, tiles: Tiles, power: int, squares: bool
) -> Tensor:
    """Return the moments of rows in shells, (shells, (1 + power) k, coordinates), in float64.

    points (n + 1, p + 1), coordinates, then 1, and at last a row of zeros; shifts (shells,
    p + 1), which are taken off them; rows (n + 1, k), the last zero. The k rows times the powers
    0 to ``power`` of the depth, by the coordinates, for squares by these and their squares.
    """
    fits = points.shape[1] <= MOST_COORDINATES and rows.shape[1] <= MOST_CLASSES
    if fits and not squares and power < 2 and tiles.rows.shape[1] >= LEAST_FUSED_ROWS:
        kernels: Any = fused(points)
        if kernels is not None:
            edges = torch.as_tensor(tiles.stops, device=points.device)
            return kernels.shell_moments(
                points, shifts, rows, tiles.rows, tiles.depths, edges, power
            ).double()
    which = tiles.rows.long()
    counts = torch.as_tensor(np.diff(tiles.stops), device=points.device)
    here = points[which] - shifts.repeat_interleave(counts, dim=0)[:, None]
    if squares:
        here = torch.cat([here, here.square()], dim=2)
    weighted = [rows[which]]  # zero where a tile is filled up
    for _ in range(power):
        weighted.append(weighted[-1] * tiles.depths[:, :, None])
    sums = torch.bmm(torch.cat(weighted, dim=2).transpose(1, 2), here)
    return torch.segment_reduce(sums.double(), "sum", lengths=counts, unsafe=True, initial=0.0)
