"""The rounds of a run in a checkpoint: a path as plain values and arrays, and back."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checkpoint import Checkpoint
from .fingerprint import digest
from .path import Path, Round
from .pools import Pool
from .refit import Status
from .terms import Terms

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
        self._costs = ""

    def path(self, pool: Pool, terms: Terms) -> Path | None:
        """Return the path saved last, among the atoms of the pool; None where there is none."""
        self._costs = digest((terms.prices, terms.needs))
        if self._found is None:
            return None
        values, arrays = self._found
        if values["costs"] != self._costs:
            raise ValueError(
                f"{self._file.name} was written by a run with other costs: give the same, another "
                "path, or delete the file."
            )
        return path_of(values, arrays, pool)

    def save(self, path: Path) -> None:
        """Put the path on disk, all of it or nothing."""
        values, arrays = state_of(path)
        self._file.save({**values, "costs": self._costs}, arrays)


def state_of(path: Path) -> tuple[Values, Arrays]:
    """Return all that ``path_of`` needs, bit for bit: JSON's values and plain arrays."""
    rounds = [path.start, *path.rounds]
    values = {
        "intercept": path.intercept,
        "rounds": [
            {
                "atom": round_.atom,
                "score": round_.score,
                "status": asdict(round_.status),
                "seconds": round_.seconds,
                "swaps": round_.swaps,
                "cost": round_.cost,
                "validation": round_.validation,
            }
            for round_ in rounds
        ],
    }
    arrays = {
        "atoms": path.features.ids,
        "centers": path.centers,
        "scales": path.scales,
        "widths": np.array([round_.W.shape for round_ in rounds]),
        "weights": np.concatenate([round_.W.ravel() for round_ in rounds]),
    }
    return values, arrays


def path_of(values: Values, arrays: Arrays, pool: Pool) -> Path:
    """Return the path of that state, among the atoms of a pool fitted as then."""
    sizes = arrays["widths"].prod(axis=1)
    weights = np.split(arrays["weights"], np.cumsum(sizes)[:-1])
    atoms: tuple[int, ...] = ()
    rounds: list[Round] = []
    for saved, shape, W in zip(values["rounds"], arrays["widths"], weights, strict=True):
        atoms = atoms_after(atoms, saved["atom"], saved["swaps"]) if rounds else ()
        round_ = {
            **saved,
            "W": W.reshape(shape),
            "status": Status(**saved["status"]),
            "atoms": atoms,
            "swaps": tuple((out, into) for out, into in saved["swaps"]),
        }
        rounds.append(Round(**round_))
    return Path(
        pool.features(arrays["atoms"]),
        values["intercept"],
        rounds[0],
        arrays["centers"],
        arrays["scales"],
        rounds[1:],
    )


def atoms_after(atoms: tuple[int, ...], atom: int, swaps: Any) -> tuple[int, ...]:
    """Return the atoms in use after one more and some exchanges, (out, in)."""
    atoms = (*atoms, atom)
    for out, into in swaps:
        atoms = (*(kept for kept in atoms if kept != out), into)
    return atoms
