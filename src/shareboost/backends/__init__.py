"""Where the arrays of a fit live: in NumPy, or on a torch device."""

from .base import Place
from .kinds import is_device_array, is_spread, place_of
from .numpy import HOST

__all__ = [
    "HOST",
    "Place",
    "is_device_array",
    "is_spread",
    "place_of",
]
