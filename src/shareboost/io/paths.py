"""The path of a run as JSON and back: one array for each thing that its rounds tell."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..path import Path, PathOfOne, Round, StopReason
from ..pools.features import Features
from ..solvers import Status
from .fields import MOST_INTEGERS, Fields, checked_text
from .text import FLAGS, FLOATS, INTEGERS, ModelFormatError, array_from_plain, array_to_plain

STOP_REASONS = {str(reason): reason for reason in StopReason}
PATH_KEYS = (
    *("whole", "finished", "intercept", "n_atoms", "stop_reason", "shaped_by"),
    *("rounds", "weights"),
)
# What a round tells, by its name in the file: finite numbers, and numbers that may be NaN.
FINITE = ("loss", "objective", "alpha", "seconds", "cost")
OPEN = ("score", "gradient", "tolerance", "validation")
OF_STATUS = ("loss", "objective", "gradient", "tolerance", "alpha", "iterations", "advice")
ROUND_KEYS = (
    *FINITE,
    *OPEN,
    *("atom", "iterations", "advice", "advices", "fell_back", "has_plain"),
    *("n_atoms", "atoms", "n_swaps", "swaps"),
)
MOST_ROUNDS = 10_000
MOST_SWAPS = 100_000
NO_WEIGHTS = np.empty((0, 0))


def path_to_plain(path: Path, only: Round | None = None) -> dict[str, Any]:
    """Return all rounds with their weights, or one round alone."""
    finish = [] if path.finish is None else [path.finish]
    rounds = [path.start, *path.rounds, *finish] if only is None else [only]
    return {
        "whole": only is None,
        "finished": only is None and path.finish is not None,
        "intercept": path.intercept,
        "n_atoms": path.n_atoms,
        "stop_reason": path.stop_reason,
        "shaped_by": dict(path.shaped_by) if only is None else {},
        "rounds": _rounds_to_plain(rounds),
        "weights": _weights_to_plain(rounds) if only is None else None,
    }


def path_from_plain(
    value: Any, features: Features, n_classes: int, limited: bool = True, **about: Any
) -> Path:
    """Return a path of these features: whole, or of one model without its weights.

    ``about`` are other fields of the path. Only a checkpoint may have any number of rounds.
    """
    fields = Fields(value, "path", PATH_KEYS)
    about |= {
        "features": features,
        "intercept": fields.flag("intercept"),
        "n_atoms": fields.integer("n_atoms", int(features.ids.max(initial=0)) + 1),
        "stop_reason": fields.optional("stop_reason", lambda k: fields.one_of(k, STOP_REASONS)),
        "shaped_by": digests_from_plain(fields["shaped_by"], "path.shaped_by"),
    }
    whole, finished = fields.flag("whole"), fields.flag("finished")
    weights = (fields["weights"], n_classes, about["intercept"]) if whole else None
    rounds = _rounds_from_plain(fields["rounds"], weights, features, about["n_atoms"], limited)
    if not whole:
        if len(rounds) != 1 or finished or rounds[0].plain or fields["weights"] is not None:
            raise ModelFormatError("path is not whole, and not just one round without weights")
        return PathOfOne(start=rounds[0], rounds=rounds, **about)
    if len(rounds) < 1 + 2 * finished:
        raise ModelFormatError("path is finished, and has no round")
    start, *others = rounds
    finish = others.pop() if finished else None
    return Path(start=start, rounds=others, finish=finish, **about)


def digests_from_plain(value: Any, name: str) -> dict[str, str]:
    """Return digests by name."""
    if not isinstance(value, dict):
        raise ModelFormatError(f"{name} takes an object of texts")
    return {checked_text(key, name): checked_text(digest, name) for key, digest in value.items()}


def with_plain(rounds: list[Round]) -> list[Round]:
    """Return the rounds, then those of the run without swaps beside them."""
    return [*rounds, *(round_.plain for round_ in rounds if round_.plain is not None)]


def _rounds_to_plain(rounds: list[Round]) -> dict[str, Any]:
    """Return rounds as a file holds them, behind them those of the runs without swaps."""
    every = with_plain(rounds)
    advices = list(dict.fromkeys(round_.status.advice for round_ in every))
    has_plain = [round_.plain is not None for round_ in rounds]
    has_plain += [False] * (len(every) - len(rounds))
    swaps = [swap for round_ in every for swap in round_.swaps]

    def column(key: str, dtype: np.dtype[Any]) -> dict[str, Any]:
        holders = [round_.status if key in OF_STATUS else round_ for round_ in every]
        return array_to_plain([getattr(holder, key) for holder in holders], dtype)

    return {
        **{key: column(key, FLOATS) for key in (*FINITE, *OPEN)},
        "atom": column("atom", INTEGERS),
        "iterations": column("iterations", INTEGERS),
        "advices": advices,
        "advice": array_to_plain([advices.index(one.status.advice) for one in every], INTEGERS),
        "fell_back": column("fell_back", FLAGS),
        "has_plain": array_to_plain(has_plain, FLAGS),
        "n_atoms": array_to_plain([len(round_.atoms) for round_ in every], INTEGERS),
        "atoms": array_to_plain([atom for round_ in every for atom in round_.atoms], INTEGERS),
        "n_swaps": array_to_plain([len(round_.swaps) for round_ in every], INTEGERS),
        "swaps": array_to_plain(np.array(swaps, dtype=np.int64).reshape(-1, 2), INTEGERS),
    }


def _rounds_from_plain(
    value: Any,
    weights: tuple[Any, int, bool] | None,
    features: Features,
    pool_size: int,
    limited: bool,
) -> list[Round]:
    """Return rounds, each with the one without swaps beside it, of the features alone.

    ``weights`` are what a file holds of them, the number of classes and whether there is an
    intercept; None for rounds without weights.
    """
    fields = Fields(value, "path.rounds", ROUND_KEYS)
    atom = fields.integers("atom", None, -1, pool_size - 1)
    n = atom.size
    if limited and n > MOST_ROUNDS:
        raise ModelFormatError(f"path.rounds has {n} rounds: at most {MOST_ROUNDS:,}")
    has_plain = fields.flags("has_plain", n)
    n_main = n - int(has_plain.sum())
    if n_main < 1 or has_plain[n_main:].any():
        raise ModelFormatError("path.rounds does not have as many rounds as has_plain asks for")
    told: dict[str, list[Any]] = {
        key: fields.floats(key, (n,), finite=key in FINITE).tolist() for key in (*FINITE, *OPEN)
    }
    advices = fields.texts("advices")
    told |= {
        "atom": atom.tolist(),
        "advice": [advices[i] for i in fields.integers("advice", n, 0, len(advices) - 1)],
        "iterations": fields.integers("iterations", n).tolist(),
        "fell_back": fields.flags("fell_back", n).tolist(),
        "atoms": _atoms(fields, n, n_main, features, pool_size, limited),
        "swaps": _swaps(fields, n, pool_size, limited),
    }
    told["W"] = [NO_WEIGHTS] * n
    if weights is not None:
        told["W"] = _weights_from_plain(weights, features, told["atoms"], n_main)
    every = []
    for values in zip(*told.values(), strict=True):
        round_ = dict(zip(told, values, strict=True))
        status = Status(**{key: round_.pop(key) for key in OF_STATUS})
        every.append(Round(status=status, **round_))
    beside = iter(every[n_main:])
    return [
        replace(round_, plain=next(beside)) if has else round_
        for round_, has in zip(every[:n_main], has_plain[:n_main].tolist(), strict=True)
    ]


def _atoms(
    fields: Fields, n: int, n_main: int, features: Features, pool_size: int, limited: bool
) -> list[tuple[int, ...]]:
    """Return the atoms in use after each round."""
    most = MOST_INTEGERS if limited else math.inf
    atoms = fields.integers("atoms", None, 0, pool_size - 1, most)
    # One object for an atom, in however many rounds.
    shared = {atom: atom for atom in features.ids.tolist()}
    rounds = [
        tuple(shared.get(atom, atom) for atom in atoms[span].tolist())
        for span in _spans(fields, "n_atoms", n, atoms.size)
    ]
    if any(len(shared.keys() & round_) < len(round_) for round_ in rounds[:n_main]):
        raise ModelFormatError("path.rounds.atoms takes atoms of the features, each once a round")
    return rounds


def _swaps(
    fields: Fields, n: int, pool_size: int, limited: bool
) -> list[tuple[tuple[int, int], ...]]:
    """Return the exchanges of each round, (out, in)."""
    swaps = array_from_plain(fields["swaps"], fields.named("swaps"), INTEGERS, (None, 2))
    too_many = limited and len(swaps) > MOST_SWAPS
    if too_many or swaps.min(initial=0) < 0 or swaps.max(initial=0) >= pool_size:
        raise fields.bad(
            "swaps", f"up to {MOST_SWAPS:,} pairs of integers from 0 to {pool_size - 1}"
        )
    return [
        tuple((out, into) for out, into in swaps[span].tolist())
        for span in _spans(fields, "n_swaps", n, len(swaps))
    ]


def _spans(fields: Fields, key: str, n: int, total: int) -> list[slice]:
    """Return where the items of each of n rounds are among all of them."""
    stops = [0, *accumulate(fields.integers(key, n, 0, total).tolist())]
    if stops[-1] != total:
        raise ModelFormatError(f"{fields.named(key)} takes {n} numbers with the sum {total}")
    return [slice(start, stop) for start, stop in pairwise(stops)]


def _weights_to_plain(rounds: list[Round]) -> dict[str, Any]:
    """Return the weights of all rounds, one after the other, and how many columns each has."""
    weights = [round_.W for round_ in with_plain(rounds)]
    return {
        "n_columns": array_to_plain([W.shape[1] for W in weights], INTEGERS),
        "values": array_to_plain(np.concatenate([W.ravel() for W in weights]), FLOATS),
    }


def _weights_from_plain(
    weights: tuple[Any, int, bool], features: Features, atoms: list[tuple[int, ...]], n_main: int
) -> list[NDArray[np.float64]]:
    """Return the weights of rounds with these atoms, as many as the features have columns."""
    value, n_classes, intercept = weights
    fields = Fields(value, "path.weights", ("n_columns", "values"))
    flat = fields.floats("values", (None,))
    n_columns = fields.integers("n_columns", len(atoms), 0, flat.size // n_classes)
    widths = dict(zip(features.ids.tolist(), features.widths.tolist(), strict=True))
    needed = [intercept + sum(widths[atom] for atom in round_) for round_ in atoms[:n_main]]
    if n_columns[:n_main].tolist() != needed or n_classes * n_columns.sum() != flat.size:
        raise ModelFormatError("path.weights has not as many weights as the rounds have columns")
    stops = np.cumsum(n_classes * n_columns)[:-1]
    return [part.reshape(n_classes, -1) for part in np.split(flat, stops)]
