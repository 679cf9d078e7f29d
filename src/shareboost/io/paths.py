"""The path of a classifier as JSON, whole or the one model alone, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import Model
from ..path import Path, Round, StopReason
from ..path_of_one import PathOfOne, training_of
from ..pools.features import Features
from .arrays import FLOATS, to_plain
from .fields import Fields, checked_text
from .rounds import rounds_from_plain, rounds_to_plain, weights_to_plain, with_weights
from .text import ModelFormatError

STOP_REASONS = {str(reason): reason for reason in StopReason}
PATH_KEYS = (
    *("whole", "finished", "intercept", "n_atoms", "stop_reason", "shaped_by"),
    *("rounds", "weights"),
)
TRAINING_KEYS = ("rows", "losses", "seconds", "not_converged")
MOST_DIGESTS = 100


@dataclass(frozen=True)
class Saved:
    """What a file tells of the model itself, checked."""

    features: Features  # of all rounds
    centers: NDArray[np.float64]
    scales: NDArray[np.float64]
    model: Model  # of some of them
    iterations: int


def path_to_plain(path: Path, step: Round, whole: bool) -> dict[str, Any]:
    """Return all rounds with their weights, or that of the model alone."""
    finish = [] if path.finish is None else [path.finish]
    rounds = [path.start, *path.rounds, *finish] if whole else [step]
    return {
        "whole": whole,
        "finished": whole and path.finish is not None,
        "intercept": path.intercept,
        "n_atoms": path.n_atoms,
        "stop_reason": path.stop_reason,
        "shaped_by": path.shaped_by if whole else {},
        "rounds": rounds_to_plain(rounds),
        "weights": weights_to_plain(rounds) if whole else None,
    }


def training_to_plain(path: Path) -> dict[str, Any]:
    """Return what people may want to know of the run."""
    told = training_of(path)
    return {"rows": path.n_rows, **told, "losses": to_plain(told["losses"], FLOATS)}


def path_from_plain(value: Any, training: Any, saved: Saved) -> Path:
    """Return the path of a file's model."""
    fields = Fields(value, "path", PATH_KEYS)
    n_rows, told = _training(training)
    shared: dict[str, Any] = {
        "features": saved.features,
        "intercept": fields.flag("intercept"),
        "centers": saved.centers,
        "scales": saved.scales,
        "n_atoms": fields.integer("n_atoms", int(saved.features.ids.max(initial=0)) + 1),
        "n_rows": n_rows,
        "stop_reason": fields.optional("stop_reason", lambda k: fields.one_of(k, STOP_REASONS)),
        "shaped_by": _digests(fields),
    }
    rounds = rounds_from_plain(fields["rounds"], "path.rounds", saved.features)
    finished = fields.flag("finished")
    if not fields.flag("whole"):
        _check_alone(rounds, finished, fields["weights"], saved)
        model = saved.model
        alone = PathOfOne(start=rounds[0], rounds=rounds, **shared)
        alone.model_weights, alone.intercepts = model.weights, model.intercept
        alone.iterations, alone.training = saved.iterations, told
        return alone
    if len(rounds) < 1 + 2 * finished:
        raise ModelFormatError("path is finished, and has no round")
    rounds = with_weights(
        rounds,
        fields["weights"],
        "path.weights",
        saved.model.intercept.size,
        _n_columns(rounds, saved.features) + shared["intercept"],
    )
    start, *others = rounds
    finish = others.pop() if finished else None
    path = Path(start=start, rounds=others, finish=finish, **shared)
    selected = tuple(saved.model.features.ids.tolist())
    if len(selected) > len(path) or path.step(len(selected)).atoms != selected:
        raise ModelFormatError("path has no round with the features of the model")
    return path


def _check_alone(rounds: list[Round], finished: bool, weights: Any, saved: Saved) -> None:
    """Raise where a path that is not whole is not that of the model alone."""
    selected = saved.model.features.ids
    if (
        len(rounds) != 1
        or finished
        or rounds[0].plain is not None
        or weights is not None
        or not np.array_equal(selected, saved.features.ids)
        or rounds[0].atoms != tuple(selected.tolist())
    ):
        raise ModelFormatError(
            "path is not whole, and has not just one round, of the model and all features"
        )


def _n_columns(rounds: list[Round], features: Features) -> NDArray[np.intp]:
    """Return how many columns the atoms of each round have."""
    widths = dict(zip(features.ids.tolist(), features.widths.tolist(), strict=True))
    return np.array([sum(widths[atom] for atom in round_.atoms) for round_ in rounds])


def _digests(fields: Fields) -> dict[str, str]:
    """Return what shaped the rounds, as digests by name."""
    found = fields["shaped_by"]
    if not isinstance(found, dict) or len(found) > MOST_DIGESTS:
        raise ModelFormatError(f"path.shaped_by takes an object of up to {MOST_DIGESTS} texts")
    return {
        checked_text(name, "a key of path.shaped_by"): checked_text(digest, "path.shaped_by")
        for name, digest in found.items()
    }


def _training(value: Any) -> tuple[int | None, dict[str, Any]]:
    """Return the number of rows, if known, and what else there is of the run."""
    fields = Fields(value, "training", TRAINING_KEYS)
    late = fields.list("not_converged")
    if not all(type(t) is int and t >= 0 for t in late):
        raise ModelFormatError("training.not_converged takes the numbers of rounds")
    return fields.optional("rows", fields.integer), {
        "losses": fields.floats("losses", (None,)),
        "seconds": fields.number("seconds"),
        "not_converged": late,
    }
