"""The rounds of a run in a checkpoint: a path as plain values and arrays, and back."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..path import Path, Round
from ..pools import Pool
from ..refit import Status
from .file import Checkpoint

Values = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class SavedRun:
    """The checkpoint of one run.

    Parameters
    ----------
    file : str or path-like
        Where it is or will be.
    identity : dict of str to str
        What the run depends on; a file of any other run is refused here and now.
    """

    def __init__(self, file: str | os.PathLike[str], identity: dict[str, str]):
        self._file = Checkpoint(file, identity)
        self._found = self._file.load()
        self._resolved: dict[str, str] = {}

    def path(self, pool: Pool, resolved: dict[str, str]) -> Path | None:
        """Return the path saved last, among the atoms of the pool; None where there is none.

        ``resolved`` are digests of what only a fitted pool can tell, by argument.
        """
        self._resolved = resolved
        if self._found is None:
            return None
        values, arrays = self._found
        if other := [name for name in resolved if values["resolved"].get(name) != resolved[name]]:
            raise ValueError(
                f"{self._file.name} is not this run's: it was written by a run with other "
                f"{', '.join(other)}. Give the same, another path, or delete the file."
            )
        return path_of(values, arrays, pool)

    def save(self, path: Path) -> None:
        """Put the path on disk, all of it or nothing."""
        values, arrays = state_of(path)
        self._file.save({**values, "resolved": self._resolved}, arrays)


def state_of(path: Path) -> tuple[Values, Arrays]:
    """Return all that ``path_of`` needs, bit for bit: JSON's values and plain arrays."""
    rounds = [path.start, *path.rounds]
    plain = [round_.plain for round_ in rounds if round_.plain]
    every = [*rounds, *plain]
    values = {
        "intercept": path.intercept,
        "rounds": [_values(round_) for round_ in rounds],
        "plain": [_values(round_) for round_ in plain],
    }
    arrays = {
        "known": path.features.ids,
        "centers": path.centers,
        "scales": path.scales,
        "shapes": np.array([round_.W.shape for round_ in every]),
        "weights": np.concatenate([round_.W.ravel() for round_ in every]),
        "counts": np.array([len(round_.atoms) for round_ in every]),
        "atoms": np.array([atom for round_ in every for atom in round_.atoms], dtype=np.intp),
    }
    return values, arrays


def path_of(values: Values, arrays: Arrays, pool: Pool) -> Path:
    """Return the path of that state, among the atoms of a pool fitted as then."""
    shapes = arrays["shapes"]
    weights = np.split(arrays["weights"], np.cumsum(shapes.prod(axis=1))[:-1])
    atoms = np.split(arrays["atoms"], np.cumsum(arrays["counts"])[:-1])
    every = [
        _round(saved, W.reshape(shape), tuple(own.tolist()))
        for saved, shape, W, own in zip(
            [*values["rounds"], *values["plain"]], shapes, weights, atoms, strict=True
        )
    ]
    n = len(values["rounds"])
    plain = iter(every[n:])
    rounds = [
        replace(round_, plain=next(plain)) if saved["has_plain"] else round_
        for round_, saved in zip(every[:n], values["rounds"], strict=True)
    ]
    return Path(
        pool.features(arrays["known"]),
        values["intercept"],
        rounds[0],
        arrays["centers"],
        arrays["scales"],
        rounds[1:],
    )


def _values(round_: Round) -> Values:
    """Return what is no array of a round."""
    return {
        "atom": round_.atom,
        "score": round_.score,
        "status": asdict(round_.status),
        "seconds": round_.seconds,
        "swaps": round_.swaps,
        "has_plain": round_.plain is not None,
        "fell_back": round_.fell_back,
        "cost": round_.cost,
        "validation": round_.validation,
    }


def _round(saved: Values, W: NDArray[np.float64], atoms: tuple[int, ...]) -> Round:
    """Return the round of those values, without its plain one."""
    fields = {name: value for name, value in saved.items() if name != "has_plain"}
    fields["status"] = Status(**saved["status"])
    fields["swaps"] = tuple((out, into) for out, into in saved["swaps"])
    return Round(**fields, W=W, atoms=atoms)
