"""The class of a classifier in a model file: a name in one table, never code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .fields import Fields

# Only in files of rivals; without it the classifier is a ShareBoostClassifier.
KEY = "classifier"
USUAL = "ShareBoostClassifier"
# Where each class is, which is imported when it is first needed.
RIVALS = dict.fromkeys(
    ("JointBoostClassifier", "MixedNormClassifier", "OneVsRestGreedyClassifier"),
    "shareboost.rivals",
)
MODULES = {
    USUAL: "shareboost.classifier",
    "ShareBoostCV": "shareboost.cv",
    **RIVALS,
}


def kind_of(model: Any) -> type[Any]:
    """Return the class that a classifier has once it is loaded."""
    if isinstance(model, (_class(USUAL), _class("ShareBoostCV"))):
        return _class(USUAL)
    if (name := type(model).__name__) in RIVALS and type(model) is _class(name):
        return type(model)
    raise TypeError(
        f"model is a {name}, which a model file cannot hold: it takes a {USUAL}, a ShareBoostCV "
        f"or one of {', '.join(RIVALS)}."
    )


def kind_to_plain(kind: type[Any]) -> dict[str, str]:
    """Return the field of a class, which the usual one does not need."""
    return {} if kind.__name__ == USUAL else {KEY: kind.__name__}


def kind_from_plain(document: dict[str, Any]) -> type[Any]:
    """Return the class that a file names, and take the name out of it."""
    if KEY not in document:
        return _class(USUAL)
    return _class(Fields({KEY: document.pop(KEY)}, "", (KEY,)).one_of(KEY, {r: r for r in RIVALS}))


def _class(name: str) -> type[Any]:
    found: type[Any] = getattr(import_module(MODULES[name]), name)
    return found
