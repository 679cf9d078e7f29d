"""The libraries that tables are read with, which an extra installs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import CommandError

EXTRA = "pip install 'shareboost[command]'"


def pyarrow_for(what: str) -> Any:
    """Return pyarrow with its readers, or raise an error that names the extra."""
    try:
        for reader in ("compute", "csv", "parquet"):
            import_module(f"pyarrow.{reader}")
    except ImportError:
        raise CommandError(f"{what} are read with pyarrow: {EXTRA} brings it.") from None
    return import_module("pyarrow")


def pandas_for_names() -> Any:
    """Return pandas, or raise an error that names the extra."""
    try:
        return import_module("pandas")
    except ImportError:
        raise CommandError(f"Tables with names need pandas: {EXTRA} brings it.") from None
