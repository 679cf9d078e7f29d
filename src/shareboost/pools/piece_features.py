"""Chosen pieces as plain arrays, and the coordinates in which their distances are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .base import Features, Floats, float_type
from .moments import chunks


class Coordinates(NamedTuple):
    """The affine map of X's columns into the units in which distances are taken."""

    mean: NDArray[np.float64]  # (p,)
    unit: float

    def of(self, X: Any) -> NDArray[np.float32]:
        """Return ``(X - mean) / unit`` in float32, (n, p)."""
        out = np.empty(X.shape, dtype=np.float32)
        for rows in chunks(X):
            out[rows] = (_dense(X[rows]) - self.mean) / self.unit
        return out


def coordinates_of(X: Any, share: NDArray[np.float64]) -> Coordinates:
    """Return coordinates about the weighted mean, in units of the root mean variance."""
    mean = np.zeros(X.shape[1])
    for rows in chunks(X):
        mean += share[rows] @ _dense(X[rows])
    largest, squares = 0.0, []
    for rows in chunks(X):
        part = np.abs(_dense(X[rows]) - mean)
        size = float(part.max())
        if size > 0:  # squares of numbers up to 1, which do not overflow
            squares.append((size, float(share[rows] @ np.square(part / size).sum(axis=1))))
        largest = max(largest, size)
    if largest == 0.0:  # any unit would do, but the mean must be a float32 in it
        return Coordinates(mean, float(np.abs(mean).max()) or 1.0)
    variance = sum(square * (size / largest) ** 2 for size, square in squares) / X.shape[1]
    return Coordinates(mean, largest * float(np.sqrt(variance)))


def _dense(X: Any) -> NDArray[Any]:
    """Return some rows of X as an array."""
    return X.toarray() if sp.issparse(X) else X


@dataclass(frozen=True)
class PieceFeatures(Features):
    """Chosen pieces: the centre and the radius of each."""

    ids: NDArray[np.intp]
    numbers: NDArray[np.intp]  # of the centres
    centres: NDArray[np.float32]  # (n, p), in coordinates
    squared_radii: NDArray[np.float32]  # in coordinates
    digits: NDArray[np.intp]  # that tell a radius from its neighbours
    coordinates: Coordinates
    form: str

    @property
    def widths(self) -> NDArray[np.intp]:
        return np.full(self.ids.size, self.centres.shape[1] + 1, dtype=np.intp)

    def columns(self, X: Any) -> Any:
        X = X.tocsr() if sp.issparse(X) else X
        out = np.empty((self.n_columns, X.shape[0]), dtype=float_type(X.dtype))
        for rows in chunks(X):
            self.write(X[rows], self.coordinates.of(X[rows]), out[:, rows])
        return out.T

    def write(self, X: Any, points: NDArray[np.float32], out: Floats) -> None:
        """Write the columns of some rows, also given in coordinates, into out, (n_columns, n)."""
        from ..kernels.shells import squared_distances

        n, p = points.shape
        values = _dense(X).T
        distances = np.empty(n, dtype=np.float32)
        for place, (centre, radius) in enumerate(
            zip(self.centres, self.squared_radii, strict=True)
        ):
            squared_distances(points, centre, distances)
            piece = out[place * (p + 1) : (place + 1) * (p + 1)]
            if self.form == "paper":
                inside = (distances < radius).astype(out.dtype)
                np.multiply(values, inside, out=piece[:-1], casting="unsafe")
            else:
                inside = np.maximum(1.0 - distances / radius, 0.0).astype(out.dtype)
                own = self.coordinates.mean + self.coordinates.unit * centre.astype(np.float64)
                np.multiply(values - own[:, None], inside, out=piece[:-1], casting="unsafe")
            piece[-1] = inside

    def names(self, input_names: Sequence[str]) -> list[str]:
        names = []
        for piece in self.atom_names(input_names):
            names += [f"{piece}: {name}" for name in input_names] + [piece]
        return names

    def atom_names(self, input_names: Sequence[str]) -> list[str]:
        radii = self.coordinates.unit * np.sqrt(self.squared_radii.astype(np.float64))
        return [
            f"piece {number} (r = {radius:.{digits}g})"
            for number, radius, digits in zip(self.numbers, radii, self.digits, strict=True)
        ]

    def shares(self, n_columns_in: int) -> sp.csr_array:
        """Return the shares: a column of X has its own slope, and a part of the level."""
        level = np.full((1, n_columns_in), 1.0 / n_columns_in)
        piece = sp.vstack([sp.eye_array(n_columns_in), sp.csr_array(level)], format="csr")
        return piece[np.tile(np.arange(n_columns_in + 1), self.ids.size)]

    def renumbered(self, places: NDArray[np.intp]) -> PieceFeatures:
        return self  # which reads all columns

    def take(self, places: NDArray[np.intp]) -> PieceFeatures:
        return PieceFeatures(
            self.ids[places],
            self.numbers[places],
            self.centres[places],
            self.squared_radii[places],
            self.digits[places],
            self.coordinates,
            self.form,
        )
