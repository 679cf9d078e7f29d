"""Fig. 3: errors against numbers of features, and how two methods are compared by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shareboost.inspection.comparison import staged_labels

from .chance import Paired
from .experiment import Claim, Row, Verdict, together, verdict

DATA = {"satimage": "StatLog", "pendigits": "Pendigits", "isolet": "Isolet"}  # of both rows
SPARSE = (5, 10, 20, 40)  # numbers of features at which errors are compared
MUCH = 2.0  # "much faster" is with half as many features, or in half the time, at least


class Models:
    """The models of one method on one data set, in the order of its path.

    Parameters
    ----------
    rows : list of dict
        With the columns ``data``, ``method``, ``features``, ``error`` and ``test_rows``, of any
        number of data sets and methods; and ``wrong``, of those that are compared.
    data, method : str
        Which of them.
    """

    def __init__(self, rows: list[Row], data: str, method: str):
        self.rows = [row for row in rows if (row["data"], row["method"]) == (data, method)]
        self.features = self.column("features").astype(np.intp)
        self.errors = self.column("error")

    def column(self, name: str) -> NDArray[np.float64]:
        """Return a number of every model."""
        return np.array([row[name] for row in self.rows], dtype=np.float64)

    def at(self, n_features: int, name: str = "error") -> float:
        """Return a number of the largest model with at most so many features, NaN for none.

        Of models of one size, the last: a longer search, or a smaller weight of a norm.
        """
        place = self._place(n_features)
        return float("nan") if place is None else float(self.rows[place][name])

    def _place(self, n_features: int) -> int | None:
        return place_of(self.features, n_features)

    def needed(self, error: float) -> int | None:
        """Return the fewest features with at most that error; None where no model has it."""
        enough = self.features[self.errors <= error]
        return int(enough.min()) if enough.size else None

    def wrong(self, n_features: int) -> list[int] | None:
        """Return the test rows that the model of ``at`` gets wrong, None where there is none."""
        place = self._place(n_features)
        return None if place is None else list(self.rows[place]["wrong"])

    @property
    def most(self) -> int:
        """The features of the largest model."""
        return int(self.features.max())

    @property
    def rise(self) -> float:
        """The error of the last model over the least of any."""
        return float(self.errors[-1] - self.errors.min())

    @property
    def overfits(self) -> bool:
        """Whether that is more than twice the standard error of such a difference.

        Of two independent test sets, which is more than that of one and the same.
        """
        both = np.array([self.errors[-1], self.errors.min()])
        deviation = np.sqrt((both * (1 - both)).sum() / self.rows[0]["test_rows"])
        return bool(self.rise > 2 * deviation)

    def end(self) -> str:
        """Return how the error ends against the least, in words."""
        return (
            f"from {self.errors.min():.1%} to {self.errors[-1]:.1%} with {self.features[-1]} "
            f"features, {'beyond' if self.overfits else 'within'} chance"
        )


@dataclass(frozen=True)
class Race:
    """Whose error falls faster: two methods at a few sparse numbers of features."""

    ours: Models
    theirs: Models
    numbers: tuple[int, ...] = SPARSE

    def pair(self, n_features: int) -> Paired | None:
        """Return the test rows that one of the two models alone gets wrong, None without two."""
        ours, theirs = self.ours.wrong(n_features), self.theirs.wrong(n_features)
        return None if ours is None or theirs is None else Paired.of(ours, theirs)

    @property
    def lower(self) -> Verdict:
        """Whether ours makes fewer errors with each of the numbers, beyond chance.

        A number for which there is no other model is won.
        """
        pairs = map(self.pair, self.numbers)
        return together(Verdict.HOLDS if pair is None else pair.better for pair in pairs)

    @property
    def factor(self) -> float:
        """Their features over ours for the same error, a geometric mean over the numbers.

        Where they have no model as good, they count with their largest, which is too few.
        """
        ratios = []
        for t in self.numbers:
            theirs = self.theirs.needed(self.ours.at(t))
            ours = self.ours.needed(self.ours.at(t)) or t
            ratios.append((self.theirs.most if theirs is None else theirs) / ours)
        return float(np.exp(np.log(np.maximum(ratios, 1e-9)).mean()))

    @property
    def much(self) -> Verdict:
        """Whether ours is lower everywhere, and with so many features fewer."""
        few = self.factor >= MUCH
        return Verdict.IN_PART if self.lower is Verdict.HOLDS and not few else self.lower

    def against(self, n_features: int) -> str:
        """Return both errors within a number of features, in words."""
        theirs = self.theirs.at(n_features)
        words = "no model" if np.isnan(theirs) else f"{theirs:.1%}"
        return f"{self.ours.at(n_features):.1%} against {words} with {n_features}"

    def _compared(self, n_features: int) -> str:
        """Return the same, and the chance of such a difference."""
        pair = self.pair(n_features)
        return self.against(n_features) + (f" (p = {pair.p_value:.1g})" if pair else "")

    def __str__(self) -> str:
        bound = any(self.theirs.needed(self.ours.at(t)) is None for t in self.numbers)
        each = ", ".join(self._compared(t) for t in self.numbers)
        return f"{each}; {'at least ' * bound}{self.factor:.2f} times as many for the same error"


def place_of(features: NDArray[np.intp], n_features: int) -> int | None:
    """Return the place of the largest model within a number of features, the last of equals."""
    allowed = np.flatnonzero(features <= n_features)
    if not allowed.size:
        return None
    return int(allowed[features[allowed] == features[allowed].max()][-1])


def wrong_rows(clf: Any, X: Any, y: NDArray[Any]) -> dict[int, list[int]]:
    """Return the rows that models of a path get wrong, by their places: those of ``SPARSE``."""
    n_features = np.asarray(clf.path_.n_features)
    places = {place_of(n_features, t) for t in SPARSE}
    return {
        place: np.flatnonzero(found != y).tolist()
        for place, found in enumerate(staged_labels(clf, X))
        if place in places
    }


def overfitting(plain: Mapping[str, Models], penalised: Mapping[str, Models]) -> list[Claim]:
    """Return whether ShareBoost overfits and, where it does, whether a penalty prevents it.

    Parameters
    ----------
    plain, penalised : mapping of str to Models
        By data set, without and with a penalty.
    """
    over = {name: own.overfits for name, own in plain.items()}
    mended = [not penalised[name].overfits for name in plain if over[name]]
    claims = [
        Claim(
            "When more features are allowed, ShareBoost without a penalty starts to overfit",
            "a curve, no number",
            _ends(plain),
            verdict(all(over.values()), any(over.values())),
        )
    ]
    if mended:  # else there is nothing to prevent
        claims.append(
            Claim(
                "Regularization prevents this overfitting, where there is any",
                "said, not shown",
                _ends(penalised),
                verdict(all(mended), any(mended)),
            )
        )
    return claims


def listed(numbers: Sequence[int]) -> str:
    """Return numbers in words, such as "5, 10 and 20"."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _ends(models: Mapping[str, Models]) -> str:
    """Return how errors end against the least, in words."""
    return "; ".join(f"{name}: {own.end()}" for name, own in models.items())
