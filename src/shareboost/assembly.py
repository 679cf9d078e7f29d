"""The parts of a run, made from the parameters of an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .algorithm import Run, Stopping
from .identity import identity_of
from .inputs import input_of
from .io.checkpoint import Checkpoint
from .penalties import PENALTIES
from .selection.rules import Selector
from .solvers import Refit
from .swapping import SwappingRun

if TYPE_CHECKING:
    from .backends import Backend
    from .losses import Loss
    from .pools import Pool
    from .rows import Rows
    from .selection.pricing import Pricing

# Held out of training for early stopping where nothing else is said, as in scikit-learn.
HELD_OUT = 0.1


def samples(
    clf: Any, sample: Any, eval_set: Any, classes: NDArray[Any], pool: Pool, backend: Backend
) -> tuple[Any, Any]:
    """Return the rows to train on, of positive weight, and those held out, if any."""
    sample = sample.weighted
    fraction = clf.validation_fraction
    if eval_set is not None and fraction is not None:
        raise ValueError(
            f"eval_set and validation_fraction={fraction} both hold rows out: give one of them."
        )
    if eval_set is not None:
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
            raise ValueError(
                "eval_set takes one pair (X, y), or (X, y, sample_weight), of held-out rows; it "
                f"got {type(eval_set).__name__}."
            )
        finite, rows = "allow-nan" if pool.allows_nan else True, input_of(eval_set[0])
        held_out = rows.evaluation_sample(clf, eval_set, classes, finite, backend)
        backend.check(pool, clf.penalty, held_out.X)
        return sample, held_out
    if fraction is None and clf.n_iter_no_change is None:
        return sample, None
    return sample.split(fraction or HELD_OUT, clf.random_state)


def saved_run(
    clf: Any, sample: Any, held_out: Any, eval_set: Any, n_classes: int, backend: Backend
) -> Checkpoint | None:
    """Return the checkpoint, its content checked, or None."""
    if clf.checkpoint is None:
        return None
    drawn = held_out is not None and eval_set is None
    identity = identity_of(clf, sample, held_out, drawn, n_classes, backend)
    return Checkpoint(clf.checkpoint, identity)


def run(
    clf: Any, rows: Rows, loss: Loss, weight_unit: float, pricing: Pricing, held_out: Any
) -> Run:
    """Return the run that lowers a loss on some rows, whose weights are in some unit."""
    penalty = PENALTIES[clf.penalty]() if isinstance(clf.penalty, str) else clf.penalty
    refit = Refit(loss, penalty, clf.alpha, clf.solver, clf.max_iter, weight_unit)
    most = np.inf if clf.n_features is None else clf.n_features
    patience = np.inf if clf.n_iter_no_change is None else clf.n_iter_no_change
    stopping = Stopping(most, clf.tol, clf.refit_tol, patience)
    selector = Selector(rows, pricing, clf.rule, clf.shortlist, clf.swap)
    validation_set = None if held_out is None else held_out.held_out(rows)
    return (SwappingRun if clf.swap else Run)(rows, refit, stopping, selector, validation_set)
