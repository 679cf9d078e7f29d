"""The path of a run as JSON and back: one array for each thing that its rounds tell."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
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
OF_STATUS = ("loss", "objective", "gradient", "tolerance", "alpha")
ROUND_KEYS = (
    *FINITE,
    *OPEN,
    *("atom", "iterations", "advice", "advices", "fell_back", "has_plain"),
    *("n_atoms", "atoms", "n_swaps", "swaps"),
)
MOST_ROUNDS = 10_000
MOST_SWAPS = 100_000
MOST_DIGESTS = 100
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

    ``limited`` tells whether there may be only so many rounds; ``about`` are other fields of the
    path.
    """
    fields = Fields(value, "path", PATH_KEYS)
    about |= {
        "features": features,
        "intercept": fields.flag("intercept"),
        "n_atoms": fields.integer("n_atoms", int(features.ids.max(initial=0)) + 1),
        "stop_reason": fields.optional("stop_reason", lambda k: fields.one_of(k, STOP_REASONS)),
        "shaped_by": digests_from_plain(fields["shaped_by"], "path.shaped_by"),
    }
    rounds = _rounds_from_plain(fields["rounds"], features, about["n_atoms"], limited)
    finished = fields.flag("finished")
    if not fields.flag("whole"):
        if len(rounds) != 1 or finished or rounds[0].plain or fields["weights"] is not None:
            raise ModelFormatError(
                "path is not whole, and does not have just one round without weights"
            )
        return PathOfOne(start=rounds[0], rounds=rounds, **about)
    if len(rounds) < 1 + 2 * finished:
        raise ModelFormatError("path is finished, and has no round")
    start, *others = _with_weights(
        rounds, fields["weights"], n_classes, about["intercept"], features
    )
    finish = others.pop() if finished else None
    return Path(start=start, rounds=others, finish=finish, **about)


def digests_from_plain(value: Any, name: str) -> dict[str, str]:
    """Return digests by name."""
    if not isinstance(value, dict) or len(value) > MOST_DIGESTS:
        raise ModelFormatError(f"{name} takes an object of up to {MOST_DIGESTS} texts")
    return {
        checked_text(key, f"a key of {name}"): checked_text(digest, name)
        for key, digest in value.items()
    }


def with_plain(rounds: list[Round]) -> list[Round]:
    """Return the rounds, then those of the run without swaps beside them."""
    return [*rounds, *(round_.plain for round_ in rounds if round_.plain is not None)]


def _rounds_to_plain(rounds: list[Round]) -> dict[str, Any]:
    """Return rounds as a file holds them, behind them those of the runs without swaps."""
    every = with_plain(rounds)
    advices = list(dict.fromkeys(round_.status.advice for round_ in every))
    swaps = [swap for round_ in every for swap in round_.swaps]
    has_plain = [round_.plain is not None for round_ in rounds]
    has_plain += [False] * (len(every) - len(rounds))

    def floats(key: str) -> dict[str, Any]:
        tell = [round_.status if key in OF_STATUS else round_ for round_ in every]
        return array_to_plain(np.array([getattr(one, key) for one in tell]), FLOATS)

    def integers(values: list[int]) -> dict[str, Any]:
        return array_to_plain(np.array(values, dtype=np.int64), INTEGERS)

    return {
        **{key: floats(key) for key in (*FINITE, *OPEN)},
        "atom": integers([round_.atom for round_ in every]),
        "iterations": integers([round_.status.iterations for round_ in every]),
        "advices": advices,
        "advice": integers([advices.index(round_.status.advice) for round_ in every]),
        "fell_back": array_to_plain(np.array([round_.fell_back for round_ in every]), FLAGS),
        "has_plain": array_to_plain(np.array(has_plain), FLAGS),
        "n_atoms": integers([len(round_.atoms) for round_ in every]),
        "atoms": integers([atom for round_ in every for atom in round_.atoms]),
        "n_swaps": integers([len(round_.swaps) for round_ in every]),
        "swaps": array_to_plain(np.array(swaps, dtype=np.int64).reshape(-1, 2), INTEGERS),
    }


