"""A quadratic model of the objective, in the weights of the chosen columns and of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import to_float64
from ..rows import Rows, may_overflow
from ..shard import Block, Shard

if TYPE_CHECKING:
    from ..penalties import Weights
    from ..solvers import Refit

# A column is spanned by the chosen ones if they leave less of it than this share of the terms it is
# explained by, or than so many units of their rounding.
SPANNED, SPANNED_ROUNDING = 1e-10, 10.0
# Numbers of chosen columns, weighted by the curvature of some classes, that are held at a time.
WEIGHTED = 1 << 18

Array = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class SecondOrder:
    r"""The model about W, with a matrix for each class, or with one for all.

    For class q, let D hold the curvatures of the loss in the scores of q, A the n chosen columns
    and x the columns of an atom. The second derivatives of the objective in the weights of class q
    are :math:`A^T D A + R`, :math:`x^T D A` and :math:`x^T D x + r`, with R and r those of the
    penalty. Second derivatives between classes are left out. Arrays whose first axis is "k or 1"
    have one entry for each class, or one that holds for all of them in the units of the weights
    here, which are those of the rows times ``unit``.
    """

    W: Array  # (k, n), weights of the chosen columns
    unit: Array  # (k, 1)
    slope: Array  # (k, n), first derivatives in them
    chosen: Array  # (k or 1, n, n), A'DA
    ridge: Array  # (n,), R
    atoms: tuple[int, ...]  # the candidates
    widths: Places  # (atoms,), columns of each
    across: Array  # (k or 1, columns, n), x'DA
    squares: Array  # (k or 1, columns, widest), with the first, second, ... column of its atom
    own_ridge: float  # r
    slopes: Array  # (k, columns), first derivatives in the weights of the candidates
    rounding: float  # of the sums, relative

    @cached_property
    def explained(self) -> Array:
        """``x'DA (A'DA + R)^-1``, (k or 1, columns, n)."""
        return _solved(self.chosen, self.ridge, self.across)

    @cached_property
    def inverse(self) -> Array:
        """``(A'DA + R)^-1``, (k or 1, n, n)."""
        return _solved(self.chosen, self.ridge, np.eye(self.ridge.size)[None])

    @cached_property
    def g(self) -> Array:
        """Slopes of the candidates once the chosen columns are at their minimum, (k, columns)."""
        return self.slopes - (self.explained @ self.slope[:, :, None])[:, :, 0]

    def columns(self, places: Places) -> Places:
        """Return where the columns of atoms at those places are, all as wide, (atoms, width)."""
        starts = np.cumsum(self.widths) - self.widths
        return np.asarray(starts[places, None] + np.arange(self.widths[places[0]]))

    def curvature(self, own: Places) -> Array:
        """Return the second derivatives S once the chosen columns are at their minimum.

        Those of the columns of some atoms: (k or 1, atoms, width, width).
        """
        left = self._left(self.explained, own)
        return left + self.own_ridge * np.eye(own.shape[1])

    @may_overflow
    def scores(self) -> list[float]:
        r"""Return, for each atom, the sum over classes of :math:`\sqrt{g^T S^{-1} g}`.

        Without any chosen column, and with :math:`S = 1`, that is the paper's l1 norm. Half the
        sum of the squares instead estimates what a full refit gains; docs/defaults.md compares
        the two. An atom that the chosen columns span has the score 0, and one that is too large
        for its type an infinite score.
        """
        found = np.zeros(len(self.atoms))
        beyond = np.any(~np.isfinite(self.squares), axis=(0, 2))
        for places, own in self._by_width():
            curvature, free, vectors = self.curvature(own), *self._free(own)
            along = np.where(free, (self.g[:, own][:, :, None, :] @ vectors)[:, :, 0], 0.0)
            both = free[:, :, :, None] & free[:, :, None, :]
            turned = vectors.swapaxes(2, 3) @ curvature @ vectors
            turned = np.where(both, turned, np.eye(own.shape[1]))
            steps = np.linalg.solve(turned, along[:, :, :, None])[:, :, :, 0]
            lengths = np.sqrt(np.maximum((along * steps).sum(axis=2), 0.0)).sum(axis=0)
            found[places] = np.where(beyond[own].any(axis=1), np.inf, lengths)
        return found.tolist()

    def candidates(self, atoms: Sequence[int]) -> Iterator[tuple[Places, Array, Array, Array]]:
        """Yield atoms that are not spanned, as many columns each, and of these S, U and g.

        Of the atoms come their places among those given. U, (k or 1, atoms, width, n), is what
        explains their columns. In classes in which a column of it is spanned an atom has nothing to
        give: there g is 0.
        """
        known = np.array([self.atoms.index(atom) for atom in atoms], dtype=np.intp)
        for width in np.unique(self.widths[known]):
            places = np.flatnonzero(self.widths[known] == width)
            own = self.columns(known[places])
            free = np.all(self._free(own)[0], axis=2)
            some = free.any(axis=0)
            places, own, free = places[some], own[some], free[:, some, None]
            if places.size:
                S = np.where(free[..., None], self.curvature(own), np.eye(width))
                U = np.where(free[..., None], self.explained[:, own], 0.0)
                yield places, S, U, np.where(free, self.g[:, own], 0.0)

    def spans(self, atom: int) -> bool:
        """Return whether the chosen columns span all columns of an atom, in all classes."""
        own = self.columns(np.array([self.atoms.index(atom)]))
        return not self._free(own)[0].any()

    def _by_width(self) -> Iterator[tuple[Places, Places]]:
        """Yield the places of all atoms of one width, and of their columns."""
        for width in np.unique(self.widths):
            places = np.flatnonzero(self.widths == width)
            yield places, self.columns(places)

    def _free(self, own: Places) -> tuple[NDArray[np.bool_], Array]:
        """Return which directions of atoms' columns the chosen ones do not span, and these.

        Chosen columns that are nearly collinear explain a column by large terms that cancel: what
        is left of it is then known only to the rounding of these.
        """
        explained, steady = self._unpenalised
        values, vectors = np.linalg.eigh(self._left(explained, own))
        sizes = np.sqrt(np.einsum("qaii->qai", self._own(own)))
        chosen = np.sqrt(np.einsum("qcc->qc", self.chosen))
        terms = np.einsum("qaic,qc->qai", np.abs(steady[:, own]), chosen)
        return values > self._least * ((sizes + terms) ** 2).sum(axis=2, keepdims=True), vectors

    @property
    def _least(self) -> float:
        """The share of a column's square below which it is rounding."""
        return max(SPANNED, SPANNED_ROUNDING * self.rounding)

    @cached_property
    def _unpenalised(self) -> tuple[Array, Array]:
        """What explains the candidates without a penalty, (k or 1, columns, n), in two ways.

        The first leaves out directions in which the chosen columns differ from zero by rounding
        alone, as those of a piece often do: there a candidate would seem to have a large part. The
        second also leaves out directions in which they are small. It tells how well the remainder
        is known, and the large weights in such directions would make any remainder look unsure.
        """
        least = max(10.0 * np.finfo(np.float64).eps * self.ridge.size, (100.0 * self.rounding) ** 2)
        sizes = np.sqrt(np.einsum("qcc->qc", self.chosen))
        unit = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
        values, vectors = np.linalg.eigh(self.chosen * unit[:, :, None] * unit[:, None])
        turned = (self.across * unit[:, None]) @ vectors
        back = vectors.swapaxes(1, 2) * unit[:, None]

        def solved(cut: float) -> Array:
            inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > cut)
            return np.asarray((turned * inverse[:, None]) @ back)

        return solved(least), solved(max(least, self._least))

    def _left(self, explained: Array, own: Places) -> Array:
        """Return what chosen columns leave of the products of atoms' columns."""
        return self._own(own) - explained[:, own] @ self.across[:, own].swapaxes(2, 3)

    def _own(self, own: Places) -> Array:
        """Return the products of atoms' columns, (k or 1, atoms, width, width)."""
        return np.nan_to_num(self.squares[:, own, : own.shape[1]], posinf=0.0, neginf=0.0)


