"""Trained classifiers in one documented JSON file: docs/model-file.md; and checkpoints of runs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model_file import file_schema, load_model, save_model
    from .text import ModelFormatError

__all__ = ["ModelFormatError", "file_schema", "load_model", "save_model"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: to write files needs no NumPy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "text" if name == "ModelFormatError" else "model_file"
    return getattr(import_module(f".{home}", __name__), name)
