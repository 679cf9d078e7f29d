"""Models from files, as the commands read them."""

from __future__ import annotations

from typing import Any

from ..path_of_one import PathOfOne
from .errors import CommandError


def loaded(path: str) -> Any:
    """Return the classifier in a model file."""
    from .. import load_model

    return load_model(path)


def with_path(path: str, what: str) -> Any:
    """Return a classifier that was saved with all rounds."""
    clf = loaded(path)
    if isinstance(clf.path_, PathOfOne):
        raise CommandError(
            f"{path} holds its model alone, and {what} takes all rounds: fit it without "
            "--model-only, or in Python save it with whole_path=True."
        )
    return clf