def candidate_sums(shard: Shard, atoms: Sequence[int]) -> tuple[Any]:
    """Return the weighted sums of the atoms' columns, in X's units; zero if not centred."""
    backend, pool = shard.backend, shard.pool
    if not shard.intercept:
        return (backend.zeros((sum(pool.scales(atom).size for atom in atoms),)),)

    def sums_of(block: Block) -> tuple[Any]:
        weight = to_float64(block.weight)
        sums = [to_float64(_columns(shard, block, atom)) @ weight for atom in atoms]
        return (backend.xp.concatenate(sums),)

    (sums,) = shard.total(sums_of)
    return (sums,)


def _columns(shard: Shard, block: Block, atom: int) -> Any:
    """Return the columns of an atom, which are held from round to round if they are slow."""
    if not shard.pool.slow_columns:
        return shard.pool.columns(block.data, atom)
    if atom not in block.candidates:
        block.candidates[atom] = shard.pool.columns(block.data, atom)
    return block.candidates[atom]


def weighted_products(
    shard: Shard, atoms: Sequence[int], centers: Any, n_columns: int
) -> tuple[Any, Any, Any]:
    """Return products of chosen columns and candidates, weighted by each class's curvature.

    The candidates are the columns of the atoms, about their centres and scaled.

    Returns
    -------
    products : (k, n_columns, n_columns + candidates)
        Of the chosen columns with all.
    squares : (k, candidates, widest)
        Of each candidate with the first, second, ... column of its atom.
    slopes : (k, candidates)
        Of each candidate with the residual.
    """
    backend, pool, k = shard.backend, shard.pool, shard.n_classes
    scales = [pool.scales(atom) for atom in atoms]
    widths = np.array([of_atom.size for of_atom in scales])
    stops = np.cumsum(widths)
    first = np.repeat(stops - widths, widths)  # column of the atom of each candidate
    last = first + np.repeat(widths, widths) - 1
    partners = [backend.asarray(np.minimum(first + i, last)) for i in range(1, widths.max())]
    middles = backend.asarray(centers)[:, None]
    divisors = backend.asarray(np.concatenate(scales))[:, None]

    @may_overflow
    def part(block: Block) -> tuple[Any, Any, Any]:
        chosen = block.columns[:n_columns]
        candidates = backend.zeros((int(widths.sum()), len(block.y)), pool.dtype_)
        for atom, start, stop in zip(atoms, stops - widths, stops, strict=True):  # few at a time
            of_atom = to_float64(_columns(shard, block, atom))
            candidates[start:stop] = (of_atom - middles[start:stop]) / divisors[start:stop]
        block.candidates = {a: c for a, c in block.candidates.items() if a in set(atoms)}
        slopes = backend.correlated(block.residual, candidates)
        curvatures = shard.loss.curvatures(block.residual, block.y, block.weight)
        products = backend.zeros((k, n_columns, n_columns + len(candidates)))
        step = max(1, WEIGHTED // max(1, n_columns * len(block.y)))
        for start in range(0, k, step):
            some = curvatures[start : start + step]
            weighted = (some[:, None] * chosen).reshape(len(some) * n_columns, len(block.y))
            for columns, others in (
                (slice(n_columns), chosen),
                (slice(n_columns, None), candidates),
            ):
                sizes = len(some), n_columns, len(others)
                products[start : start + step, :, columns] = (weighted @ others.T).reshape(sizes)
        squares = [curvatures @ (candidates * candidates[i]).T for i in partners]
        candidates *= candidates[backend.asarray(first)] if partners else candidates
        squares.insert(0, curvatures @ candidates.T)
        return products, backend.xp.stack(squares, -1), slopes

    products, squares, slopes = shard.total(part)
    return products, squares, slopes


@may_overflow
def by_class(
    rows: Rows, refit: Refit, W: Weights, atoms: Sequence[int], centers: dict[int, Array]
) -> SecondOrder:
    """Return the model with a matrix for each class, by a pass over the rows.

    ``centers`` holds the means of the columns of atoms that were compared before, and receives
    those of the others.
    """
    n = rows.n_columns
    W, slope, ridge, own_ridge = _at(rows, refit, W)
    _add_centers(rows, [atom for atom in atoms if atom not in centers], centers)
    middles = np.concatenate([centers[atom] for atom in atoms])
    totals = rows.candidates(weighted_products, atoms, middles, n)
    products, squares, slopes = (rows.backend.numpy(total) / rows.total_weight for total in totals)
    np.nan_to_num(products, copy=False, posinf=0.0, neginf=0.0)
    return SecondOrder(
        W,
        np.ones((rows.n_classes, 1)),
        slope,
        products[:, :, :n],
        ridge,
        tuple(atoms),
        np.array([rows.pool.scales(atom).size for atom in atoms]),
        products[:, :, n:].swapaxes(1, 2),
        squares,
        own_ridge,
        slopes,
        float(np.finfo(rows.pool.dtype_).eps),
    )


@may_overflow
def shared(rows: Rows, refit: Refit, W: Weights, atom: int) -> SecondOrder:
    """Return the model with one matrix for all classes: the Gram matrix.

    D is then the mean curvature of a class; in units of its root the matrix is the same for all.
    """
    W, slope, ridge, own_ridge = _at(rows, refit, W)
    (total,) = rows.total(Shard.class_curvatures)
    mean = np.maximum(rows.backend.numpy(total) / rows.total_weight, np.finfo(np.float64).tiny)
    unit = np.sqrt(mean)[:, None]
    rows.append(atom)
    n, stop = rows.layout.starts[-2:]
    (found,) = rows.total(Shard.correlate, n, stop)
    slopes = rows.backend.numpy(found) / rows.total_weight
    matrix = rows.backend.numpy(rows.gram.matrix)
    rows.remove(len(rows.chosen) - 1)
    return SecondOrder(
        W * unit,
        unit,
        slope / unit,
        matrix[None, :n, :n],
        ridge / mean.mean(),
        (atom,),
        np.array([stop - n]),
        matrix[None, n:, :n],
        matrix[None, n:, n:],
        own_ridge / mean.mean(),
        slopes / unit,
        float(np.finfo(rows.pool.dtype_).eps),
    )


def _at(rows: Rows, refit: Refit, W: Weights) -> tuple[Array, Array, Array, float]:
    """Return W of all columns, the slope there, and the penalty's curvatures R and r."""
    n, first = rows.n_columns, int(rows.intercept)
    W = np.pad(W, ((0, 0), (0, n - W.shape[1])))
    objective = refit.objective(rows, W)
    slope = rows.backend.numpy(objective.at(W)[2])
    ridge = np.zeros(n)
    ridge[first:] = objective.ridge(W[:, first:])
    return W, slope, ridge, float(objective.ridge(np.zeros((rows.n_classes, 1)))[0])


def _add_centers(rows: Rows, atoms: Sequence[int], centers: dict[int, Array]) -> None:
    """Add the weighted means of the atoms' columns."""
    if not atoms:
        return
    (sums,) = rows.candidates(candidate_sums, atoms)
    means = rows.backend.numpy(sums) / rows.total_weight
    edges = np.cumsum([rows.pool.scales(atom).size for atom in atoms])[:-1]
    centers.update(zip(atoms, np.split(means, edges), strict=True))


def _solved(matrices: Array, ridge: Array, rows: Array) -> Array:
    """Return ``rows (matrix + diag(ridge))^-1`` of each class, also where columns are collinear."""
    if not ridge.size:
        return rows
    # In units in which every column has the size 1, so that rounding is alike for all of them.
    unit = 1.0 / np.sqrt(np.einsum("qcc->qc", matrices) + np.finfo(np.float64).tiny)
    diagonal = ridge * unit**2 + 10.0 * np.finfo(np.float64).eps * ridge.size
    regular = matrices * unit[:, :, None] * unit[:, None] + diagonal[:, :, None] * np.eye(
        ridge.size
    )
    solved = np.linalg.solve(regular, (rows * unit[:, None]).swapaxes(1, 2)).swapaxes(1, 2)
    return solved * unit[:, None]
