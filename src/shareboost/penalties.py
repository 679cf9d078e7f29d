r"""Smooth penalties on W, section 3.3 of the paper.

A penalty sees the weights of the selected columns, shape (k, c), in the units the
columns were trained in, and never the intercept. Each is zero at W = 0 and has a zero
gradient there, so that a column not yet selected costs nothing and the selection rule
is the same with and without a penalty.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import Scalar, namespace
from .validation import is_number

Weights = NDArray[np.float64]  # or a tensor of a torch device: what is said holds for both


class Penalty(ABC):
    """A smooth convex function of W."""

    @abstractmethod
    def value_and_gradient(self, W: Weights) -> tuple[Scalar, Weights]:
        """Return the penalty of W and its gradient, shape (k, c)."""

    @abstractmethod
    def curvature_product(self, W: Weights, direction: Weights) -> Weights:
        """Return the Hessian at W times ``direction``, shape (k, c)."""

    @abstractmethod
    def mean_curvature(self, W: Weights) -> NDArray[np.float64]:
        """Return the mean over classes of the Hessian's diagonal for each column, (c,)."""


@dataclass(frozen=True)
class Frobenius(Penalty):
    """The sum of squared weights."""

    def value_and_gradient(self, W: Weights) -> tuple[Scalar, Weights]:
        return (W * W).sum(), 2.0 * W

    def curvature_product(self, W: Weights, direction: Weights) -> Weights:
        return 2.0 * direction

    def mean_curvature(self, W: Weights) -> NDArray[np.float64]:
        return namespace(W).full_like(W[0], 2.0)


@dataclass(frozen=True)
class _Smoothed(Penalty):
    """Base of the norms whose every max became a soft-max of sharpness ``beta``."""

    beta: float = 100.0

    def __post_init__(self) -> None:
        if not is_number(self.beta) or not 1 <= self.beta < np.inf:
            raise ValueError(
                f"beta={self.beta!r} is not valid for {type(self).__name__}: "
                "it takes a finite number of at least 1."
            )


@dataclass(frozen=True)
class SmoothL1(_Smoothed):
    r"""Smooth l1 norm, :math:`\frac1\beta\sum_{ij}\log\cosh(\beta W_{ij})`.

    That is the soft-max of ``{w, -w}`` less its value at zero, so it lies below
    \|w\| by at most ``log(2) / beta``.
    """

    def value_and_gradient(self, W: Weights) -> tuple[Scalar, Weights]:
        xp, scaled = namespace(W), abs(self.beta * W)
        log_cosh = scaled + xp.log1p(xp.exp(-2.0 * scaled)) - math.log(2.0)
        return log_cosh.sum() / self.beta, xp.tanh(self.beta * W)

    def curvature_product(self, W: Weights, direction: Weights) -> Weights:
        return self._diagonal(W) * direction

    def mean_curvature(self, W: Weights) -> NDArray[np.float64]:
        return self._diagonal(W).mean(axis=0)

    def _diagonal(self, W: Weights) -> Weights:
        return self.beta * (1.0 - namespace(W).tanh(self.beta * W) ** 2)


@dataclass(frozen=True)
class SmoothLinf1(_Smoothed):
    r"""Smooth mixed norm, :math:`\frac1\beta\sum_j\log\sum_i(e^{\beta W_{ij}}+e^{-\beta W_{ij}})`.

    The formula of section 3.3 less its value at W = 0, ``log(2k) / beta`` a column, so
    that it lies between ``norm - log(2k)/beta`` and ``norm`` for the sum of the
    columns' largest magnitudes.
    """

    def value_and_gradient(self, W: Weights) -> tuple[Scalar, Weights]:
        up, down, log_total = self._shares(W)
        value = (log_total - math.log(2.0 * W.shape[0])).sum() / self.beta
        return value, up - down

    def curvature_product(self, W: Weights, direction: Weights) -> Weights:
        up, down, _ = self._shares(W)
        gradient = up - down
        slope = (gradient * direction).sum(axis=0)
        return self.beta * ((up + down) * direction - gradient * slope)

    def mean_curvature(self, W: Weights) -> NDArray[np.float64]:
        up, down, _ = self._shares(W)
        return self.beta * ((up + down) - (up - down) ** 2).mean(axis=0)

    def _shares(self, W: Weights) -> tuple[Weights, Weights, NDArray[np.float64]]:
        """Return the soft-max shares of +W and of -W, and the log of their total."""
        xp = namespace(W)
        largest = self.beta * xp.amax(abs(W), axis=0)
        with np.errstate(under="ignore"):
            up, down = xp.exp(self.beta * W - largest), xp.exp(-self.beta * W - largest)
        total = (up + down).sum(axis=0)
        return up / total, down / total, largest + xp.log(total)


PENALTIES: dict[str, type[Penalty]] = {
    "frobenius": Frobenius,
    "l1": SmoothL1,
    "linf1": SmoothLinf1,
}
