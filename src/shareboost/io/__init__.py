"""Trained classifiers in one documented JSON file: docs/model-file.md."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reader import load_model
    from .schema import file_schema
    from .text import ModelFormatError
    from .writer import save_model

__all__ = ["ModelFormatError", "file_schema", "load_model", "save_model"]

# Imported when first asked for: the command writes files before it needs NumPy.
_HOMES = {
    "ModelFormatError": ".text",
    "file_schema": ".schema",
    "load_model": ".reader",
    "save_model": ".writer",
}


def __getattr__(name: str) -> Any:
    """Import a public name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
