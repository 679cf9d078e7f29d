"""What a run depends on, as digests: two runs of one identity end alike, bit for bit."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..pools import Pool
from ..samples import Sample
from .fingerprint import digest

# Parameters that change nothing of what a run finds. Of a callable, only what it returned counts.
IRRELEVANT = ("checkpoint", "verbose", "warm_start")
# Parameters that shape every round, but for those that change its loss and so show anyway.
SHAPING = (
    "rule",
    "shortlist",
    "swap",
    "groups",
    "group_choice",
    "costs",
    "include",
    "exclude",
    "penalty",
    "alpha",
    "solver",
    "refit_tol",
)


def identity_of(
    estimator: Any, sample: Sample, held_out: Sample | None, drawn: bool
) -> dict[str, str]:
    """Return the digest of the data and of every parameter that matters, by name.

    ``drawn`` tells whether the held-out rows were drawn at random.
    """
    from .. import __version__  # which is set only after this module

    _check_seeded(estimator, drawn)
    parameters = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name not in IRRELEVANT and not (name == "costs" and callable(value))
    }
    return {
        "version of shareboost": digest(__version__),
        "X": digest(sample.X),
        "y": digest(sample.y),
        "sample_weight": digest(sample.weight),
        "eval_set": digest(None if held_out is None else tuple(held_out)),
        **{name: digest(value, name) for name, value in parameters.items()},
    }


def shaping_of(estimator: Any) -> dict[str, str]:
    """Return the digest of every parameter that shapes a round, where it can be told."""
    found = {}
    for name in SHAPING:
        try:
            found[name] = digest(getattr(estimator, name), name)
        except TypeError:  # a callable, or a penalty of the user's own: nothing to compare
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
