"""What columns cost, from a file."""

from __future__ import annotations

import csv
import json
import math
from typing import Any

from .errors import CommandError, listed


def read_prices(path: str, columns: list[str]) -> dict[str, float]:
    """Return the cost of each column; prices of others than these are left out.

    Parameters
    ----------
    path : str
        A JSON object, or CSV lines of a name and a number, with or without a header.
    columns : list of str
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            pairs = _json(file) if path.lower().endswith(".json") else _csv(file)
            prices = {str(name): _price(name, cost, path) for name, cost in pairs}
    except UnicodeDecodeError:
        raise CommandError(
            f"{path} is no text: --costs takes CSV lines or a JSON object."
        ) from None
    if missing := [column for column in columns if column not in prices]:
        raise CommandError(f"{path} has no cost for {listed(missing)}.")
    return {column: prices[column] for column in columns}


def _json(file: Any) -> list[tuple[Any, Any]]:
    try:
        found = json.load(file)
    except json.JSONDecodeError as error:
        raise CommandError(f"{file.name} is not valid JSON: {error}.") from None
    if not isinstance(found, dict):
        raise CommandError(f"{file.name} takes a JSON object of costs by column.")
    return list(found.items())


def _csv(file: Any) -> list[tuple[Any, Any]]:
    rows = [row for row in csv.reader(file) if row]
    for row in rows:
        if len(row) != 2:
            raise CommandError(f"{file.name} takes lines of a column and its cost, not {row}.")
    if rows and not _is_number(rows[0][1]):  # a header
        rows = rows[1:]
    return [(name, cost) for name, cost in rows]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _price(name: Any, cost: Any, path: str) -> float:
    if isinstance(cost, bool) or not _is_number(str(cost)) or not 0 < float(cost) < math.inf:
        raise CommandError(f"{path} has the cost {cost!r} for {name!r}: it takes numbers above 0.")
    return float(cost)
