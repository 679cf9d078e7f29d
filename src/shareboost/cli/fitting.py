"""What ``shareboost fit`` does: read, fit, measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..classifier import ShareBoostClassifier
from ..cv import ShareBoostCV
from ..pools import takes_nan
from ..progress import progress_bars
from .errors import CommandError, listed
from .images import TemplateOptions
from .outputs import printable
from .prices import read_prices
from .tables.inputs import Inputs, columns_with_gaps
from .tables.prediction import read_labelled
from .tables.sources import Source
from .tables.training import Asked, read_training

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
    templates: TemplateOptions

    def classifier(self, inputs: Inputs | None, n_columns: int, verbose: bool) -> Any:
        """Return the classifier to fit."""
        parameters: dict[str, Any] = {
            "n_features": self.features,
            "pool": self.templates.pool(n_columns) if self.pool == "templates" else self.pool,
            "swap": self.swap,
            "budget": self.budget,
            "include": _encoded(self.include, inputs) or None,
            "exclude": _encoded(self.exclude, inputs) or None,
            "verbose": int(verbose),
        }
        if self.costs is not None:
            parameters |= _priced(self.costs, inputs, n_columns)
        clf = ShareBoostClassifier(**parameters)
        return ShareBoostCV(clf) if self.cv else clf


@dataclass
class Fitted:
    """A fitted classifier, and the rows to measure its errors on."""

    clf: Any
    interrupted: bool
    training: tuple[Any, Any]  # X, y
    held_out: tuple[Any, Any] | None

    def lines(self) -> list[str]:
        """Return what people are told of it."""
        names = self.clf.path_.names(self.clf.selected_)
        more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        shown = printable(", ".join(names[:SHOWN]))
        lines = [f"{len(names)} features, in the order chosen: {shown}{more}."]
        if hasattr(self.clf, "best_n_features_"):
            lines.append(
                f"Cross-validation chose {self.clf.best_n_features_} features: "
                f"{1 - self.clf.best_score_:.2%} error on rows that a fold held out."
            )
        error = f"Error: {self._error(self.training)} training rows"
        if self.held_out is not None:
            error += f", {self._error(self.held_out)} held-out rows"
        return [*lines, f"{error}."]

    def _error(self, rows: tuple[Any, Any]) -> str:
        return f"{1 - self.clf.score(*rows):.2%} of {len(rows[1])}"


def fitted(
    source: Source, asked: Asked, wishes: Wishes, test: Source | None, verbose: bool
) -> Fitted | None:
    """Return a classifier fitted to a table; None where no round was finished before Ctrl-C."""
    with progress_bars(verbose):
        rows = read_training(source, asked)
        _check_gaps(rows.with_gaps, wishes.pool, source.name)
        held_out = rows.held_out
        if test is not None:
            n = rows.X.shape[1]
            held_out = read_labelled(test, asked.target, rows.inputs, n, np.unique(rows.y))
            gaps = columns_with_gaps(held_out[0], rows.inputs)
            _check_gaps(gaps, wishes.pool, test.name)
    clf = wishes.classifier(rows.inputs, rows.X.shape[1], verbose)
    X = rows.named(rows.X)
    evaluation = None if held_out is None else (rows.named(held_out[0]), held_out[1])
    interrupted = False
    try:
        if wishes.cv:
            clf.fit(X, rows.y)
            if evaluation is not None:
                _measure_rounds(clf, *evaluation)
        else:
            clf.fit(X, rows.y, eval_set=evaluation)
    except KeyboardInterrupt:
        if not hasattr(clf, "weights_"):
            return None
        interrupted = True
    except ValueError as error:
        if str(error).startswith("n_templates="):
            raise CommandError(f"--templates does not fit: {error}") from None
        raise
    if rows.inputs is not None and rows.inputs.levels is not None:
        clf.levels_in_ = rows.inputs.levels
    return Fitted(clf, interrupted, (X, rows.y), evaluation)


def _measure_rounds(clf: Any, X: Any, y: Any) -> None:
    """Set the held-out score of every round, which cross-validation does not measure."""
    path = clf.path_
    scores = [clf.at(t).score(X, y) for t in range(1, len(path) + 1)]
    path.rounds = [
        replace(round_, validation=score) for round_, score in zip(path.rounds, scores, strict=True)
    ]
    if path.finish is not None:
        path.finish = replace(path.finish, validation=scores[-1])


def content(clf: Any, model_only: bool) -> bytes:
    """Return the model file."""
    from ..io.model_file import content_of

    return content_of(clf, whole_path=not model_only)


def _check_gaps(columns: list[str], pool: str, name: str) -> None:
    if columns and not takes_nan(pool):
        raise CommandError(
            f"Columns {listed(columns)} of {name} have missing values, which --pool {pool} "
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
