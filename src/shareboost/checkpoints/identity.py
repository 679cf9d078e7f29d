"""What a run depends on, as digests: two runs of one identity end alike, bit for bit."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from ..choice.terms import Terms
from ..choice.wishes import Wishes
from ..penalties import PENALTIES
from ..pools import POOLS, Pool
from .fingerprint import digest

if TYPE_CHECKING:
    from ..backends import Backend

# Parameters that change nothing of what a run finds.
IRRELEVANT = ("checkpoint", "verbose", "warm_start")
# Of which counts where the run is computed: see ``Backend.name``.
PLACED = ("device",)
# Parameters of which counts what they come to: see ``Wishes.resolved``.
RESOLVED = ("groups", "costs", "include", "exclude")
FLOATS = ("alpha", "tol", "refit_tol", "margin", "budget")
# Parameters that shape every round, but for those that change its loss and so show anyway.
SHAPING = (
    "pool",
    "rule",
    "shortlist",
    "swap",
    "group_choice",
    "penalty",
    "alpha",
    "solver",
    "refit_tol",
)


def identity_of(
    estimator: Any,
    sample: Any,
    held_out: Any,
    drawn: bool,
    n_classes: int,
    backend: Backend,
) -> dict[str, str]:
    """Return the digest of the data and of every parameter that matters, by name.

    ``drawn`` tells whether the held-out rows were drawn at random.
    """
    from .. import __version__  # which is set only after this module

    _check_seeded(estimator, drawn)
    parameters = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name not in (*IRRELEVANT, *RESOLVED, *PLACED)
    }
    return {
        "version of shareboost": digest(__version__),
        "device": digest(backend.name),
        **sample.digests(n_classes),
        "eval_set": digest(None if held_out is None else held_out.digests(n_classes)),
        **{name: digest(_meaning(name, value), name) for name, value in parameters.items()},
    }


def _meaning(name: str, value: Any) -> Any:
    """Return what a parameter stands for: a name, or an integer for a float, may mean the same."""
    if isinstance(value, str) and name in ("pool", "penalty"):
        return POOLS[value]() if name == "pool" else PENALTIES[value]()
    return float(value) if isinstance(value, Integral) and name in FLOATS else value


def resolved_of(wishes: Wishes, terms: Terms) -> dict[str, str]:
    """Return the digest of what is asked of the choice, by the arguments' names."""
    return {name: digest(value, name) for name, value in wishes.resolved(terms).items()}


def shaping_of(estimator: Any, wishes: Wishes, terms: Terms) -> dict[str, str]:
    """Return the digest of all that shapes a round, where it can be told, by name."""
    found = resolved_of(wishes, terms)
    for name in SHAPING:
        try:
            found[name] = digest(_meaning(name, getattr(estimator, name)), name)
        except TypeError:  # a penalty of the user's own, a RandomState: nothing to compare
            continue
    return found


def _check_seeded(estimator: Any, drawn: bool) -> None:
    """Raise where a second run would draw other random numbers than the first."""
    unlike = drawn and estimator.random_state is None
    if unlike or _unseeded(estimator.pool):
        whose = "random_state" if unlike else "the pool's random_state"
        raise ValueError(
            f"checkpoint takes a run that can be repeated, and {whose} is None: give it an integer."
        )


def _unseeded(value: Any) -> bool:
    """Return whether an estimator, or one inside it, has no random state of its own."""
    if isinstance(value, (list, tuple)):
        return any(_unseeded(item) for item in value)
    if not isinstance(value, BaseEstimator):
        return False
    parameters = value.get_params(deep=False)
    if parameters.get("random_state", 0) is None:
        return True
    return isinstance(value, Pool) and any(map(_unseeded, parameters.values()))
