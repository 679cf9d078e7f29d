"""Features by index or name: what ``include`` and ``exclude`` mean."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..pools.base import Pool
from ..pools.columns import Columns
from ..pools.groups import Groups


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
        self.names = names
        self.members = members

    @cached_property
    def _columns(self) -> dict[str, int]:
        """The columns of X, by name."""
        return _first_places(self.names)

    @cached_property
    def _atoms(self) -> dict[Any, int]:
        """The atoms, by name; groups by label."""
        pool = self.pool
        if isinstance(pool, Columns):
            return self._columns
        if isinstance(pool, Groups):
            return _first_places(pool.labels_.tolist())
        return _first_places(pool.features(np.arange(pool.n_atoms_)).atom_names(self.names))

    @cached_property
    def _reads(self) -> sp.csc_array | None:
        """Which columns each atom reads, (atoms, columns); None where each reads all."""
        reads = self.pool.reads(len(self.names))
        if reads is None:
            return None
        by_column = reads.tocsc()
        by_column.eliminate_zeros()
        return by_column

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
            return self._reading(item, self.members[item].tolist())
        if isinstance(item, str) and item in self._columns:
            return self._reading(item, [self._columns[item]])
        return [self._atom("exclude", item)]

    def _is_group(self, item: Any) -> bool:
        """Return whether the item names a group whose columns are chosen one by one."""
        if isinstance(self.pool, Groups) or not isinstance(item, str) or item not in self.members:
            return False
        if item not in self._columns:
            return True
        if self.members[item].tolist() == [self._columns[item]]:
            return False
        raise ValueError(
            f"exclude names {item!r}, which is both a column and a group of other columns: name "
            "the group's columns, or give the group another label."
        )

    def _reading(self, item: Any, columns: list[int]) -> list[int]:
        """Return the atoms that read any of the columns."""
        reads = self._reads
        if reads is None:
            raise ValueError(
                f"exclude names {item!r}, and every feature of {type(self.pool).__name__} reads "
                "every column: leave columns out of X instead."
            )
        own = [reads.indices[reads.indptr[j] : reads.indptr[j + 1]] for j in columns]
        return np.unique(np.concatenate(own)).tolist()

    def _atom(self, argument: str, item: Any) -> int:
        """Return the one atom of that index, name or label."""
        pool = self.pool
        if isinstance(pool, Groups):
            if item in self._atoms:
                return self._atoms[item]
            raise ValueError(
                f"{argument} names the group {item!r}, which groups does not: it takes labels of "
                f"groups, {_some(self._atoms)}."
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
        known = self._atoms
        if name in known:
            return known[name]
        if name in self._columns:
            example = f", such as {next(iter(known))!r}" if known else ""
            raise ValueError(
                f"{argument} names the column {name!r}, and the features of "
                f"{type(self.pool).__name__} are not columns: it takes their names as "
                f"get_feature_names_out gives them{example}."
            )
        near = get_close_matches(name, list(islice(known, 10_000)), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{argument} names {name!r}, which is unknown: there are {_some(known)}.{hint}"
        )


def _first_places(names: Sequence[Any]) -> dict[Any, int]:
    """Return where each name is first."""
    places: dict[Any, int] = {}
    for place, name in enumerate(names):
        places.setdefault(name, place)
    return places


def _each_once(items: list[Any], atoms: Callable[[Any], list[int]]) -> list[int]:
    return list(dict.fromkeys(atom for item in items for atom in atoms(item)))


def _some(names: Collection[Any]) -> str:
    """Return the first names as text."""
    return ", ".join(map(str, islice(names, 5))) + (", ..." if len(names) > 5 else "")
