"""Multiclass classifiers that look at few features, the same few for all classes."""

from .classifier import ShareBoostClassifier

__all__ = ["ShareBoostClassifier"]
__version__ = "0.1.0"
