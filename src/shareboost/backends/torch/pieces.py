"""Local linear pieces on a torch device."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from ...pools.pieces import Pieces, Radii
from ...pools.table import Vector
from .forms import SumsOnDevice, padded
from .kernels import fused

# What the statistics of a part take at most.
PART_BYTES = 1 << 29
# The share of all rows inside a centre's largest radius, where that is not known.
LARGEST_SHARE = 0.5
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
    counts: NDArray[np.int64]  # of the tiles of each shell

    def of(self, shells: slice) -> Tiles:
        """Return the tiles of a range of shells."""
        counts, first = self.counts[shells], int(self.counts[: shells.start].sum())
        tiles = slice(first, first + int(counts.sum()))
        return Tiles(self.rows[tiles], self.depths[tiles], counts)


class DevicePoints(NamedTuple):
    """Rows in coordinates, and sorted into the shells of all pieces where that fits the device."""

    points: Tensor  # (n + 1, p + 1), coordinates, then 1; the last row is zero
    tiles: Tiles | None
    source: Tensor  # rows of X


class DevicePieces(SumsOnDevice, Pieces):
    """As ``Pieces``. The moments of all shells are products of small matrices, side by side.

    A row inside a centre's largest radius takes about 9 bytes for that centre. Where all do not
    fit the free memory, rows are sorted anew in every round, some centres at a time.
    """

    def _points(self, X: Tensor) -> Tensor:
        out = torch.empty(X.shape, dtype=torch.float32, device=X.device)

        def write(some: slice) -> None:
            out[some] = self.coordinates_.of(X[some])

        self.backend.memory.chunks(len(X), 24 * X.shape[1], write)
        return out

    def _radii_and_scales(
        self, points: Tensor, share: Vector, quantiles: Vector
    ) -> Iterator[Radii]:
        """Return what ``_around`` tells of each centre, step by step as there, of many at once."""
        mass, wanted = self.backend.asarray(share), self.backend.asarray(quantiles - 1e-9)
        centres, n = self.backend.asarray(self.centres_), len(points)

        def around(some: slice) -> list[Radii]:
            d, order = squared_distances(points, centres[some]).sort(dim=1)
            shares = mass[order]
            reached = torch.searchsorted(
                torch.cumsum(shares, dim=1), wanted.expand(len(d), -1).contiguous()
            )
            last = d.gather(1, reached.clamp(max=n - 1))
            beyond = torch.searchsorted(d, last, right=True)
            following = d.gather(1, beyond.clamp(max=n - 1))
            middle = ((last.sqrt() + following.sqrt()) / 2).square()
            middle = torch.where(last < middle, middle, following)
            radii = torch.where(beyond < n, middle, last * 1.001 + 1e-6)
            scales = torch.ones_like(radii, dtype=torch.float64)
            if self.form == "smooth":
                inside = (torch.searchsorted(d, radii) - 1).clamp(min=0)
                wide, r = d.double(), radii.double()
                zero, one, two, three = (
                    torch.cumsum(shares * wide**power, dim=1).gather(1, inside)
                    for power in range(4)
                )
                square = (zero + one) - 2.0 * (one + two) / r + (two + three) / r**2
                scales = (square / (points.shape[1] + 1)).clamp(min=1e-30) ** 0.25
            both = zip(radii.cpu().numpy(), scales.cpu().numpy(), strict=True)
            pieces = ((np.unique(r, return_index=True), scale) for r, scale in both)
            return [(distinct, scale[places]) for (distinct, places), scale in pieces]

        return chain.from_iterable(self.backend.memory.chunks(len(centres), 120 * n, around))

    def parts(self, n_classes: int) -> list[slice]:
        return self._of_whole_centres(n_classes, PART_BYTES)

    def encode(self, X: Tensor, rows: slice) -> DevicePoints:
        X = X[rows]
        points = pad(pad(self._points(X), (0, 1), value=1.0), (0, 0, 0, 1))
        n, n_centres = len(X), len(self.centres_)
        if not self.backend.memory.fits(int(9 * LARGEST_SHARE * n * n_centres)):
            return DevicePoints(points, None, X)
        parts = self.backend.memory.chunks(n_centres, 64 * n, partial(self._tiles, points))
        tiles, depths, counts = zip(*parts, strict=True)
        joined = Tiles(torch.cat(tiles), torch.cat(depths), np.concatenate(counts))
        return DevicePoints(points, joined, X)

    def _tiles(self, points: Tensor, centres: slice) -> Tiles:
        """Return the tiles of the shells around some centres."""
        sizes = np.diff(self.starts_)
        of_shell = LARGEST_SHARE * len(points) * len(sizes) / self.n_atoms_
        height = np.clip(2 ** np.ceil(np.log2(of_shell / TILES_A_SHELL)), LEAST_ROWS, MOST_ROWS)
        distances = squared_distances(points[:-1, :-1], self.held("centres_")[centres])
        n_radii = self.backend.asarray(sizes[centres])
        radii = self.held("radii", lambda: padded(self.squared_radii_, sizes, np.inf))
        return tiled(distances, radii[centres], n_radii, int(height))

    def prepare(self, rows: Tensor) -> Tensor:
        """Return one row an example, and one of zeros, which fill the tiles up."""
        return pad(rows.T.to(torch.float32), (0, 0, 0, 1))

    def sums(self, data: Any, rows: Any, part: slice, squares: bool) -> Tensor:
        """Return the rows' moments in each shell, (pieces, m k, coordinates), as on the host."""
        power, k, p = self._power(squares), rows.shape[1], data.points.shape[1] - 1
        height, width = (1 + power) * k, (1 + squares) * (p + 1)
        centres = self._centres_of(part)
        # What is taken off the coordinates in each piece, 0 off the constant.
        origins, n_radii = self._origins(), np.diff(self.starts_)
        shifts = self.held("shifts", lambda: np.pad(origins, ((0, 0), (0, 1))).repeat(n_radii, 0))

        def of_some(some: slice) -> Tensor:
            (first, from_first, _), (last, to_last, _) = centres[some][0], centres[some][-1]
            atoms = slice(from_first.start, to_last.stop)
            if data.tiles is None:
                tiles = self._tiles(data.points, slice(first, last + 1))
            else:
                tiles = data.tiles.of(atoms)
            return moments(data.points, shifts[atoms], rows, tiles, power, squares)

        n_pieces = part.stop - part.start
        inside = int(LARGEST_SHARE * len(data.points))
        each = inside * 8 * (2 + width + height) + 24 * width * height * n_pieces // len(centres)
        if data.tiles is None:
            each += 64 * len(data.points)
        return torch.cat(self.backend.memory.chunks(len(centres), each, of_some))

    def _inside(self, stats: Tensor, part: slice, k: int, squares: bool = False) -> Tensor:
        """Return the sums over the rows inside each piece, (k, columns of the part).

        A row's depth in a piece is that in its shell plus the difference of their radii.
        """
        power, times = self._power(squares), 1 + squares
        scale = self.held("piece_scale_")[part]
        radii = self.held("squared_radii_")[part].double()
        units = stats.new_ones(stats.shape[2])
        if self.form != "smooth":
            units[:-1] = self.coordinates_.unit
        moments = stats.unflatten(1, (-1, k))  # (pieces, powers, k, columns)
        sizes = np.array([mine.stop - mine.start for _, _, mine in self._centres_of(part)])
        n = part.stop - part.start
        # The pieces of each centre, (centres, most radii), n after its last, and each among these.
        by_centre = padded(np.arange(n), sizes, n)
        places = self.held(f"pieces {part}", lambda: by_centre)
        inverse = self.held(f"centres {part}", lambda: np.flatnonzero(by_centre < n))

        def inwards(values: Tensor) -> Tensor:
            """Return the sums up to each piece's own shell, from the innermost of its centre."""
            rows = torch.cat([values, values.new_zeros((1, *values.shape[1:]))])[places]
            return rows.cumsum(dim=1).flatten(0, 1)[inverse]

        r = radii[:, None, None]
        zero = moments[:, 0]
        if power == 0:
            sums = inwards(zero)
        elif power == 1:
            sums = inwards(moments[:, 1] - r * zero) + r * inwards(zero)
        else:
            one, two = moments[:, 1], moments[:, 2]
            sums = inwards(two - 2.0 * r * one + r**2 * zero)
            sums += 2.0 * r * inwards(one - r * zero) + r**2 * inwards(zero)
        scales = (scale**times * radii**power)[:, None, None]
        return (sums * (units**times / scales)).transpose(0, 1).flatten(1)


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
    return Tiles(rows.view(total, height), depths.view(total, height), counts.cpu().numpy())


