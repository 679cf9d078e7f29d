"""Trained classifiers in one documented JSON file: docs/model-file.md."""

from .reader import load_model
from .schema import file_schema
from .text import ModelFormatError
from .writer import save_model

__all__ = ["ModelFormatError", "file_schema", "load_model", "save_model"]
