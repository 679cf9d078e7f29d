"""Trained predictors for other places than Python."""

from .javascript import to_js

__all__ = ["to_js"]
