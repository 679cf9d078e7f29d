"""Names of columns that have none: x0, x1 and so on, made as they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload


class NumberedNames(Sequence[str]):
    """The names x0, x1, ... of columns without any, none of them held."""

    def __init__(self, n: int):
        self._numbers = range(n)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        found = self._numbers[place]
        return [f"x{i}" for i in found] if isinstance(found, range) else f"x{found}"


def are_numbered(names: Sequence[str]) -> bool:
    """Return whether these are the names of columns without any."""
    return isinstance(names, NumberedNames) or all(name == f"x{j}" for j, name in enumerate(names))
