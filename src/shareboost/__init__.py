"""Multiclass classifiers that look at few features, the same few for all classes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .classifier import ShareBoostClassifier
    from .cv import ShareBoostCV
    from .inspection.stability import selection_stability
    from .io import ModelFormatError, load_model

__all__ = [
    "ModelFormatError",
    "ShareBoostCV",
    "ShareBoostClassifier",
    "load_model",
    "selection_stability",
]
__version__ = "0.1.0"

# Where each name comes from, imported when it is first asked for: the command's --help then
# takes no import of scikit-learn.
_HOMES = {
    "ModelFormatError": ".io",
    "ShareBoostCV": ".cv",
    "ShareBoostClassifier": ".classifier",
    "load_model": ".io",
    "selection_stability": ".inspection.stability",
}


def __getattr__(name: str) -> Any:
    """Import a public name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
