"""Local linear pieces as candidates, sections 4.2 and 7.5 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..arrays import (
    beside,
    columns_type,
    dense,
    empty_beside,
    float_type,
    is_host,
    standard_namespace,
)
from ..progress import track
from ..validation import at_least, is_number, one_of
from .base import PART_BYTES, Atoms, Floats, Pool, Sums, check_bounded
from .features import ATOMS, INPUTS, Choice, Digits, Features, Ids, Numbers, Positive, Reals
from .patches import cluster
from .table import Moments, Table, Vector, chunks, joined_powers, powers
from .thresholds import digits_apart

Singles = NDArray[np.float32]
Radii = tuple[Singles, Vector]  # squared, of a centre, and the scales of its pieces

FORMS = ("smooth", "paper", "bounded")
MOST_CENTRES = 1500
# Below, a coordinate inside a piece is rounding; rows have a deviation of about 1.
SMALLEST_COORDINATE = 1e-6
SMALLEST_QUANTILE, LARGEST_QUANTILE = 0.01, 0.5


class Coordinates(NamedTuple):
    """The affine map of X's columns into the units in which distances are taken."""

    mean: Vector  # (p,)
    unit: float

    @classmethod
    def about(cls, moments: Moments) -> Coordinates:
        """Return coordinates about the mean, in units of the root mean variance."""
        largest = float(moments.deviation.max())
        if largest == 0.0:  # any unit would do, but the mean must be a float32 in it
            return cls(moments.mean, float(np.abs(moments.mean).max()) or 1.0)
        relative = float(np.sqrt(np.mean((moments.deviation / largest) ** 2)))
        return cls(moments.mean, largest * relative)

    def of(self, X: Any) -> Any:
        """Return ``(X - mean) / unit`` in float32, (n, p)."""
        shift = beside(X, -self.mean)
        out = empty_beside(X, X.shape, standard_namespace(X).float32)
        for rows in _chunks(X):
            out[rows, :] = (dense(X[rows]) + shift) / self.unit
        return out


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
    mean: Annotated[Vector, Reals("", False, (INPUTS,))]  # as in Coordinates
    unit: Annotated[float, Positive()]
    form: Annotated[str, Choice(values=("smooth", "paper"))]

    @property
    def widths(self) -> NDArray[np.intp]:
        return np.full(self.ids.size, self.centres.shape[1] + 1, dtype=np.intp)

    def columns(self, X: Any) -> Any:
        X = X.tocsr() if hasattr(X, "tocsr") else X
        out = empty_beside(X, (self.n_columns, X.shape[0]), columns_type(X))
        coordinates = Coordinates(self.mean, self.unit)
        for rows in _chunks(X):
            self.write(X[rows], coordinates.of(X[rows]), out[:, rows])
        return out.T

    def write(self, X: Any, points: Any, out: Any) -> None:
        """Write the columns of some rows, also given in coordinates, into out, (n_columns, n)."""
        xp, p = standard_namespace(points), points.shape[1]
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
        ends = [*(f": {name}" for name in input_names), ""]
        return [piece + end for piece in self.atom_names(input_names) for end in ends]

    def atom_names(self, input_names: Sequence[str]) -> list[str]:
        radii = self.unit * np.sqrt(self.squared_radii.astype(np.float64))
        return [
            f"piece {number} (r = {radius:.{digits}g})"
            for number, radius, digits in zip(self.numbers, radii, self.digits, strict=True)
        ]

    def parts(self, places: NDArray[np.intp]) -> Iterator[tuple[str, dict[str, Any]]]:
        names = ("centres", "squared_radii", "mean", "unit")
        balls = {name: getattr(self, name) for name in names}
        yield "balls", {"places": places, **balls, "hard": self.form == "paper"}

    def shares(self, n_columns_in: int) -> sp.csr_array:
        """Return the shares: a column of X has its own slope, and a part of the level."""
        level = np.full((1, n_columns_in), 1.0 / n_columns_in)
        piece = sp.vstack([sp.eye_array(n_columns_in), sp.csr_array(level)], format="csr")
        return piece[np.tile(np.arange(n_columns_in + 1), self.ids.size)]


class _ShellBlock(NamedTuple):
    points: NDArray[np.float32]  # (n, p), in coordinates
    order: NDArray[np.unsignedinteger]  # rows, of centre c from edges[c][0] to edges[c][-1]
    depths: NDArray[np.float32]  # in that order: a shell's squared radius less the distance
    edges: list[NDArray[np.int64]]  # of each centre's shells
    source: Any  # rows of X


