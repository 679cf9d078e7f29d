"""The class of a classifier in a model file: a name in one table, never code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .fields import Fields

if TYPE_CHECKING:
    from ..prediction import Predictor

# Only in files of rivals; without it the classifier is a ShareBoostClassifier.
KEY = "classifier"


def kind_of(model: Any) -> type[Predictor]:
    """Return the class that a classifier has once it is loaded."""
    from ..classifier import ShareBoostClassifier
    from ..resampling.cv import ShareBoostCV

    if isinstance(model, (ShareBoostClassifier, ShareBoostCV)):
        return ShareBoostClassifier
    for kind in _rivals().values():
        if type(model) is kind:
            return kind
    raise TypeError(
        f"model is a {type(model).__name__}, which a model file cannot hold: it takes a "
        f"ShareBoostClassifier, a ShareBoostCV or one of {', '.join(_rivals())}."
    )


def kind_to_plain(kind: type[Predictor]) -> dict[str, str]:
    """Return the field of a class, which the usual one does not need."""
    return {KEY: kind.__name__} if kind in _rivals().values() else {}


def kind_from_plain(document: dict[str, Any]) -> type[Predictor]:
    """Return the class that a file names, and take the name out of it."""
    from ..classifier import ShareBoostClassifier

    if KEY not in document:
        return ShareBoostClassifier
    return Fields({KEY: document.pop(KEY)}, "", (KEY,)).one_of(KEY, _rivals())


def _rivals() -> dict[str, type[Predictor]]:
    from ..rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

    kinds = (JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier)
    return {kind.__name__: kind for kind in kinds}
