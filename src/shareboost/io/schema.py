"""The JSON Schema of model files."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from .arrays import array_definitions
from .features import schemas
from .parameters import PENALTIES, POOLS


def file_schema() -> dict[str, Any]:
    """Return the schema of model files, JSON Schema of the draft 2020-12.

    What docs/model-file.md says and a schema cannot, such as that lengths agree, is not in it.
    What is declared elsewhere, as the kinds of features are, joins what ``schema.json`` has.
    """
    found = json.loads((files(__package__) / "schema.json").read_bytes())
    names = {"pool": {"enum": [*POOLS]}, "penalty": {"enum": [*PENALTIES]}}
    found["$defs"] |= array_definitions() | schemas() | names
    return found
