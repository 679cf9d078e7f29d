"""The rounds of a path as JSON: one array for each thing that a round tells, and back."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..path import Round
from ..pools.features import Features
from ..solvers import Status
from .arrays import FLAGS, FLOATS, INTEGERS, from_plain, to_plain
from .fields import Fields, any_twice
from .text import ModelFormatError

# What a round tells, by its name in the file: finite numbers, and numbers that may be NaN.
FINITE = ("loss", "objective", "alpha", "seconds", "cost")
OPEN = ("score", "gradient", "tolerance", "validation")
KEYS = (
    *FINITE,
    *OPEN,
    *("atom", "iterations", "advice", "advices", "fell_back", "has_plain"),
    *("n_atoms", "atoms", "n_swaps", "swaps"),
)
MOST_ROUNDS = 10_000
MOST_SWAPS = 100_000
NO_WEIGHTS = np.empty((0, 0))


def rounds_to_plain(rounds: list[Round]) -> dict[str, Any]:
    """Return rounds as a file holds them, behind them those of the runs without swaps."""
    every = with_plain(rounds)
    advices = list(dict.fromkeys(round_.status.advice for round_ in every))
    swaps = [swap for round_ in every for swap in round_.swaps]

    def floats(key: str) -> dict[str, Any]:
        of_status = key in ("loss", "objective", "gradient", "tolerance", "alpha")
        values = [getattr(round_.status if of_status else round_, key) for round_ in every]
        return to_plain(np.array(values), FLOATS)

    def integers(values: list[int]) -> dict[str, Any]:
        return to_plain(np.array(values, dtype=np.int64), INTEGERS)

    has_plain = [round_.plain is not None for round_ in rounds]
    has_plain += [False] * (len(every) - len(rounds))
    return {
        **{key: floats(key) for key in (*FINITE, *OPEN)},
        "atom": integers([round_.atom for round_ in every]),
        "iterations": integers([round_.status.iterations for round_ in every]),
        "advices": advices,
        "advice": integers([advices.index(round_.status.advice) for round_ in every]),
        "fell_back": to_plain(np.array([round_.fell_back for round_ in every]), FLAGS),
        "has_plain": to_plain(np.array(has_plain), FLAGS),
        "n_atoms": integers([len(round_.atoms) for round_ in every]),
        "atoms": integers([atom for round_ in every for atom in round_.atoms]),
        "n_swaps": integers([len(round_.swaps) for round_ in every]),
        "swaps": to_plain(np.array(swaps, dtype=np.int64).reshape(-1, 2), INTEGERS),
    }


def with_plain(rounds: list[Round]) -> list[Round]:
    """Return the rounds, then those of the run without swaps beside them."""
    return [*rounds, *(round_.plain for round_ in rounds if round_.plain is not None)]


def rounds_from_plain(value: Any, name: str, features: Features) -> list[Round]:
    """Return rounds without weights, each with the one without swaps beside it.

    But for those beside them they use only the given features.
    """
    fields = Fields(value, name, KEYS)
    atom = fields.integers("atom", None, -1)
    n = atom.size
    if n > MOST_ROUNDS:
        raise ModelFormatError(f"{name} has {n} rounds: at most {MOST_ROUNDS:,}")
    has_plain = fields.flags("has_plain", n)
    n_main = n - int(has_plain.sum())
    if n_main < 1 or has_plain[n_main:].any():
        raise ModelFormatError(f"{name} has not as many rounds as has_plain asks for")
    finite = {key: fields.floats(key, (n,)).tolist() for key in FINITE}
    numbers = finite | {key: fields.floats(key, (n,), finite=False).tolist() for key in OPEN}
    atoms, swaps = _atoms(fields, n, n_main, features), _swaps(fields, n)
    fell_back = fields.flags("fell_back", n).tolist()
    every = [
        Round(
            int(atom[i]),
            numbers["score"][i],
            NO_WEIGHTS,
            status,
            numbers["seconds"][i],
            atoms[i],
            swaps[i],
            None,
            fell_back[i],
            numbers["cost"][i],
            numbers["validation"][i],
        )
        for i, status in enumerate(_statuses(fields, n, numbers))
    ]
    beside = iter(every[n_main:])
    return [
        replace(round_, plain=next(beside)) if has else round_
        for round_, has in zip(every[:n_main], has_plain[:n_main].tolist(), strict=True)
    ]


def _statuses(fields: Fields, n: int, numbers: dict[str, list[float]]) -> list[Status]:
    """Return how each refit ended."""
    advices = fields.texts("advices")
    iterations = fields.integers("iterations", n).tolist()
    advice = fields.integers("advice", n, 0, len(advices) - 1).tolist()
    return [
        Status(
            numbers["loss"][i],
            numbers["objective"][i],
            iterations[i],
            numbers["gradient"][i],
            numbers["tolerance"][i],
            advices[advice[i]],
            numbers["alpha"][i],
        )
        for i in range(n)
    ]


def _atoms(fields: Fields, n: int, n_main: int, features: Features) -> list[tuple[int, ...]]:
    """Return the atoms in use after each round."""
    atoms = fields.integers("atoms", None)
    stops = _stops(fields, "n_atoms", n, atoms.size)
    main = atoms[: stops[n_main]]
    round_of = np.repeat(np.arange(n_main), np.diff(stops[: n_main + 1]))
    twice = round_of * (1 << 32) + np.searchsorted(np.sort(features.ids), main)
    if not np.isin(main, features.ids).all() or any_twice(twice):
        raise ModelFormatError(
            f"{fields.named('atoms')} takes atoms of the features, each once a round"
        )
    # One object for an atom, in however many rounds.
    shared = {atom: atom for atom in features.ids.tolist()}
    return [
        tuple(shared.get(own, own) for own in atoms[start:stop].tolist())
        for start, stop in pairwise(stops.tolist())
    ]


def _swaps(fields: Fields, n: int) -> list[tuple[tuple[int, int], ...]]:
    """Return the exchanges of each round, (out, in)."""
    swaps = from_plain(fields["swaps"], fields.named("swaps"), INTEGERS, (None, 2))
    if len(swaps) > MOST_SWAPS or swaps.min(initial=0) < 0:
        raise ModelFormatError(
            f"{fields.named('swaps')} takes up to {MOST_SWAPS:,} pairs of integers from 0"
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


def weights_to_plain(rounds: list[Round]) -> dict[str, Any]:
    """Return the weights of all rounds, one after the other, and how many columns each has."""
    every = with_plain(rounds)
    n_columns = np.array([round_.W.shape[1] for round_ in every])
    flat = np.concatenate([round_.W.ravel() for round_ in every])
    return {"n_columns": to_plain(n_columns, INTEGERS), "values": to_plain(flat, FLOATS)}


def with_weights(
    rounds: list[Round], value: Any, name: str, n_classes: int, n_columns: NDArray[np.intp]
) -> list[Round]:
    """Return the rounds with their weights, which have so many columns in each of them."""
    fields = Fields(value, name, ("n_columns", "values"))
    n = len(with_plain(rounds))
    flat = fields.floats("values", (None,))
    told = fields.integers("n_columns", n, 0, flat.size // n_classes)
    if not np.array_equal(told[: len(rounds)], n_columns) or n_classes * told.sum() != flat.size:
        raise ModelFormatError(f"{name} has not as many weights as the rounds have columns")
    stops = np.concatenate([[0], np.cumsum(n_classes * told)]).tolist()
    every = [flat[a:b].reshape(n_classes, -1) for a, b in pairwise(stops)]
    beside = iter(every[len(rounds) :])
    return [
        replace(round_, W=W, plain=round_.plain and replace(round_.plain, W=next(beside)))
        for round_, W in zip(rounds, every[: len(rounds)], strict=True)
    ]