class Pieces(Pool):
    r"""Pieces of linear functions: a centre, a radius, and p + 1 columns inside it.

    An atom is a whole piece, chosen by the sum of its columns' norms (section 3.2). With
    it the model adds to the scores a linear function of v around the centre
    :math:`v_j`, which ends at the distance :math:`r_j`.

    Parameters
    ----------
    n_centres : int, optional
        Centres of the pieces: k-means of the rows. None: a tenth of the rows, at most 1500.
    radii : int or sequence of float, default=35
        Radii of each centre: quantiles of its distances to the rows. An integer takes so
        many quantiles, from 1% to 50%; a sequence takes its own, above 0 and at most 1.
    form : {"smooth", "paper", "bounded"}, default="smooth"
        - ``"paper"``: the columns are :math:`1[\|v - v_j\| < r_j] \, [v, 1]`, as they are.
        - ``"bounded"``: the same, but columns of X outside [-1, 1] are refused.
        - ``"smooth"``: :math:`\max(0, 1 - \|v - v_j\|^2 / r_j^2) \, [v - v_j, 1]`, all
          divided by one number a piece, the fourth root of their mean square. It
          generalises better (docs/defaults.md): a piece ends without a step, and a small
          piece weighs more than its rows alone would give it.
    random_state : int, RandomState or None, default=0
        Of the clustering.

    Notes
    -----
    Distances are Euclidean, so columns of unlike units should be scaled first. Each
    centre's rows are sorted into the shells between its radii once; a round's moments of
    the residual in each shell, summed outwards, are exact for every radius at the cost of
    one. A block of rows takes about 6 bytes for every row inside a centre's largest
    radius.

    The rows are held about their mean in float32, whatever X is: 4 bytes a value, and sparse
    input becomes dense there.
    """

    published: ClassVar[dict[str, Any]] = {"form": "bounded"}

    def __init__(
        self,
        n_centres: int | None = None,
        radii: int | Sequence[float] = 35,
        form: str = "smooth",
        random_state: Any = 0,
    ):
        self.n_centres = n_centres
        self.radii = radii
        self.form = form
        self.random_state = random_state

    def learn(self, table: Table, centred: bool) -> None:
        one_of("form", self.form, FORMS, "Pieces")
        quantiles = self._quantiles()
        X, weight = table.gathered(self.random_state)
        n, n_centres = X.shape[0], self.n_centres
        if n_centres is None:
            n_centres = min(MOST_CENTRES, max(1, n // 10))
        elif at_least("n_centres", n_centres, 1, "Pieces") > n:
            raise ValueError(
                f"n_centres={n_centres} is not valid for Pieces: it takes at most as many as "
                f"there are rows, {n}."
            )
        share = weight / weight.sum()
        X = X.tocsr() if sp.issparse(X) else X
        with np.errstate(over="ignore", invalid="ignore"):
            # Of sparse rows written out, so that both kinds of rows have the same coordinates.
            of_chunks = (powers(dense(X[rows]), share[rows]) for rows in chunks(X))
            moments = reduce(joined_powers, of_chunks).moments
            if self.form == "bounded":
                check_bounded(moments.largest, "form")
            self.coordinates_ = Coordinates.about(moments)
            points = self._points(X)
        if not np.isfinite([*self.coordinates_.mean, self.coordinates_.unit]).all():
            raise FloatingPointError(
                "X has values that are too large to compute distances of rows in float64. Divide "
                "X by its largest magnitude first."
            )
        rng = check_random_state(self.random_state)
        self.centres_ = cluster(points, n_centres, rng, "clustering rows", weight)
        pieces = self._radii_and_scales(points, share, quantiles)
        radii, scales = zip(*track(pieces, "radii of pieces", len(self.centres_)), strict=True)
        self.squared_radii_ = np.concatenate(radii)
        self.piece_scale_ = np.concatenate(scales)
        self.starts_ = np.cumsum([0, *map(len, radii)])
        self.n_atoms_ = int(self.starts_[-1])
        self.edges_ = np.arange(self.n_atoms_ + 1) * (X.shape[1] + 1)
        self.dtype_ = float_type(table.dtype)
        self.sums_dtype_ = np.dtype(np.float32)  # of the moments in a block

    def _points(self, X: Any) -> Any:
        """Return the rows in the coordinates in which distances are taken."""
        return self.coordinates_.of(X)

    def widen(self) -> Self:
        """Compute columns in float64; moments stay in float32."""
        self.dtype_ = np.dtype(np.float64)
        return self

    def parts(self, n_classes: int) -> list[slice]:
        """Return ranges of whole centres, small enough for the statistic of squares."""
        return self._of_whole_centres(n_classes, PART_BYTES)

    def _of_whole_centres(self, n_classes: int, most_bytes: int) -> list[slice]:
        """Return ranges of whole centres, of about so many bytes of statistics at most."""
        n, p = self.centres_.shape
        width = (1 + self._power(squares=True)) * n_classes * 2 * (p + 1)
        step = max(1, most_bytes * n // (8 * width * self.n_atoms_))
        edges = self.starts_[[*range(0, n, step), n]].tolist()
        return [slice(*pair) for pair in pairwise(edges)]

    def encode(self, X: Any, rows: slice) -> _ShellBlock:
        from ..kernels.shells import sort_into_shells

        points = self.coordinates_.of(X[rows])
        order = np.empty(len(points), dtype=np.min_scalar_type(len(points)))
        orders, depths, edges, stop = [], [], [], 0
        for centre, pieces in zip(self.centres_, pairwise(self.starts_), strict=True):
            distances = _squared_distances(points, centre)
            radii = self.squared_radii_[slice(*pieces)]
            shells = np.empty(radii.size + 1, dtype=np.int64)
            sort_into_shells(distances, radii, order, shells)
            orders.append(order[: shells[-1]].copy())
            depths.append(np.repeat(radii, np.diff(shells)) - distances[orders[-1]])
            edges.append(shells + stop)
            stop += int(shells[-1])
        return _ShellBlock(points, np.concatenate(orders), np.concatenate(depths), edges, X[rows])

    def prepare(self, rows: Floats) -> Floats:
        """Return one row an example in float32, (n, k)."""
        return np.ascontiguousarray(rows.T, dtype=np.float32)

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return the rows' moments in each shell, as ``kernels.shells.add_moments`` makes them."""
        from ..kernels.shells import add_moments

        if out is None:
            height = (1 + self._power(squares)) * rows.shape[1]
            width = (1 + squares) * (data.points.shape[1] + 1)
            out = np.zeros((part.stop - part.start, height, width))
        origins = self._origins()
        shells = data.order, data.depths
        for c, _, here in self._centres_of(part):
            add_moments(data.points, origins[c], rows, *shells, data.edges[c], out[here])
        return out

    def correlations(self, stats: Sums, part: slice) -> Sums:
        check_is_fitted(self)
        return self._inside(stats, part, stats.shape[1] // (1 + self._power(squares=False)))

    def moments(self, stats: Sums, part: slice) -> tuple[Sums, Sums]:
        k, width = stats.shape[1] // (1 + self._power(squares=True)), stats.shape[2] // 2
        first = self._inside(stats[:, :, :width], part, k)
        second = self._inside(stats[:, :, width:], part, k, squares=True)
        if self.form != "smooth":  # which subtracts no centre
            return first, second
        # A coordinate that is the same for all rows inside a piece differs from the centre's by
        # what float32 made of their mean. Its moments are tiny, but a rule may divide by them.
        sizes = second.reshape(k, -1, width)
        vary = (sizes > SMALLEST_COORDINATE**2 * sizes[:, :, -1:]).reshape(second.shape)
        return first * vary, second * vary

    def reads(self, n_columns_in: int) -> None:
        check_is_fitted(self)

    def columns(self, data: _ShellBlock, atom: int) -> Floats:
        n, p = data.points.shape
        out = np.empty((p + 1, n), dtype=self.dtype_)
        piece = self.features([atom])
        for rows in chunks(data.points):
            piece.write(data.source[rows], data.points[rows], out[:, rows])
        return out

    def scales(self, atom: int) -> Vector:
        scales = np.full(self.centres_.shape[1] + 1, self.piece_scale_[atom])
        if self.form == "smooth":
            scales[:-1] *= self.coordinates_.unit
        return scales

    def features(self, atoms: Atoms) -> PieceFeatures:
        ids = np.asarray(atoms, dtype=np.intp)
        numbers = np.searchsorted(self.starts_, ids, side="right") - 1
        radii = self.squared_radii_
        digits = digits_apart(np.sqrt(radii.astype(np.float64)), self.starts_, ids)
        balls = numbers, self.centres_[numbers], radii[ids], digits
        form = "smooth" if self.form == "smooth" else "paper"
        return PieceFeatures(ids, *balls, *self.coordinates_, form)

    def _quantiles(self) -> Vector:
        """Return the quantiles of the distances to take as radii, rising."""
        if isinstance(self.radii, (int, np.integer)):
            n = at_least("radii", self.radii, 1, "Pieces")
            return np.linspace(LARGEST_QUANTILE, SMALLEST_QUANTILE, n)[::-1]
        values = list(self.radii) if isinstance(self.radii, (Sequence, np.ndarray)) else []
        if not values or not all(is_number(value) and 0 < value <= 1 for value in values):
            raise ValueError(
                f"radii={self.radii!r} is not valid for Pieces: it takes an integer of at least "
                "1, or quantiles above 0 and at most 1. A quantile of 0 would leave pieces empty."
            )
        return np.unique(np.array(values, dtype=np.float64))

    def _centres_of(self, part: slice) -> list[tuple[int, slice, slice]]:
        """Return the centres of a part, each with its atoms in the pool and in the part."""
        first, last = np.searchsorted(self.starts_, [part.start, part.stop]).tolist()
        edges = self.starts_[first : last + 1].tolist()
        return [
            (c, slice(a, b), slice(a - part.start, b - part.start))
            for c, (a, b) in enumerate(pairwise(edges), start=first)
        ]

    def _power(self, squares: bool) -> int:
        """Return the power in which a row's depth inside a piece counts in its sums."""
        return 0 if self.form != "smooth" else 1 + squares

    def _origins(self) -> NDArray[np.float32]:
        """Return the coordinates at which the columns around each centre are zero."""
        if self.form == "smooth":
            return self.centres_
        mean, unit = self.coordinates_
        return np.broadcast_to((-mean / unit).astype(np.float32), self.centres_.shape)

    def _inside(self, stats: Vector, part: slice, k: int, squares: bool = False) -> Vector:
        """Return the sums over the rows inside each piece, (k, columns of the part)."""
        from ..kernels.shells import sum_outwards

        power, times = self._power(squares), 1 + squares
        sums = np.empty((k, stats.shape[0], stats.shape[2]))
        units = np.ones(stats.shape[2])
        if self.form != "smooth":
            units[:-1] = self.coordinates_.unit
        for _, atoms, here in self._centres_of(part):
            radii = self.squared_radii_[atoms].astype(np.float64)
            scales = self.piece_scale_[atoms] ** times * radii**power
            sum_outwards(stats[here], radii, power, units**times / scales[:, None], sums[:, here])
        return sums.reshape(k, -1)

    def _radii_and_scales(self, points: Any, share: Vector, quantiles: Vector) -> Iterator[Radii]:
        """Yield the squared radii of each centre, rising, and the scale of each piece."""
        for centre in self.centres_:
            yield self._around(_squared_distances(points, centre), share, quantiles)

    def _around(self, distances: Singles, share: Vector, quantiles: Vector) -> Radii:
        """Return the squared radii of a centre at those squared distances, and the scales."""
        order = np.argsort(distances)
        distances, share = distances[order], share[order]
        # The radius of a quantile lies beyond as many rows as make up its share, and half
        # way to the next distance, so that no piece is empty and rounding moves no row.
        reached = np.searchsorted(np.cumsum(share), quantiles - 1e-9)
        last = distances[np.minimum(reached, distances.size - 1)]
        beyond = np.searchsorted(distances, last, side="right")
        following = distances[np.minimum(beyond, distances.size - 1)]
        middle = np.square((np.sqrt(last) + np.sqrt(following)) / 2)
        middle = np.where(last < middle, middle, following)  # no number lies between them
        outermost = last * np.float32(1.001) + np.float32(1e-6)
        radii = np.unique(np.where(beyond < distances.size, middle, outermost))
        if self.form != "smooth":
            return radii, np.ones(radii.size)
        # Means of a^2 (d^2 + 1) with a = 1 - d^2 / r^2, from the sums of powers of d^2.
        d = distances.astype(np.float64)
        inside = np.searchsorted(distances, radii) - 1
        zero, one, two, three = (np.cumsum(share * d**power)[inside] for power in range(4))
        r = radii.astype(np.float64)
        square = (zero + one) - 2.0 * (one + two) / r + (two + three) / r**2
        return radii, np.maximum(square / (self.centres_.shape[1] + 1), 1e-30) ** 0.25
