"""Models as C headers."""

from .export import to_c

__all__ = ["to_c"]
