"""The score of an atom for the part of it that the chosen columns do not explain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..penalties import Weights
from ..refit import Refit
from ..rows import Rows, may_overflow

# A column is spanned by the chosen ones if they leave less of it than this share, or than so many
# units of rounding.
SPANNED, SPANNED_ROUNDING = 1e-10, 100.0

Array = NDArray[np.float64]


@may_overflow
def orthogonal_scores(
    rows: Rows, refit: Refit, W: Weights, atoms: Sequence[int], centers: dict[int, Array]
) -> list[float]:
    r"""Return, for each atom, the sum over classes of :math:`\sqrt{g_q^T S_q^{-1} g_q}`.

    For class q, let D hold the curvatures of the loss in the scores of q, A the chosen columns
    and x the columns of the atom. The second-order model of the objective in the weights of q
    has, once the weights of A are at their minimum for every weight of x, the curvature

    .. math:: S_q = x^T D x - x^T D A (A^T D A + R)^{-1} A^T D x + r

    in those of x and the slope :math:`g_q = x^T \rho_q - x^T D A (A^T D A + R)^{-1} g_A`, with
    R and r the curvatures of the penalty and :math:`g_A` the slope in A. Without the corrections
    for A, and with :math:`S_q = 1`, the sum is the paper's l1 norm. Half the sum of the squares
    instead estimates what a full refit gains; docs/defaults.md compares the two.

    An atom that the chosen columns span has the score 0, and one that is too large for its type
    an infinite score. ``centers`` holds the means of the columns of atoms that were compared
    before, and receives those of the others.
    """
    n, first = rows.n_columns, int(rows.intercept)
    W = np.pad(W, ((0, 0), (0, n - W.shape[1])))
    objective = refit.objective(rows, W)
    slope = rows.place.numpy(objective.at(W)[2])
    ridge = np.zeros(n)
    ridge[first:] = objective.ridge(W[:, first:])
    widths = np.array([rows.pool.scales(atom).size for atom in atoms])
    _add_centers(rows, [atom for atom in atoms if atom not in centers], centers)
    middles = np.concatenate([centers[atom] for atom in atoms])
    totals = rows.candidates("weighted_products", atoms, middles, n)
    products, squares, slopes = (rows.place.numpy(total) / rows.total_weight for total in totals)
    beyond = np.any(~np.isfinite(squares), axis=(0, 2))  # no float holds the squares of a column
    for sums in (squares, products):
        np.nan_to_num(sums, copy=False, posinf=0.0, neginf=0.0)
    chosen, across = products[:, :, :n], products[:, :, n:].swapaxes(1, 2)  # A'DA, x'DA
    explained = _solved(chosen, ridge, across)
    spanned = _solved(chosen, np.zeros(n), across)  # whatever the penalty
    g = slopes - (explained @ slope[:, :, None])[:, :, 0]
    own_ridge = float(objective.ridge(np.zeros((rows.n_classes, 1)))[0])
    starts = np.cumsum(widths) - widths
    least = max(SPANNED, SPANNED_ROUNDING * float(np.finfo(rows.pool.dtype_).eps))
    found = np.zeros(len(atoms))
    for width in np.unique(widths):  # atoms of as many columns at once
        some = widths == width
        own = starts[some, None] + np.arange(width)  # (atoms, width)
        size = squares[:, own, :width]
        curvature = size - explained[:, own] @ across[:, own].swapaxes(2, 3)
        curvature += own_ridge * np.eye(width)
        left = size - spanned[:, own] @ across[:, own].swapaxes(2, 3)
        trace = np.trace(size, axis1=2, axis2=3)
        found[some] = _lengths(g[:, own], curvature, left, least * trace).sum(axis=0)
        found[some] = np.where(beyond[own].any(axis=1), np.inf, found[some])
    return found.tolist()


def _add_centers(rows: Rows, atoms: Sequence[int], centers: dict[int, Array]) -> None:
    """Add the weighted means of the atoms' columns."""
    if not atoms:
        return
    (sums,) = rows.candidates("candidate_sums", atoms)
    means = rows.place.numpy(sums) / rows.total_weight
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


def _lengths(g: Array, curvature: Array, left: Array, least: Array) -> Array:
    """Return the lengths of g, (k, atoms, width), by the inverse of the curvature.

    They are taken along the directions of which the chosen columns leave more than the least.
    """
    values, vectors = np.linalg.eigh(left)
    free = values > least[:, :, None]
    along = np.where(free, (g[:, :, None, :] @ vectors)[:, :, 0], 0.0)
    both = free[:, :, :, None] & free[:, :, None, :]
    turned = np.where(both, vectors.swapaxes(2, 3) @ curvature @ vectors, np.eye(g.shape[2]))
    steps = np.linalg.solve(turned, along[:, :, :, None])[:, :, :, 0]
    return np.sqrt(np.maximum((along * steps).sum(axis=2), 0.0))
