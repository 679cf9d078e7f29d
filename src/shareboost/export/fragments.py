"""The C and JavaScript that exported forms are filled from, in template files beside the emitters.

A file is one text, or several that begin with a line ``//@ name``; comments of ``//`` right after
that line are not part of the text.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_MARK = re.compile(r"^//@ (\w+)\n(?://.*\n)*", re.MULTILINE)


@cache
def template(path: str) -> str:
    """Return the text of a file of this package, without the blank lines around it."""
    return (files(__package__) / path).read_text("ascii").strip("\n")


@cache
def fragments(path: str) -> dict[str, str]:
    """Return the texts of a file by their names."""
    _, *found = _MARK.split(template(path))
    return {name: text.strip("\n") for name, text in zip(found[::2], found[1::2], strict=True)}


def functions(path: str, *names: str) -> str:
    """Return functions of a file in C, a blank line before each: those named, or all of it."""
    texts = [fragments(path)[name] for name in names] if names else [template(path)]
    return "".join(f"\n{text}\n" for text in texts)
