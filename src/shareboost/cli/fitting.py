"""What ``shareboost fit`` does: read, fit, measure."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..classifier import ShareBoostClassifier
from ..cv import ShareBoostCV
from ..pools import new_pool, takes_nan
from ..progress import progress_bars
from .errors import CommandError, listed
from .files import printable, shows_bars
from .tables.encoding import Inputs, columns_with_gaps, number_of
from .tables.rows import Asked, named, read_labelled, read_training
from .tables.sources import source_of

SHOWN = 30  # names of features in the summary
# The parameters of the pool of templates, and what they are among the options.
TEMPLATES = {name: name for name in ("image_shape", "patch_size", "sigma")}
TEMPLATES["n_templates"] = "templates"


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


def fitted(options: dict[str, Any]) -> Fitted | None:
    """Return a classifier fitted as the options of the command ask.

    None where no round was finished before Ctrl-C.
    """
    pool, cv, target = options["pool"], options["cv"], options["target"]
    source = source_of(options["data"], options["format_"])
    test = None if options["test"] is None else source_of(options["test"], options["format_"])
    levels = options["levels"] if options["text"] == "one-hot" else None
    drop = tuple(options["drop"] or ())
    images = _template_options(options)
    with progress_bars(shows_bars()):
        rows = read_training(
            source, Asked(target, levels, drop, options["holdout"], options["seed"])
        )
        _check_gaps(rows.with_gaps, pool, source.name)
        inputs, held_out = rows.inputs, rows.held_out
        if test is not None:
            n_columns, classes = rows.X.shape[1], np.unique(rows.y)
            held_out = read_labelled(test, target, inputs, n_columns, classes)
            _check_gaps(columns_with_gaps(held_out[0], inputs), pool, test.name)
    clf: Any = ShareBoostClassifier(
        options["features"],
        pool=new_pool(pool).set_params(**images) if pool == "templates" else pool,
        swap=options["swap"],
        budget=options["budget"],
        verbose=int(shows_bars()),
        **_constraints(
            options, inputs or Inputs.numbered(rows.X.shape[1] if options["costs"] else 0)
        ),
    )
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
        if (parameter := str(error).partition("=")[0]) in TEMPLATES:
            raise CommandError(f"{_option(parameter)}: {error}") from None
        raise
    if inputs is not None and inputs.levels is not None:
        clf.levels_in_ = inputs.levels
    return Fitted(clf, interrupted, (X, rows.y), evaluation)


def _check_gaps(columns: list[str], pool: str, name: str) -> None:
    if columns and not takes_nan(pool):
        told = f"Columns {listed(columns)} of {name} have missing values, which --pool {pool}"
        raise CommandError(f"{told} does not take: choose --pool stumps, fill them or --drop them.")


def _constraints(options: dict[str, Any], inputs: Inputs) -> dict[str, Any]:
    """Return what is asked of the choice; a column of text stands for those of all its texts."""
    parameters: dict[str, Any] = {}
    columns = inputs.columns()
    if options["costs"] is not None:
        prices = read_prices(options["costs"], list(columns))
        if inputs.levels is None:
            parameters["costs"] = [prices[name] for name in inputs.names]
        else:  # the columns of one column of text are a group that shares its price
            pairs = zip(inputs.names, inputs.levels, strict=True)
            parameters["groups"] = [pair[0] if pair else name for name, pair in pairs]
            parameters |= {"group_choice": "each", "costs": prices}
    made = {name: [inputs.names[j] for j in texts.values()] for name, texts in columns.items()}
    for option in ("include", "exclude"):
        names = [each for name in options[option] or () for each in made.get(name, [name])]
        parameters[option] = names or None
    return parameters


def _measure_rounds(clf: Any, X: Any, y: Any) -> None:
    """Set the held-out score of every round, which cross-validation does not measure."""
    path = clf.path_
    scores = [clf.at(t).score(X, y) for t in range(1, len(path) + 1)]
    path.rounds = [
        replace(round_, validation=score) for round_, score in zip(path.rounds, scores, strict=True)
    ]
    if path.finish is not None:
        path.finish = replace(path.finish, validation=scores[-1])


def _template_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of ``--pool templates`` that were given; another pool takes none."""
    given = {name: options[option] for name, option in TEMPLATES.items()}
    given = {name: value for name, value in given.items() if value is not None}
    image_shape = given.get("image_shape")
    if image_shape is not None:
        if not re.fullmatch(r"[1-9]\d{0,8}(x[1-9]\d{0,8}){1,2}", image_shape, flags=re.ASCII):
            told = f"--image-shape {image_shape} is not valid"
            raise CommandError(f"{told}: it takes HxW or HxWxC, such as 28x28.")
        given["image_shape"] = tuple(map(int, image_shape.split("x")))
    if given and options["pool"] != "templates":
        told = f"{_option(next(iter(given)))} is for --pool templates"
        raise CommandError(f"{told}, and the pool is {options['pool']}.")
    return given


def _option(parameter: str) -> str:
    return f"--{TEMPLATES[parameter].replace('_', '-')}"


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
