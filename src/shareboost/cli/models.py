"""Models from files, as the commands read them."""

from __future__ import annotations

import sys
from typing import Any

from ..path import PathOfOne
from .errors import CommandError
from .tables.sources import STDIN


def loaded(path: str) -> Any:
    """Return the classifier in a model file, or in stdin for ``-``."""
    from .. import load_model

    if path != STDIN:
        return load_model(path)
    from ..io import ModelFormatError
    from ..io.model_file import model_of
    from ..io.text import LARGEST_FILE

    try:  # one byte more than a model may have is too much to be taken
        return model_of(sys.stdin.buffer.read(LARGEST_FILE + 1))
    except ModelFormatError as error:
        raise CommandError(f"stdin is no model that can be read: {error}.") from None


def check_stdin_once(**given: str | None) -> None:
    """Raise where several arguments, by their names, are to be read from stdin."""
    if len(named := [name for name, path in given.items() if path == STDIN]) > 1:
        raise CommandError(
            f"{' and '.join(named)} are both -: stdin can be read once, so one takes a file."
        )


def with_path(path: str, what: str) -> Any:
    """Return a classifier that was saved with all rounds."""
    clf = loaded(path)
    if isinstance(clf.path_, PathOfOne):
        raise CommandError(
            f"{path} holds its model alone, and {what} takes all rounds: fit it without "
            "--model-only, or in Python save it with whole_path=True."
        )
    return clf
