"""Features by index or name: what ``include`` and ``exclude`` mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..pools import Columns, Groups, Pool


class Lookup:
    """Finds the atoms of a fitted pool.

    Parameters
    ----------
    pool : Pool
    names : sequence of str
        Of X's columns.
    members : dict
        The columns of each group, by label.
    """

    def __init__(self, pool: Pool, names: Sequence[str], members: dict[Any, NDArray[np.intp]]):
        self.pool = pool
        self.names = list(names)
        self.members = members

    def owned(self, items: list[Any]) -> list[int]:
        """Return the atoms that ``include`` names, each once, in its order."""
        return _each_once(items, lambda item: [self._atom("include", item)])

    def forbidden(self, items: list[Any]) -> list[int]:
        """Return the atoms that ``exclude`` names, or whose columns or groups it names."""
        return _each_once(items, self._excluded)

    def _excluded(self, item: Any) -> list[int]:
        if isinstance(self.pool, (Columns, Groups)) and not self._is_group(item):
            return [self._atom("exclude", item)]
        if self._is_group(item):
            return self._reading(item, self.members[item])
        if isinstance(item, str) and item in self.names:
            return self._reading(item, np.array([self.names.index(item)]))
        return [self._atom("exclude", item)]

    def _is_group(self, item: Any) -> bool:
        """Return whether the item names a group whose columns are chosen one by one."""
        if isinstance(self.pool, Groups) or not isinstance(item, str) or item not in self.members:
            return False
        if item not in self.names:
            return True
        if self.members[item].tolist() == [self.names.index(item)]:
            return False
        raise ValueError(
            f"exclude names {item!r}, which is both a column and a group of other columns: name "
            "the group's columns, or give the group another label."
        )

    def _reading(self, item: Any, columns: NDArray[np.intp]) -> list[int]:
        """Return the atoms that read any of the columns."""
        reads = self.pool.reads(len(self.names))
        if reads is None:
            raise ValueError(
                f"exclude names {item!r}, and every feature of {type(self.pool).__name__} reads "
                "every column: leave columns out of X instead."
            )
        return np.flatnonzero(reads[:, columns].sum(axis=1)).tolist()

    def _atom(self, argument: str, item: Any) -> int:
        """Return the one atom of that index, name or label."""
        pool = self.pool
        if isinstance(pool, Groups):
            labels = pool.labels_.tolist()
            if item in labels:
                return labels.index(item)
            raise ValueError(
                f"{argument} names the group {item!r}, which groups does not: it takes labels of "
                f"groups, {_some(labels)}."
            )
        if isinstance(item, str):
            return self._by_name(argument, item)
        if isinstance(item, int) and not isinstance(item, bool):
            if 0 <= item < pool.n_atoms_:
                return item
            raise ValueError(
                f"{argument} has the index {item}, and there are {pool.n_atoms_} features: "
                f"it takes 0 to {pool.n_atoms_ - 1}, or names."
            )
        raise ValueError(f"{argument} has {item!r}: it takes indices and names.")

    def _by_name(self, argument: str, name: str) -> int:
        pool = self.pool
        if isinstance(pool, Columns):
            known = self.names
        else:
            known = pool.features(np.arange(pool.n_atoms_)).atom_names(self.names)
        if name in known:
            return known.index(name)
        if name in self.names:
            raise ValueError(
                f"{argument} names the column {name!r}, and the features of "
                f"{type(pool).__name__} are not columns: it takes their names as "
                f"get_feature_names_out gives them, such as {known[0]!r}."
            )
        near = get_close_matches(name, known[:10_000], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{argument} names {name!r}, which is unknown: there are {_some(known)}.{hint}"
        )


def _each_once(items: list[Any], atoms: Callable[[Any], list[int]]) -> list[int]:
    return list(dict.fromkeys(atom for item in items for atom in atoms(item)))


def _some(names: Sequence[Any]) -> str:
    """Return the first names as text."""
    return ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
