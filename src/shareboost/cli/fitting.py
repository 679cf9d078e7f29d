"""What ``shareboost fit`` does: read, fit, measure."""

from __future__ import annotations

import csv
import json
import math
import re
from typing import Any

import numpy as np

from ..classifier import ShareBoostClassifier
from ..cv import ShareBoostCV
from ..pools import Pool, new_pool, takes_nan
from ..progress import progress_bars
from .errors import CommandError, listed
from .files import printable, shows_bars
from .tables.encoding import Inputs, check_gaps, number_of
from .tables.rows import Asked, named, read_labelled, read_training
from .tables.sources import source_of

SHOWN = 30  # names of features in the summary

Rows = tuple[Any, Any]  # X and y


def fitted(options: dict[str, Any]) -> tuple[Any, dict[str, Rows]]:
    """Return a classifier fitted as the options of the command ask, and the rows to measure it on.

    Ctrl-C ends the rounds, and the fit where none was finished.
    """
    pool, cv, target = options["pool"], options["cv"], options["target"]
    source = source_of(options["data"], options["format_"])
    test = None if options["test"] is None else source_of(options["test"], options["format_"])
    drop = tuple(options["drop"] or ())
    candidates = _pool(pool, options["image_shape"], options["pool_option"] or [])
    asked = Asked(target, options["one_hot"], drop, options["holdout"], options["seed"])
    with progress_bars(shows_bars()):
        training = read_training(source, asked)
        inputs, held_out = training.inputs, training.held_out
        if test is not None:
            held_out = read_labelled(test, target, inputs, np.unique(training.y))
        if not takes_nan(pool):
            check_gaps(training.X, inputs, source.name)
            if held_out is not None:
                check_gaps(held_out[0], inputs, (test or source).name)
    clf: Any = ShareBoostClassifier(
        options["features"],
        pool=candidates,
        swap=options["swap"],
        budget=options["budget"],
        verbose=int(shows_bars()),
        **_constraints(options, inputs),
    )
    clf = ShareBoostCV(clf) if cv else clf
    rows = {"training": (named(training.X, inputs), training.y)}
    if held_out is not None:
        rows["held-out"] = named(held_out[0], inputs), held_out[1]
    try:
        clf.fit(*rows["training"], **({} if cv else {"eval_set": rows.get("held-out")}))
    except KeyboardInterrupt:
        if not hasattr(clf, "weights_"):
            raise
    if inputs.levels is not None:
        clf.levels_in_ = inputs.levels
    return clf, rows


def summary(clf: Any, parts: dict[str, Rows]) -> list[str]:
    """Return what people are told of a fitted classifier, with its errors on parts of the rows."""
    names = clf.path_.names(clf.selected_)
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    shown = printable(", ".join(names[:SHOWN]))
    lines = [f"{len(names)} features, in the order chosen: {shown}{more}."]
    if hasattr(clf, "best_n_features_"):
        lines.append(
            f"Cross-validation chose {clf.best_n_features_} features: "
            f"{1 - clf.best_score_:.2%} error on rows that a fold held out."
        )
    errors = [
        f"{1 - clf.score(*rows):.2%} of {len(rows[1])} {part} rows" for part, rows in parts.items()
    ]
    return [*lines, f"Error: {', '.join(errors)}."]


def _constraints(options: dict[str, Any], inputs: Inputs) -> dict[str, Any]:
    """Return what is asked of the choice; a column of text stands for those of all its texts."""
    parameters: dict[str, Any] = {}
    columns = {} if inputs.levels is None else inputs.columns()
    if options["costs"] is not None:
        prices = read_prices(options["costs"], list(columns or inputs.names))
        if inputs.levels is None:
            parameters["costs"] = list(prices.values())
        else:  # the columns of one column of text are a group that shares its price
            pairs = zip(inputs.names, inputs.levels, strict=True)
            parameters["groups"] = [pair[0] if pair else name for name, pair in pairs]
            parameters |= {"group_choice": "each", "costs": prices}
    made = {name: [inputs.names[j] for j in texts.values()] for name, texts in columns.items()}
    for option in ("include", "exclude"):
        names = [each for name in options[option] or () for each in made.get(name, [name])]
        parameters[option] = names or None
    return parameters


def _pool(name: str, image_shape: str | None, options: list[str]) -> Pool:
    """Return the pool of that name with the parameters that were given."""
    parameters: dict[str, Any] = {}
    if image_shape is not None:
        if name != "templates":
            raise CommandError(f"--image-shape is for --pool templates, and the pool is {name}.")
        if not re.fullmatch(r"[1-9]\d{0,8}(x[1-9]\d{0,8}){1,2}", image_shape, flags=re.ASCII):
            told = f"--image-shape {image_shape} is not valid"
            raise CommandError(f"{told}: it takes HxW or HxWxC, such as 28x28.")
        parameters["image_shape"] = tuple(map(int, image_shape.split("x")))
    pool = new_pool(name)
    known = pool.get_params(deep=False)
    for option in options:
        parameter, _, text = option.partition("=")
        if parameter not in known or not text:
            raise CommandError(
                f"--pool-option {option} is not valid: {name} takes NAME=VALUE with a name of "
                f"{', '.join(known) or 'none'}."
            )
        try:
            parameters[parameter] = json.loads(text)
        except ValueError:
            parameters[parameter] = text
    return pool.set_params(**parameters)


def read_prices(path: str, columns: list[str]) -> dict[str, float]:
    """Return the cost of each column, from CSV lines with or without a header."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file) if line]
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no text: --costs takes CSV.") from None
    if lines and len(lines[0]) == 2 and number_of(lines[0][1]) is None:
        del lines[0]  # a header
    prices: dict[str, float] = {}
    for line in lines:
        if len(line) != 2:
            raise CommandError(f"{path} takes lines of a column and its cost, not {line}.")
        price = number_of(line[1])
        if price is None or not 0 < price < math.inf:
            told = f"{path} has the cost {line[1]!r} for {line[0]!r}"
            raise CommandError(f"{told}: it takes numbers above 0.")
        prices[line[0]] = price
    if missing := [column for column in columns if column not in prices]:
        raise CommandError(f"{path} has no cost for {listed(missing)}.")
    return {column: prices[column] for column in columns}
