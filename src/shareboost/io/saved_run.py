"""The rounds of a run in a checkpoint: a path as plain values and arrays, and back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..path import Path, Round
from ..pools.base import Pool
from ..solvers import Status
from .checkpoint import Checkpoint

NUMBER = (int, float)
ROUND: dict[str, tuple[type, ...]] = {
    "atom": (int,),
    "score": NUMBER,
    "status": (dict,),
    "seconds": NUMBER,
    "swaps": (list,),
    "has_plain": (bool,),
    "fell_back": (bool,),
    "cost": NUMBER,
    "validation": NUMBER,
}
STATUS: dict[str, tuple[type, ...]] = {
    "loss": NUMBER,
    "objective": NUMBER,
    "iterations": (int,),
    "gradient": NUMBER,
    "tolerance": NUMBER,
    "advice": (str,),
    "alpha": NUMBER,
}
# The kind and the number of axes of every array.
KINDS = {
    **{"known": ("i", 1), "centers": ("f", 1), "scales": ("f", 1)},
    **{"shapes": ("i", 2), "weights": ("f", 1), "counts": ("i", 1), "atoms": ("i", 1)},
}

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
        with self._file.whole():
            written = dict(values["resolved"])
            path = path_of(values, arrays, pool)
        if other := [name for name in resolved if written.get(name) != resolved[name]]:
            raise ValueError(
                f"{self._file.name} is not this run's: it was written by a run with other "
                f"{', '.join(other)}. Give the same, another path, or delete the file."
            )
        return path

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
    known = arrays["known"]
    _check_arrays(arrays)
    shapes = arrays["shapes"]
    weights = np.split(arrays["weights"], np.cumsum(shapes.prod(axis=1))[:-1])
    atoms = np.split(arrays["atoms"], np.cumsum(arrays["counts"])[:-1])
    every = [
        _round(saved, W.reshape(shape), tuple(own.tolist()))
        for saved, shape, W, own in zip(
            [*values["rounds"], *values["plain"]], shapes, weights, atoms, strict=True
        )
    ]
    used = {*known.tolist(), *(atom for round_ in every for atom in _atoms_of(round_))}
    if not all(0 <= atom < pool.n_atoms_ for atom in used):
        raise ValueError("it names atoms that the pool does not have")
    features = pool.features(known)
    columns = dict(zip(used, pool.features(list(used)).widths.tolist(), strict=True))
    for round_ in every:
        width = bool(values["intercept"]) + sum(columns[atom] for atom in round_.atoms)
        if round_.W.shape != (len(every[0].W), width) or not np.isfinite(round_.W).all():
            raise ValueError("the weights of a round are not those of its features")
    if not len(arrays["centers"]) == len(arrays["scales"]) == features.widths.sum():
        raise ValueError("centers and scales are not those of the features")
    n = len(values["rounds"])
    ids = set(known.tolist())
    if len(ids) < known.size or not all(
        len(set(round_.atoms)) == len(round_.atoms) and ids.issuperset(round_.atoms)
        for round_ in every[:n]
    ):
        raise ValueError("a round has features that the run has not, or one of them twice")
    if sum(saved["has_plain"] for saved in values["rounds"]) != len(values["plain"]):
        raise ValueError("it has other rounds without swaps than it says")
    plain = iter(every[n:])
    rounds = [
        replace(round_, plain=next(plain)) if saved["has_plain"] else round_
        for round_, saved in zip(every[:n], values["rounds"], strict=True)
    ]
    return Path(
        features,
        values["intercept"],
        rounds[0],
        arrays["centers"],
        arrays["scales"],
        rounds[1:],
    )


def _atoms_of(round_: Round) -> Iterator[int]:
    """Yield the atoms that a round names."""
    yield from round_.atoms
    for swap in round_.swaps:
        yield from swap
    if round_.atom != -1:  # the start
        yield round_.atom


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
    _check_types(saved, ROUND)
    _check_types(saved["status"], STATUS)
    fields = {name: value for name, value in saved.items() if name != "has_plain"}
    fields["status"] = Status(**saved["status"])
    fields["swaps"] = tuple((int(out), int(into)) for out, into in saved["swaps"])
    return Round(**fields, W=W, atoms=atoms)


def _check_types(saved: Values, types: dict[str, tuple[type, ...]]) -> None:
    """Raise where a value is missing, too many, or of another type."""
    if saved.keys() != types.keys():
        raise ValueError("a round has other values than a round has")
    for name, value in saved.items():
        if type(value) not in types[name]:
            raise ValueError(f"{name} of a round is {str(value)[:40]!r}")


def _check_arrays(arrays: Arrays) -> None:
    """Raise where an array is missing, too many, or of another kind or number of axes."""
    if arrays.keys() != KINDS.keys():
        raise ValueError("it has other arrays than a run has")
    for name, (kind, n_axes) in KINDS.items():
        if arrays[name].dtype.kind != kind or arrays[name].ndim != n_axes:
            raise ValueError(f"{name} is an array of {arrays[name].dtype}")