def _rounds_from_plain(
    value: Any, features: Features, pool_size: int, limited: bool
) -> list[Round]:
    """Return rounds without weights, each with the one without swaps beside it.

    But for those beside them they use only the given features.
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
    numbers = {
        key: fields.floats(key, (n,), finite=key in FINITE).tolist() for key in (*FINITE, *OPEN)
    }
    advices = fields.texts("advices")
    advice = fields.integers("advice", n, 0, len(advices) - 1).tolist()
    iterations = fields.integers("iterations", n).tolist()
    fell_back = fields.flags("fell_back", n).tolist()
    most = MOST_INTEGERS if limited else math.inf
    atoms = _atoms(fields, n, n_main, features, pool_size, most)
    swaps = _swaps(fields, n, pool_size, MOST_SWAPS if limited else math.inf)
    every = []
    for i in range(n):
        told = {key: values[i] for key, values in numbers.items()}
        status = Status(
            iterations=iterations[i],
            advice=advices[advice[i]],
            **{key: told.pop(key) for key in OF_STATUS},
        )
        round_ = Round(
            atom=int(atom[i]),
            W=NO_WEIGHTS,
            status=status,
            atoms=atoms[i],
            swaps=swaps[i],
            fell_back=fell_back[i],
            **told,
        )
        every.append(round_)
    beside = iter(every[n_main:])
    return [
        replace(round_, plain=next(beside)) if has else round_
        for round_, has in zip(every[:n_main], has_plain[:n_main].tolist(), strict=True)
    ]


def _atoms(
    fields: Fields, n: int, n_main: int, features: Features, pool_size: int, most: float
) -> list[tuple[int, ...]]:
    """Return the atoms in use after each round."""
    atoms = fields.integers("atoms", None, 0, pool_size - 1, most)
    stops = _stops(fields, "n_atoms", n, atoms.size)
    main = atoms[: stops[n_main]]
    round_of = np.repeat(np.arange(n_main), np.diff(stops[: n_main + 1]))
    twice = round_of * (1 << 32) + np.searchsorted(np.sort(features.ids), main)
    if not np.isin(main, features.ids).all() or np.unique(twice).size < twice.size:
        raise ModelFormatError(
            f"{fields.named('atoms')} takes atoms of the features, each once a round"
        )
    # One object for an atom, in however many rounds.
    shared = {atom: atom for atom in features.ids.tolist()}
    return [
        tuple(shared.get(atom, atom) for atom in atoms[start:stop].tolist())
        for start, stop in pairwise(stops.tolist())
    ]


def _swaps(
    fields: Fields, n: int, pool_size: int, most: float
) -> list[tuple[tuple[int, int], ...]]:
    """Return the exchanges of each round, (out, in)."""
    swaps = array_from_plain(fields["swaps"], fields.named("swaps"), INTEGERS, (None, 2))
    if len(swaps) > most or swaps.min(initial=0) < 0 or swaps.max(initial=0) >= pool_size:
        raise ModelFormatError(
            f"{fields.named('swaps')} takes up to {most:,} pairs of integers from 0 to "
            f"{pool_size - 1}"
        )
    stops = _stops(fields, "n_swaps", n, len(swaps))
    return [
        tuple((out, into) for out, into in swaps[start:stop].tolist())
        for start, stop in pairwise(stops.tolist())
    ]


def _stops(fields: Fields, key: str, n: int, total: int) -> NDArray[np.intp]:
    """Return where the items of each of n rounds begin, and where the last end, (n + 1,)."""
    stops = np.concatenate([[0], np.cumsum(fields.integers(key, n, 0, total))])
    if stops[-1] != total:
        raise ModelFormatError(f"{fields.named(key)} takes {n} numbers with the sum {total}")
    return stops


def _weights_to_plain(rounds: list[Round]) -> dict[str, Any]:
    """Return the weights of all rounds, one after the other, and how many columns each has."""
    every = with_plain(rounds)
    n_columns = np.array([round_.W.shape[1] for round_ in every])
    flat = np.concatenate([round_.W.ravel() for round_ in every])
    return {
        "n_columns": array_to_plain(n_columns, INTEGERS),
        "values": array_to_plain(flat, FLOATS),
    }


def _with_weights(
    rounds: list[Round], value: Any, n_classes: int, intercept: bool, features: Features
) -> list[Round]:
    """Return the rounds with their weights, as many as the features of each have columns."""
    fields = Fields(value, "path.weights", ("n_columns", "values"))
    flat = fields.floats("values", (None,))
    widths = dict(zip(features.ids.tolist(), features.widths.tolist(), strict=True))
    needed = [intercept + sum(widths[atom] for atom in round_.atoms) for round_ in rounds]
    n_columns = fields.integers("n_columns", len(with_plain(rounds)), 0, flat.size // n_classes)
    if n_columns[: len(rounds)].tolist() != needed or n_classes * n_columns.sum() != flat.size:
        raise ModelFormatError(
            "path.weights does not have as many weights as the rounds have columns"
        )
    stops = np.concatenate([[0], np.cumsum(n_classes * n_columns)]).tolist()
    every = [flat[start:stop].reshape(n_classes, -1) for start, stop in pairwise(stops)]
    beside = iter(every[len(rounds) :])
    return [
        replace(round_, W=W, plain=round_.plain and replace(round_.plain, W=next(beside)))
        for round_, W in zip(rounds, every[: len(rounds)], strict=True)
    ]
