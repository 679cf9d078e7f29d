"""The columns of X in a model file: how many, their names, and the texts that some stand for."""

from __future__ import annotations

from typing import Any

from .fields import Fields, checked_text
from .text import ModelFormatError

# Columns of X. A row of so many takes 128 MB.
MOST_INPUTS = 1 << 24
KEYS = ("number", "names")
# Only in files of models that were trained on columns of text.
LEVELS = "levels"

# For each column of X, the column of text and the text that it is 1 for; None for numbers.
Levels = list[tuple[str, str] | None]


def level_name(column: str, level: str) -> str:
    """Return the name of the column of X that is 1 where a column of text has that text."""
    return f"{column}={level}"


def inputs_to_plain(number: int, names: list[str] | None, levels: Levels | None) -> dict[str, Any]:
    """Return the columns of X as JSON."""
    plain: dict[str, Any] = {"number": number, "names": names}
    if levels is not None:
        plain[LEVELS] = [None if pair is None else list(pair) for pair in levels]
    return plain


def inputs_from_plain(value: Any) -> tuple[int, list[str] | None, Levels | None]:
    """Return how many columns X has, their names and the texts they stand for, if any."""
    has_levels = isinstance(value, dict) and LEVELS in value
    inputs = Fields(value, "inputs", (*KEYS, LEVELS) if has_levels else KEYS)
    number = inputs.integer("number", 1, MOST_INPUTS)
    names = inputs.optional("names", inputs.texts)
    if names is not None and len(names) != number:
        raise ModelFormatError(f"inputs.names takes {number} names")
    return number, names, _levels(inputs, names) if has_levels else None


def _levels(inputs: Fields, names: list[str] | None) -> Levels:
    """Return the texts that columns stand for, which must be told by their names too."""
    levels = [_level(item) for item in inputs.list(LEVELS)]
    if names is None or len(levels) != len(names):
        raise ModelFormatError("inputs.levels takes an item for each of inputs.names")
    for name, pair in zip(names, levels, strict=True):
        if pair is not None and name != level_name(*pair):
            raise ModelFormatError("inputs.names takes column=level for an item of inputs.levels")
    pairs = [pair for pair in levels if pair is not None]
    if len(set(pairs)) < len(pairs):
        raise ModelFormatError("inputs.levels has a pair that comes twice")
    numbers = {name for name, pair in zip(names, levels, strict=True) if pair is None}
    if numbers & {column for column, _ in pairs}:
        raise ModelFormatError("inputs.levels has a column of text that is one of numbers too")
    return levels


def _level(item: Any) -> tuple[str, str] | None:
    if item is None:
        return None
    if not isinstance(item, list) or len(item) != 2:
        raise ModelFormatError("an item of inputs.levels takes null or a pair of texts")
    column, level = (checked_text(text, "an item of inputs.levels") for text in item)
    return column, level
