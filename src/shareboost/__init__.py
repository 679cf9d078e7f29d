"""Multiclass classifiers that look at few features, the same few for all classes."""

from .classifier import ShareBoostClassifier
from .model_file import ModelFormatError, load_model
from .resampling.cv import ShareBoostCV
from .resampling.stability import selection_stability

__all__ = [
    "ModelFormatError",
    "ShareBoostCV",
    "ShareBoostClassifier",
    "load_model",
    "selection_stability",
]
__version__ = "0.1.0"
