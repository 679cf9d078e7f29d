"""What a run depends on, as digests: two runs of one identity end alike, bit for bit."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from ..penalties import PENALTIES
from ..pools import new_pool
from ..pools.base import Pool
from ..selection.constraints import Wishes
from ..selection.pricing import Terms
from .fingerprint import digest

if TYPE_CHECKING:
    from ..backends import Backend


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
    left_out = {*estimator._of_one_fit, *estimator._resolved}
    names = [name for name in estimator._get_param_names() if name not in left_out]
    return {
        "version of shareboost": digest(__version__),
        "device": digest(backend.name),
        **sample.digests(n_classes),
        "eval_set": digest(None if held_out is None else held_out.digests(n_classes)),
        **{name: _of_parameter(estimator, name) for name in names},
    }


def _of_parameter(estimator: Any, name: str) -> str:
    """Return the digest of what a parameter stands for, an object by name or a float perhaps."""
    value = getattr(estimator, name)
    if isinstance(value, str) and name in ("pool", "penalty"):
        value = new_pool(value) if name == "pool" else PENALTIES[value]()
    kinds = [getattr(one, "type", None) for one in estimator._parameter_constraints[name]]
    return digest(float(value) if isinstance(value, Integral) and Real in kinds else value, name)


def resolved_of(wishes: Wishes, terms: Terms) -> dict[str, str]:
    """Return the digest of what is asked of the choice, by the arguments' names."""
    return {name: digest(value, name) for name, value in wishes.resolved(terms).items()}


def shaping_of(estimator: Any, wishes: Wishes, terms: Terms) -> dict[str, str]:
    """Return the digest of all that shapes a round, where it can be told, by name."""
    found = resolved_of(wishes, terms)
    for name in estimator._shaping:
        try:
            found[name] = _of_parameter(estimator, name)
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
