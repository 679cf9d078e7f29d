"""Local linear pieces on a torch device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...pools.pieces import Coordinates, Pieces
from .on_device import OnDevice
from .shells import Tiles, joined, moments, squared_distances, tile_rows, tiled

# What the statistics of a part take at most.
PART_BYTES = 1 << 29
# The share of all rows inside a centre's largest radius, where that is not known.
LARGEST_SHARE = 0.5


class DevicePoints(NamedTuple):
    """Rows in coordinates, and sorted into the shells of all pieces where that fits the device."""

    points: Tensor  # (n + 1, p + 1), coordinates, then 1; the last row is zero
    tiles: Tiles | None
    source: Tensor  # rows of X


class DevicePieces(OnDevice, Pieces):
    """As ``Pieces``. The moments of all shells are products of small matrices, side by side.

    A row inside a centre's largest radius takes about 9 bytes for that centre. Where those of
    all centres do not fit the free memory, rows are sorted anew in every round, some centres
    at a time.
    """

    def _located(self, X: Tensor, share: NDArray[np.float64]) -> Tensor:
        own = self.backend.asarray(share)
        pivot = X[0].double()
        one = torch.ones_like(pivot)
        mean = pivot + self.backend.powers(X, own, pivot, one)[0]
        low, high = self.backend.extremes(X)
        centre = self.backend.numpy(mean)
        largest = float(np.maximum(high - centre, centre - low).max())
        if largest == 0.0:  # any unit would do, but the mean must be a float32 in it
            self.coordinates_ = Coordinates(centre, float(np.abs(centre).max()) or 1.0)
        else:
            squares = self.backend.powers(X, own, mean, largest * one)[1]
            unit = largest * float(torch.sqrt(squares.mean()))
            self.coordinates_ = Coordinates(centre, unit)
        return self._points(X)

    def _points(self, X: Tensor) -> Tensor:
        """Return the rows in coordinates, in float32, (n, p)."""
        out = torch.empty(X.shape, dtype=torch.float32, device=X.device)
        mean, unit = self.backend.asarray(self.coordinates_.mean), self.coordinates_.unit

        def write(some: slice) -> None:
            out[some] = (X[some].double() - mean) / unit

        self.backend.memory.chunks(len(X), 24 * X.shape[1], write, "the coordinates of rows")
        return out

    def _radii_and_scales(
        self, points: Tensor, share: NDArray[np.float64], quantiles: NDArray[np.float64]
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float64]]]:
        own, wanted = self.backend.asarray(share), self.backend.asarray(quantiles - 1e-9)
        found: list[tuple[NDArray[np.float32], NDArray[np.float64]]] = []
        centres = self.backend.asarray(self.centres_)

        def write(some: slice) -> None:
            radii, scales = self._around_all(squared_distances(points, centres[some]), own, wanted)
            for of_centre, scale in zip(
                self.backend.numpy(radii), self.backend.numpy(scales), strict=True
            ):
                distinct, places = np.unique(of_centre, return_index=True)
                found.append((distinct, scale[places]))

        self.backend.memory.chunks(
            len(centres), len(points) * 120, write, "the distances from a centre"
        )
        yield from found

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
        if "radii" not in self._held:
            radii = np.full((len(sizes), int(sizes.max())), np.inf, dtype=np.float32)
            radii[np.arange(radii.shape[1]) < sizes[:, None]] = self.squared_radii_
            self._held["radii"] = self.backend.asarray(radii)
        height = tile_rows(LARGEST_SHARE * len(points) * len(sizes) / self.n_atoms_)
        distances = squared_distances(points[:-1, :-1], self.here("centres_")[centres])
        own = self.backend.asarray(sizes[centres])
        return tiled(distances, self._held["radii"][centres], own, height)

    def prepare(self, rows: Tensor) -> Tensor:
        """Return one row an example, and one of zeros, which fill the tiles up."""
        by_example = rows.T.to(torch.float32)
        return torch.cat([by_example, by_example.new_zeros((1, len(rows)))])

    def stats(
        self, data: Any, rows: Any, part: slice, out: Any = None, squares: bool = False
    ) -> Tensor:
        """Return the rows' moments in each shell, (pieces, m k, coordinates).

        As on the host: rows times the powers of the depth, by coordinates, for squares by
        these and their squares.
        """
        power, k, p = self._power(squares), rows.shape[1], data.points.shape[1] - 1
        height, width = (1 + power) * k, (1 + squares) * (p + 1)
        found = torch.empty(
            (part.stop - part.start, height, width), dtype=torch.float64, device=rows.device
        )
        centres = self._centres_of(part)
        shifts = self._shifts()

        def write(some: slice) -> None:
            atoms = slice(centres[some.start][1].start, centres[some.stop - 1][1].stop)
            if data.tiles is not None:
                tiles = data.tiles.of(atoms)
            else:
                first = centres[0][0]
                tiles = self._tiles(data.points, slice(first + some.start, first + some.stop))
            own = slice(atoms.start - part.start, atoms.stop - part.start)
            found[own] = moments(data.points, shifts[atoms], rows, tiles, power, squares)

        inside = int(LARGEST_SHARE * len(data.points))
        each = inside * 8 * (2 + width + height) + 24 * width * height * len(found) // len(centres)
        if data.tiles is None:
            each += 64 * len(data.points)
        self.backend.memory.chunks(len(centres), each, write, "the shells of a centre")
        return found if out is None else out.add_(found)

    def columns(self, data: DevicePoints, atom: int) -> Tensor:
        return self.backend.columns(self.features([atom]), data.source).T

    def _shifts(self) -> Tensor:
        """Return what is taken off the coordinates in each piece, 0 off the constant."""
        if "shifts" not in self._held:
            origins = np.repeat(self._origins(), np.diff(self.starts_), axis=0)
            none = np.zeros((len(origins), 1), dtype=np.float32)
            self._held["shifts"] = self.backend.asarray(np.hstack([origins, none]))
        return self._held["shifts"]

    def _inside(self, stats: Tensor, part: slice, k: int, squares: bool = False) -> Tensor:
        """Return the sums over the rows inside each piece, (k, columns of the part).

        A row's depth in a piece is that in its shell and the difference of their radii, so
        sums along the radii of the powers of both give those of all pieces.
        """
        power, times = self._power(squares), 1 + squares
        radii, scale = self.here("squared_radii_")[part].double(), self.here("piece_scale_")[part]
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
        names = f"pieces {part}", f"centres {part}"
        if names[0] not in self._held:
            sizes = np.array([own.stop - own.start for _, _, own in self._centres_of(part)])
            places = np.full((len(sizes), int(sizes.max())), part.stop - part.start)
            held = np.arange(places.shape[1]) < sizes[:, None]
            places[held] = np.arange(part.stop - part.start)
            self._held[names[0]] = self.backend.asarray(places)
            self._held[names[1]] = self.backend.asarray(np.flatnonzero(held))
        return self._held[names[0]], self._held[names[1]]
