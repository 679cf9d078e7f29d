"""What ``shareboost fit`` does: read, fit, measure."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..classifier import ShareBoostClassifier
from ..cv import ShareBoostCV
from ..pools import new_pool, takes_nan
from ..progress import progress_bars
from .errors import CommandError, listed
from .files import printable
from .tables.encoding import Inputs, columns_with_gaps, number_of
from .tables.rows import Asked, named, read_labelled, read_training

if TYPE_CHECKING:
    from .tables.sources import Source

SHOWN = 30  # names of features in the summary
# The options of ``--pool templates`` by the parameters of Templates.
TEMPLATES = {
    "image_shape": "--image-shape",
    "patch_size": "--patch-size",
    "sigma": "--sigma",
    "n_templates": "--templates",
}


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
        parts = {"training": self.training, "held-out": self.held_out}
        errors = [
            f"{1 - self.clf.score(*rows):.2%} of {len(rows[1])} {part} rows"
            for part, rows in parts.items()
            if rows is not None
        ]
        return [*lines, f"Error: {', '.join(errors)}."]


def fitted(
    source: Source,
    asked: Asked,
    test: Source | None,
    *,
    pool: str,
    cv: bool,
    verbose: int,
    **constraints: Any,
) -> Fitted | None:
    """Return a classifier fitted to a table; None where no round was finished before Ctrl-C."""
    with progress_bars(bool(verbose)):
        rows = read_training(source, asked)
        _check_gaps(rows.with_gaps, pool, source.name)
        inputs, held_out = rows.inputs, rows.held_out
        if test is not None:
            n_columns, classes = rows.X.shape[1], np.unique(rows.y)
            held_out = read_labelled(test, asked.target, inputs, n_columns, classes)
            _check_gaps(columns_with_gaps(held_out[0], inputs), pool, test.name)
    clf: Any = _classifier(inputs, rows.X.shape[1], pool, verbose=verbose, **constraints)
    clf = ShareBoostCV(clf) if cv else clf
    X = named(rows.X, inputs)
    evaluation = None if held_out is None else (named(held_out[0], inputs), held_out[1])
    interrupted = False
    try:
        clf.fit(X, rows.y, **({} if cv else {"eval_set": evaluation}))
        if cv and evaluation is not None:
            _measure_rounds(clf, *evaluation)
    except KeyboardInterrupt:
        if not hasattr(clf, "weights_"):
            return None
        interrupted = True
    except ValueError as error:
        if option := TEMPLATES.get(str(error).partition("=")[0]):
            raise CommandError(f"{option}: {error}") from None
        raise
    if inputs is not None and inputs.levels is not None:
        clf.levels_in_ = inputs.levels
    return Fitted(clf, interrupted, (X, rows.y), evaluation)


def _check_gaps(columns: list[str], pool: str, name: str) -> None:
    if columns and not takes_nan(pool):
        told = f"Columns {listed(columns)} of {name} have missing values, which --pool {pool}"
        raise CommandError(f"{told} does not take: choose --pool stumps, fill them or --drop them.")


def _classifier(
    inputs: Inputs | None,
    n_columns: int,
    pool: str,
    *,
    images: dict[str, Any],
    costs: str | None,
    include: list[str] | None,
    exclude: list[str] | None,
    **parameters: Any,
) -> ShareBoostClassifier:
    """Return the classifier to fit; a column of text stands for the columns of all its texts."""
    if costs is not None:
        inputs = inputs or Inputs.numbered(n_columns)
        prices = read_prices(costs, list(inputs.columns()))
        if inputs.levels is None:
            parameters["costs"] = [prices[name] for name in inputs.names]
        else:  # the columns of one column of text are a group that shares its price
            pairs = zip(inputs.names, inputs.levels, strict=True)
            parameters["groups"] = [pair[0] if pair else name for name, pair in pairs]
            parameters |= {"group_choice": "each", "costs": prices}
    made: dict[str, list[str]] = {}  # the names of the columns of X that a table's column makes
    if inputs is not None:
        for name, texts in inputs.columns().items():
            made[name] = [inputs.names[j] for j in texts.values()]

    def features(names: list[str] | None) -> list[str] | None:
        return [each for name in names or [] for each in made.get(name, [name])] or None

    return ShareBoostClassifier(
        pool=new_pool(pool).set_params(**images) if pool == "templates" else pool,
        include=features(include),
        exclude=features(exclude),
        **parameters,
    )


def _measure_rounds(clf: Any, X: Any, y: Any) -> None:
    """Set the held-out score of every round, which cross-validation does not measure."""
    path = clf.path_
    scores = [clf.at(t).score(X, y) for t in range(1, len(path) + 1)]
    path.rounds = [
        replace(round_, validation=score) for round_, score in zip(path.rounds, scores, strict=True)
    ]
    if path.finish is not None:
        path.finish = replace(path.finish, validation=scores[-1])


def template_options(pool: str, image_shape: str | None, **others: float | None) -> dict[str, Any]:
    """Return the parameters of ``--pool templates`` that were given; another pool takes none."""
    given: dict[str, Any] = {name: value for name, value in others.items() if value is not None}
    if image_shape is not None:
        if not re.fullmatch(r"[1-9]\d{0,8}(x[1-9]\d{0,8}){1,2}", image_shape, flags=re.ASCII):
            told = f"--image-shape {image_shape} is not valid"
            raise CommandError(f"{told}: it takes HxW or HxWxC, such as 28x28.")
        given["image_shape"] = tuple(map(int, image_shape.split("x")))
    if given and pool != "templates":
        option = TEMPLATES[next(iter(given))]
        raise CommandError(f"{option} is for --pool templates, and the pool is {pool}.")
    return given


def read_prices(path: str, columns: list[str]) -> dict[str, float]:
    """Return the cost of each column, from a JSON object or CSV lines with or without a header."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            if path.lower().endswith(".json"):
                content = json.load(file)
                if not isinstance(content, dict):
                    raise CommandError(f"{path} takes a JSON object of costs by column.")
                pairs = [list(pair) for pair in content.items()]
            else:
                pairs = [row for row in csv.reader(file) if row]
                if pairs and len(pairs[0]) == 2 and number_of(pairs[0][1].strip()) is None:
                    del pairs[0]  # a header
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no text: --costs takes CSV or JSON.") from None
    except json.JSONDecodeError as error:
        raise CommandError(f"{path} is not valid JSON: {error}.") from None
    prices: dict[str, float] = {}
    for pair in pairs:
        if len(pair) != 2:
            raise CommandError(f"{path} takes lines of a column and its cost, not {pair}.")
        column, cost = pair
        price = None if isinstance(cost, bool) else number_of(str(cost).strip())
        if price is None or not 0 < price < math.inf:
            told = f"{path} has the cost {cost!r} for {column!r}"
            raise CommandError(f"{told}: it takes numbers above 0.")
        prices[str(column)] = price
    if missing := [column for column in columns if column not in prices]:
        raise CommandError(f"{path} has no cost for {listed(missing)}.")
    return {column: prices[column] for column in columns}
