"""Fig. 2: the features that a target error needs, against the number of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import linregress, t

from .experiment import Row
from .spread import in_words, spread


@dataclass(frozen=True)
class Needed:
    """The features that a method needs for a target, against the number of classes.

    Where a target was not reached, the most features of any model count, a lower bound.
    """

    classes: NDArray[np.intp]
    features: list[list[int]]  # of every order, for each number of classes
    missed: NDArray[np.intp]  # orders in which the target was not reached

    @classmethod
    def of(cls, rows: list[Row], method: str, target: float) -> Needed:
        """Return that of the rows of a method and a target."""
        own = [row for row in rows if (row["method"], row["target"]) == (method, target)]
        classes = sorted({row["classes"] for row in own})
        by_class = [[row for row in own if row["classes"] == k] for k in classes]
        features = [
            [row["most"] if row["features"] is None else row["features"] for row in some]
            for some in by_class
        ]
        missed = [sum(row["features"] is None for row in some) for some in by_class]
        return cls(np.array(classes), features, np.array(missed))

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean over orders, for each number of classes."""
        return np.array([np.mean(some) for some in self.features])

    @property
    def spreads(self) -> NDArray[np.float64]:
        """The standard deviation over orders, for each number of classes."""
        return np.array([spread(some) for some in self.features])

    @property
    def exponent(self) -> float:
        """The b of a least-squares fit of c k^b to the means."""
        return float(np.polyfit(np.log(self.classes), np.log(np.maximum(self.means, 1)), 1)[0])

    @property
    def exponent_interval(self) -> tuple[float, float]:
        """The 95% interval of the exponent, from the standard error of the fit's slope."""
        fit = linregress(np.log(self.classes), np.log(np.maximum(self.means, 1)))
        reach = float(t.ppf(0.975, len(self.classes) - 2) * fit.stderr)
        return self.exponent - reach, self.exponent + reach

    @property
    def growth(self) -> float:
        """Features for the most classes over those for up to 8 classes, on average."""
        return float(self.means[-1] / self.means[self.classes <= 8].mean())

    def at(self, place: int) -> str:
        """Return the mean and the spread in words."""
        bound = "at least " if self.missed[place] else ""
        return bound + in_words(self.features[place], ".1f")
