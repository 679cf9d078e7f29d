"""Local linear pieces on a torch device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...pools.pieces import Pieces
from .forms import SumsOnDevice, padded
from .kernels import fused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ...pools.table import Vector

# What the statistics of a part take at most.
PART_BYTES = 1 << 29
# The share of all rows inside a centre's largest radius, where that is not known.
LARGEST_SHARE = 0.5
# A tile is so long that a usual shell is about so many, of so many rows at least and at most.
TILES_A_SHELL = 8
LEAST_ROWS, MOST_ROWS = 4, 128
# What a kernel holds of a shell at once.
MOST_COORDINATES, MOST_CLASSES, LEAST_FUSED_ROWS = 128, 64, 16


class DevicePoints(NamedTuple):
    """Rows in coordinates, and sorted into the shells of all pieces where that fits the device."""

    points: Tensor  # (n + 1, p + 1), coordinates, then 1; the last row is zero
    tiles: Tiles | None
    source: Tensor  # rows of X


class DevicePieces(SumsOnDevice, Pieces):
    """As ``Pieces``. The moments of all shells are products of small matrices, side by side.

    A row inside a centre's largest radius takes about 9 bytes for that centre. Where those of
    all centres do not fit the free memory, rows are sorted anew in every round, some centres
    at a time.
    """

    def _points(self, X: Tensor) -> Tensor:
        """Return the rows in coordinates, in float32, (n, p)."""
        out = torch.empty(X.shape, dtype=torch.float32, device=X.device)
        mean, unit = self.backend.asarray(self.coordinates_.mean), self.coordinates_.unit

        def write(some: slice) -> None:
            out[some] = (X[some].double() - mean) / unit

        self.backend.memory.chunks(len(X), 24 * X.shape[1], write, "the coordinates of rows")
        return out

    def _radii_and_scales(
        self, points: Tensor, share: Vector, quantiles: Vector
    ) -> Iterator[tuple[NDArray[np.float32], Vector]]:
        mass, wanted = self.backend.asarray(share), self.backend.asarray(quantiles - 1e-9)
        pieces: list[tuple[NDArray[np.float32], Vector]] = []
        centres = self.backend.asarray(self.centres_)

        def write(some: slice) -> None:
            around = self._around_all(squared_distances(points, centres[some]), mass, wanted)
            for radii, scales in zip(*map(self.backend.numpy, around), strict=True):
                distinct, places = np.unique(radii, return_index=True)
                pieces.append((distinct, scales[places]))

        each = len(points) * 120
        self.backend.memory.chunks(len(centres), each, write, "the distances from a centre")
        yield from pieces

    def _around_all(
        self, distances: Tensor, share: Tensor, wanted: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the squared radii of centres, (centres, radii), and the scale of each piece.

        Step by step as ``_around`` of one centre, before equal radii are made one.
        """
        n, c = distances.shape[1], len(distances)
        d, order = distances.sort(dim=1)
        mass = share[order]
        reached = torch.searchsorted(torch.cumsum(mass, dim=1), wanted.expand(c, -1).contiguous())
        last = d.gather(1, reached.clamp(max=n - 1))
        beyond = torch.searchsorted(d, last, right=True)
        following = d.gather(1, beyond.clamp(max=n - 1))
        middle = ((last.sqrt() + following.sqrt()) / 2).square()
        middle = torch.where(last < middle, middle, following)
        radii = torch.where(beyond < n, middle, last * 1.001 + 1e-6)
        if self.form != "smooth":
            return radii, torch.ones_like(radii, dtype=torch.float64)
        inside = (torch.searchsorted(d, radii) - 1).clamp(min=0)
        wide, r = d.double(), radii.double()
        sums = [torch.cumsum(mass * wide**power, dim=1).gather(1, inside) for power in range(4)]
        zero, one, two, three = sums
        square = (zero + one) - 2.0 * (one + two) / r + (two + three) / r**2
        return radii, (square / (self.centres_.shape[1] + 1)).clamp(min=1e-30) ** 0.25

    def parts(self, n_classes: int) -> list[slice]:
        return self._of_whole_centres(n_classes, PART_BYTES)

    def encode(self, X: Tensor, rows: slice) -> DevicePoints:
        X = X[rows]
        coordinates = self._points(X)
        n, p = coordinates.shape
        one, none = coordinates.new_ones((n, 1)), coordinates.new_zeros((1, p + 1))
        points = torch.cat([torch.cat([coordinates, one], dim=1), none])
        n_centres = len(self.centres_)
        if not self.backend.memory.fits(int(9 * LARGEST_SHARE * n * n_centres)):
            return DevicePoints(points, None, X)
        parts: list[Tiles] = []

        def sort(some: slice) -> None:
            parts.append(self._tiles(points, some))

        self.backend.memory.chunks(n_centres, 64 * n, sort, "the shells of a centre")
        return DevicePoints(points, joined(parts), X)

    def _tiles(self, points: Tensor, centres: slice) -> Tiles:
        """Return the tiles of the shells around some centres."""
        sizes = np.diff(self.starts_)
        height = tile_rows(LARGEST_SHARE * len(points) * len(sizes) / self.n_atoms_)
        distances = squared_distances(points[:-1, :-1], self._learned("centres_")[centres])
        n_radii = self.backend.asarray(sizes[centres])
        radii = self.held("radii", lambda: padded(self.squared_radii_, sizes, np.inf))
        return tiled(distances, radii[centres], n_radii, height)

    def prepare(self, rows: Tensor) -> Tensor:
        """Return one row an example, and one of zeros, which fill the tiles up."""
        by_example = rows.T.to(torch.float32)
        return torch.cat([by_example, by_example.new_zeros((1, len(rows)))])

    def sums(self, data: Any, rows: Any, part: slice, squares: bool) -> Tensor:
        """Return the rows' moments in each shell, (pieces, m k, coordinates).

        As on the host: rows times the powers of the depth, by coordinates, for squares by
        these and their squares.
        """
        power, k, p = self._power(squares), rows.shape[1], data.points.shape[1] - 1
        height, width = (1 + power) * k, (1 + squares) * (p + 1)
        shape = part.stop - part.start, height, width
        sums = torch.empty(shape, dtype=torch.float64, device=rows.device)
        centres = self._centres_of(part)
        # What is taken off the coordinates in each piece, 0 off the constant.
        shifts = self.held("shifts", self._shifts)

        def write(some: slice) -> None:
            atoms = slice(centres[some.start][1].start, centres[some.stop - 1][1].stop)
            if data.tiles is not None:
                tiles = data.tiles.of(atoms)
            else:
                first = centres[0][0]
                tiles = self._tiles(data.points, slice(first + some.start, first + some.stop))
            mine = slice(atoms.start - part.start, atoms.stop - part.start)
            sums[mine] = moments(data.points, shifts[atoms], rows, tiles, power, squares)

        inside = int(LARGEST_SHARE * len(data.points))
        each = inside * 8 * (2 + width + height) + 24 * width * height * len(sums) // len(centres)
        if data.tiles is None:
            each += 64 * len(data.points)
        self.backend.memory.chunks(len(centres), each, write, "the shells of a centre")
        return sums

    def _shifts(self) -> NDArray[np.float32]:
        origins = np.repeat(self._origins(), np.diff(self.starts_), axis=0)
        return np.pad(origins, ((0, 0), (0, 1)))

    def _inside(self, stats: Tensor, part: slice, k: int, squares: bool = False) -> Tensor:
        """Return the sums over the rows inside each piece, (k, columns of the part).

        A row's depth in a piece is that in its shell and the difference of their radii, so
        sums along the radii of the powers of both give those of all pieces.
        """
        power, times = self._power(squares), 1 + squares
        scale = self._learned("piece_scale_")[part]
        radii = self._learned("squared_radii_")[part].double()
        units = stats.new_ones(stats.shape[2])
        if self.form != "smooth":
            units[:-1] = self.coordinates_.unit
        moments = stats.unflatten(1, (-1, k))  # (pieces, powers, k, columns)
        places, inverse = self._by_centre(part)

        def inwards(values: Tensor) -> Tensor:
            """Return the sums up to each piece's own shell, from the innermost of its centre."""
            padded = torch.cat([values, values.new_zeros((1, *values.shape[1:]))])[places]
            return padded.cumsum(dim=1).flatten(0, 1)[inverse]

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

    def _by_centre(self, part: slice) -> tuple[Tensor, Tensor]:
        """Return where the pieces of each centre are in a part, and each piece among these.

        (centres, most radii); a centre of fewer radii has the place after the last.
        """
        sizes = np.array([mine.stop - mine.start for _, _, mine in self._centres_of(part)])
        n = part.stop - part.start
        places = padded(np.arange(n), sizes, n)
        inverse = self.held(f"centres {part}", lambda: np.flatnonzero(places < n))
        return self.held(f"pieces {part}", lambda: places), inverse


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
