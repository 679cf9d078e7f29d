"""Trained classifiers in one documented JSON file: docs/model-file.md."""

from .errors import ModelFormatError
from .reader import load_model
from .schema import file_schema
from .writer import save_model

__all__ = ["ModelFormatError", "file_schema", "load_model", "save_model"]