def moments(
    points: Tensor, shifts: Tensor, rows: Tensor, tiles: Tiles, power: int, squares: bool
) -> Tensor:
    """Return the moments of rows in shells, (shells, (1 + power) k, coordinates), in float64.

    points (n + 1, p + 1); shifts (shells, p + 1), which are taken off them; rows (n + 1, k), the
    last zero. The k rows times the powers 0 to ``power`` of the depth, by the coordinates, for
    squares by these and their squares.
    """
    fits = points.shape[1] <= MOST_COORDINATES and rows.shape[1] <= MOST_CLASSES
    fits = fits and not squares and power < 2 and tiles.rows.shape[1] >= LEAST_FUSED_ROWS
    if fits and (kernels := fused(points.device)) is not None:
        edges = torch.as_tensor(np.cumsum(np.pad(tiles.counts, (1, 0))), device=points.device)
        found = kernels.shell_moments(points, shifts, rows, tiles.rows, tiles.depths, edges, power)
        return found.double()
    which = tiles.rows.long()
    counts = torch.as_tensor(tiles.counts, device=points.device)
    here = points[which] - shifts.repeat_interleave(counts, dim=0)[:, None]
    if squares:
        here = torch.cat([here, here.square()], dim=2)
    weighted = [rows[which]]  # zero where a tile is filled up
    for _ in range(power):
        weighted.append(weighted[-1] * tiles.depths[:, :, None])
    sums = torch.bmm(torch.cat(weighted, dim=2).transpose(1, 2), here)
    return torch.segment_reduce(sums.double(), "sum", lengths=counts, unsafe=True, initial=0.0)
