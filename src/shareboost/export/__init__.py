"""Trained predictors for other places than Python."""

from .c import to_c

__all__ = ["to_c"]
