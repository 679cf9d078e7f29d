r"""The norms whose sum over features is penalised in eq. (5) of the paper.

Weights stand in rows here, one row a column of the data, one entry a class: the weights of an
atom are some rows that follow each other, so a *group* of numbers that lie side by side. Where
every atom has one column, a group is a row.

=========  ============  ==============================================================
name       shape         meaning
=========  ============  ==============================================================
weights    (c, k)        of the columns, transposed against the rest of the package
gradient   (c, k)        of the average loss in the weights
starts     (groups,)     the first row of each group
alphas     (groups,)     the penalty's weight for each group
=========  ============  ==============================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Starts = NDArray[np.intp]


class Norm(ABC):
    """A norm of a group, with what a proximal method needs of it."""

    @abstractmethod
    def sizes(self, weights: Matrix, starts: Starts) -> Vector:
        """Return the norm of each group."""

    @abstractmethod
    def dual(self, gradient: Matrix, starts: Starts) -> Vector:
        """Return the dual norm of each group.

        A group stays zero where that of its gradient is at most the penalty's weight.
        """

    @abstractmethod
    def prox(self, weights: Matrix, starts: Starts, steps: Vector) -> Matrix:
        """Return each group's minimiser of ``|v - weights|^2 / 2 + step * norm(v)``."""

    @abstractmethod
    def violations(
        self, weights: Matrix, gradient: Matrix, starts: Starts, alphas: Vector
    ) -> Vector:
        """Return by how much each group misses the conditions of a minimum.

        Those are ``-gradient in alpha * subdifferential(norm)`` at the weights: of a group
        that is zero, a dual norm of at most alpha.
        """


class L2(Norm):
    """The Euclidean norm, its own dual."""

    def sizes(self, weights: Matrix, starts: Starts) -> Vector:
        """Return the Euclidean norm of each group."""
        return np.sqrt(_added(weights**2, starts))

    def dual(self, gradient: Matrix, starts: Starts) -> Vector:
        """Return the Euclidean norm of each group."""
        return self.sizes(gradient, starts)

    def prox(self, weights: Matrix, starts: Starts, steps: Vector) -> Matrix:
        """Return the weights, each group shortened by its step."""
        sizes = self.sizes(weights, starts)
        kept = np.where(sizes > steps, 1.0 - steps / np.where(sizes > 0.0, sizes, 1.0), 0.0)
        return weights * _to_rows(kept, starts, len(weights))

    def violations(
        self, weights: Matrix, gradient: Matrix, starts: Starts, alphas: Vector
    ) -> Vector:
        """Return the largest entry of ``gradient + alpha * weights / norm``."""
        sizes = self.sizes(weights, starts)
        pull = _to_rows(alphas / np.where(sizes > 0.0, sizes, 1.0), starts, len(weights))
        missed = _largest(np.abs(gradient + pull * weights), starts)
        return np.where(sizes > 0.0, missed, np.maximum(self.dual(gradient, starts) - alphas, 0.0))


class Linf(Norm):
    """The largest magnitude, whose dual is the sum of magnitudes."""

    def sizes(self, weights: Matrix, starts: Starts) -> Vector:
        """Return the largest magnitude of each group."""
        return _largest(np.abs(weights), starts)

    def dual(self, gradient: Matrix, starts: Starts) -> Vector:
        """Return the sum of magnitudes of each group."""
        return _added(np.abs(gradient), starts)

    def prox(self, weights: Matrix, starts: Starts, steps: Vector) -> Matrix:
        """Return the weights less their projection on the l1 ball of the step (Moreau).

        The projection shrinks all magnitudes by one threshold, so the weights are clipped to
        it: those that are clipped are equal to the last bit.
        """
        from ..kernels.balls import clip_groups, l1_thresholds

        clipped = weights.copy()
        edges = np.append(starts, len(weights)) * weights.shape[1]
        caps = np.empty(starts.size)
        l1_thresholds(clipped.reshape(-1), edges, steps, caps)
        clip_groups(clipped.reshape(-1), edges, caps)
        return clipped

    def violations(
        self, weights: Matrix, gradient: Matrix, starts: Starts, alphas: Vector
    ) -> Vector:
        """Return the worst of three: all pull is on the largest weights, outwards, alpha in sum."""
        sizes = self.sizes(weights, starts)
        at_top = np.abs(weights) == _to_rows(sizes, starts, len(weights))
        pull = -gradient * np.sign(weights)
        missed = _largest(np.where(at_top, np.maximum(-pull, 0.0), np.abs(gradient)), starts)
        total = np.abs(_added(np.where(at_top, pull, 0.0), starts) - alphas)
        outside = np.maximum(self.dual(gradient, starts) - alphas, 0.0)
        return np.where(sizes > 0.0, np.maximum(missed, total), outside)


def _added(values: Matrix, starts: Starts) -> Vector:
    """Return the sum of each group."""
    rows = values.sum(axis=1)
    return rows if starts.size == rows.size else np.add.reduceat(rows, starts)


def _largest(values: Matrix, starts: Starts) -> Vector:
    """Return the largest entry of each group."""
    rows = values.max(axis=1, initial=0.0)
    return rows if starts.size == rows.size else np.maximum.reduceat(rows, starts)


def _to_rows(values: Vector, starts: Starts, n_rows: int) -> Matrix:
    """Return the value of each row's group, (n_rows, 1)."""
    return np.repeat(values, np.diff(starts, append=n_rows))[:, None]


NORMS: dict[str, Norm] = {"linf1": Linf(), "l21": L2()}
