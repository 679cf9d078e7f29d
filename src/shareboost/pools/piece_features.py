"""Chosen pieces as plain arrays, and the coordinates in which their distances are taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import dense
from .features import (
    ATOMS,
    INPUTS,
    Choice,
    Digits,
    Features,
    Ids,
    Numbers,
    Positive,
    Reals,
    beside,
    columns_type,
    empty_beside,
    is_host,
    namespace,
)
from .moments import chunks


class Coordinates(NamedTuple):
    """The affine map of X's columns into the units in which distances are taken."""

    mean: NDArray[np.float64]  # (p,)
    unit: float

    def of(self, X: Any) -> Any:
        """Return ``(X - mean) / unit`` in float32, (n, p)."""
        shift = beside(X, -self.mean)
        out = empty_beside(X, X.shape, namespace(X).float32)
        for rows in _chunks(X):
            out[rows, :] = (dense(X[rows]) + shift) / self.unit
        return out


def coordinates_of(X: Any, share: NDArray[np.float64]) -> Coordinates:
    """Return coordinates about the weighted mean, in units of the root mean variance."""
    mean = np.zeros(X.shape[1])
    for rows in chunks(X):
        mean += share[rows] @ dense(X[rows])
    largest, squares = 0.0, []
    for rows in chunks(X):
        part = np.abs(dense(X[rows]) - mean)
        size = float(part.max())
        if size > 0:  # squares of numbers up to 1, which do not overflow
            squares.append((size, float(share[rows] @ np.square(part / size).sum(axis=1))))
        largest = max(largest, size)
    if largest == 0.0:  # any unit would do, but the mean must be a float32 in it
        return Coordinates(mean, float(np.abs(mean).max()) or 1.0)
    variance = sum(square * (size / largest) ** 2 for size, square in squares) / X.shape[1]
    return Coordinates(mean, largest * float(np.sqrt(variance)))


def _chunks(X: Any) -> list[slice]:
    """Return ranges of rows to read at a time; of a device's, which are few enough, all."""
    return chunks(X) if is_host(X) else [slice(0, X.shape[0])]


def _squared_distances(points: Any, centre: Any) -> Any:
    """Return the squared distance of each point from a centre, in float32, (n,)."""
    if not is_host(points):
        return ((points - centre) ** 2).sum(1)
    from ..kernels.shells import squared_distances

    distances = np.empty(len(points), dtype=np.float32)
    squared_distances(points, centre, distances)
    return distances


@dataclass(frozen=True)
class PieceFeatures(Features):
    """Chosen pieces: the centre and the radius of each."""

    kind = "pieces"

    ids: Ids
    numbers: Numbers  # of the centres
    centres: Annotated[NDArray[np.float32], Reals(shape=(ATOMS, INPUTS), single=True)]
    squared_radii: Annotated[NDArray[np.float32], Reals(single=True, positive=True)]
    digits: Digits  # that tell a radius from its neighbours
    mean: Annotated[NDArray[np.float64], Reals(shape=(INPUTS,))]  # as in Coordinates
    unit: Annotated[float, Positive()]
    form: Annotated[str, Choice(values=("smooth", "paper"))]

    @property
    def coordinates(self) -> Coordinates:
        """Those of the centres and radii."""
        return Coordinates(self.mean, self.unit)

    @property
    def widths(self) -> NDArray[np.intp]:
        return np.full(self.ids.size, self.centres.shape[1] + 1, dtype=np.intp)

    def columns(self, X: Any) -> Any:
        X = X.tocsr() if hasattr(X, "tocsr") else X
        out = empty_beside(X, (self.n_columns, X.shape[0]), columns_type(X))
        for rows in _chunks(X):
            self.write(X[rows], self.coordinates.of(X[rows]), out[:, rows])
        return out.T

    def write(self, X: Any, points: Any, out: Any) -> None:
        """Write the columns of some rows, also given in coordinates, into out, (n_columns, n)."""
        xp, p = namespace(points), points.shape[1]
        values, hard = dense(X).T, self.form == "paper"
        centres = beside(points, self.centres)
        if not hard:
            # Added, as torch takes booleans for sums, not for differences.
            shifts = beside(points, -(self.mean + self.unit * self.centres.astype(np.float64)))
            zero = xp.zeros_like(points[:1, 0])
        for place, radius in enumerate(self.squared_radii.tolist()):
            distances = _squared_distances(points, centres[place])
            piece = out[place * (p + 1) : (place + 1) * (p + 1)]
            if hard:
                inside = xp.astype(distances < radius, out.dtype)
                xp.multiply(values, inside, out=piece[:-1])
            else:
                depth = xp.maximum(1.0 - distances / radius, zero)
                inside = xp.astype(depth, out.dtype, copy=False)
                xp.multiply(values + shifts[place][:, None], inside, out=piece[:-1])
            piece[-1] = inside

    def names(self, input_names: Sequence[str]) -> list[str]:
        names = []
        for piece in self.atom_names(input_names):
            names += [f"{piece}: {name}" for name in input_names] + [piece]
        return names

    def atom_names(self, input_names: Sequence[str]) -> list[str]:
        radii = self.unit * np.sqrt(self.squared_radii.astype(np.float64))
        return [
            f"piece {number} (r = {radius:.{digits}g})"
            for number, radius, digits in zip(self.numbers, radii, self.digits, strict=True)
        ]

    def parts(self, places: NDArray[np.intp]) -> Iterator[tuple[str, dict[str, Any]]]:
        names = ("centres", "squared_radii", "mean", "unit")
        own = {name: getattr(self, name) for name in names}
        yield "balls", {"places": places, **own, "hard": self.form == "paper"}

    def shares(self, n_columns_in: int) -> sp.csr_array:
        """Return the shares: a column of X has its own slope, and a part of the level."""
        level = np.full((1, n_columns_in), 1.0 / n_columns_in)
        piece = sp.vstack([sp.eye_array(n_columns_in), sp.csr_array(level)], format="csr")
        return piece[np.tile(np.arange(n_columns_in + 1), self.ids.size)]

    def renumbered(self, places: NDArray[np.intp]) -> PieceFeatures:
        return self  # which reads all columns
