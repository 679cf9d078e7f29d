"""What ``shareboost fit`` does: read, fit, measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..classifier import ShareBoostClassifier
from ..pools import takes_nan
from ..progress import progress_bars
from ..resampling.cv import ShareBoostCV
from .errors import CommandError, listed
from .prices import read_prices
from .tables.inputs import Inputs
from .tables.prediction import read_labelled
from .tables.sources import Source
from .tables.training import Asked, Training, read_training

SHOWN = 30  # names of features in the summary


@dataclass(frozen=True)
class Wishes:
    """What is asked of the classifier."""

    features: int
    pool: str
    cv: bool
    swap: bool
    costs: str | None
    budget: float | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]

    def classifier(self, inputs: Inputs | None, n_columns: int, verbose: bool) -> Any:
        """Return the classifier to fit."""
        parameters: dict[str, Any] = {
            "n_features": self.features,
            "pool": self.pool,
            "swap": self.swap,
            "budget": self.budget,
            "include": _encoded(self.include, inputs) or None,
            "exclude": _encoded(self.exclude, inputs) or None,
            "verbose": int(verbose),
        }
        if self.costs is not None:
            parameters |= _priced(self.costs, inputs, n_columns)
        return ShareBoostCV(**parameters) if self.cv else ShareBoostClassifier(**parameters)


@dataclass
class Fitted:
    """A fitted classifier and its errors."""

    clf: Any
    n_columns: int
    interrupted: bool
    n_rows: int
    error: float  # of training
    held_out: tuple[int, float] | None  # rows, and their error

    def lines(self) -> list[str]:
        """Return what people are told of it."""
        names = [str(name) for name in self.clf.path_.names(self.clf.selected_)]
        more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        own = f"{len(names)} features, in the order chosen: {', '.join(names[:SHOWN])}{more}."
        lines = [own]
        if hasattr(self.clf, "best_n_features_"):
            lines.append(
                f"Cross-validation chose {self.clf.best_n_features_} features: "
                f"{1 - self.clf.best_score_:.2%} error on rows that a fold held out."
            )
        error = f"Error: {self.error:.2%} of {self.n_rows} training rows"
        if self.held_out is not None:
            error += f", {self.held_out[1]:.2%} of {self.held_out[0]} held-out rows"
        return [*lines, f"{error}."]


def fitted(
    source: Source, asked: Asked, wishes: Wishes, test: Source | None, verbose: bool
) -> Fitted | None:
    """Return a classifier fitted to a table; None where no round was finished before Ctrl-C."""
    with progress_bars(verbose):
        rows = read_training(source, asked)
        _check_gaps(rows, wishes.pool, source.name)
        held_out = rows.held_out if test is None else _tested(test, asked.target, rows)
    clf = wishes.classifier(rows.inputs, rows.X.shape[1], verbose)
    X = rows.named(rows.X)
    evaluation = None if held_out is None else (rows.named(held_out[0]), held_out[1])
    interrupted = False
    try:
        clf.fit(X, rows.y, **({} if wishes.cv else {"eval_set": evaluation}))
    except KeyboardInterrupt:
        if not hasattr(clf, "coef_"):
            return None
        interrupted = True
    if rows.inputs is not None and rows.inputs.levels is not None:
        clf.levels_in_ = rows.inputs.levels
    measured = None if evaluation is None else (len(evaluation[1]), 1 - clf.score(*evaluation))
    return Fitted(
        clf, rows.X.shape[1], interrupted, len(rows.y), 1 - clf.score(X, rows.y), measured
    )


def content(clf: Any, model_only: bool) -> bytes:
    """Return the model file."""
    from ..model_file.writer import content_of

    return content_of(clf, whole_path=not model_only)


def _tested(test: Source, target: str | None, rows: Training) -> tuple[Any, Any]:
    """Return the rows of the test file."""
    import numpy as np

    X, y = read_labelled(test, target, rows.inputs, rows.X.shape[1], np.unique(rows.y))
    return X, y


def _check_gaps(rows: Training, pool: str, name: str) -> None:
    if rows.with_gaps and not takes_nan(pool):
        raise CommandError(
            f"Columns {listed(rows.with_gaps)} of {name} have missing values, which --pool {pool} "
            "does not take: choose --pool stumps, fill them, or leave them out with --drop."
        )


def _encoded(names: tuple[str, ...], inputs: Inputs | None) -> list[str | int]:
    """Return features by name; a column of text stands for the columns of all its texts."""
    found: list[str | int] = []
    columns = {} if inputs is None else inputs.columns(range(len(inputs.names)))
    for name in names:
        places = columns.get(name, {})
        if inputs is not None and places and None not in places:
            found += [inputs.names[place] for place in places.values()]
        else:
            found.append(name)
    return found


def _priced(path: str, inputs: Inputs | None, n_columns: int) -> dict[str, Any]:
    """Return the costs; the columns of one column of text are a group that shares its price."""
    own = inputs or Inputs([f"x{i}" for i in range(n_columns)])
    columns = own.columns(range(n_columns))
    prices = read_prices(path, list(columns))
    if own.levels is None:
        return {"costs": [prices[name] for name in own.names]}
    groups = [
        name if pair is None else pair[0] for name, pair in zip(own.names, own.levels, strict=True)
    ]
    return {"groups": groups, "group_choice": "each", "costs": prices}
