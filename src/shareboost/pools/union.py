"""Several pools as one: a run chooses among all of their atoms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from ..arrays import beside, dense, standard_namespace
from ..validation import positive
from .base import Atoms, Floats, Pool, Sums
from .features import Features, Ids, Integers, Members, Texts
from .table import Table

Places = NDArray[np.intp]


@dataclass(frozen=True)
class UnionFeatures(Features):
    """Chosen atoms of several pools, in one order."""

    kind = "union"

    ids: Ids
    pool_names: Annotated[list[str], Texts("names")]
    members: Annotated[list[Features], Members(names="names")]  # in the order chosen
    which: Annotated[Places, Integers(below="members")]  # the pool of each atom

    def inconsistency(self, n_columns_in: int) -> str | None:
        sizes = [member.ids.size for member in self.members]
        same = np.array_equal(np.bincount(self.which, minlength=len(sizes)), sizes)
        return None if same else "members of other sizes than which tells"

    @property
    def allows_nan(self) -> bool:  # type: ignore[override]
        return all(member.allows_nan for member in self.members)

    @property
    def widths(self) -> Places:
        side_by_side = np.concatenate([member.widths for member in self.members])
        return side_by_side[_side_by_side(self.which)]

    def columns(self, X: Any) -> Any:
        columns = [dense(member.columns(X)) for member in self.members]
        return standard_namespace(columns[0]).concat(columns, axis=1)[:, beside(X, self._order)]

    def scratch(self, n_columns_in: int) -> int:
        return max(member.scratch(n_columns_in) for member in self.members) + 8 * self.n_columns

    def parts(self, places: Places) -> Iterator[tuple[str, dict[str, Any]]]:
        side_by_side = places[np.argsort(np.repeat(self.which, self.widths), kind="stable")]
        stops = np.cumsum([member.n_columns for member in self.members])[:-1]
        for member, some in zip(self.members, np.split(side_by_side, stops), strict=True):
            yield from member.parts(some)

    @property
    def input_columns(self) -> Places | None:
        columns = [member.input_columns for member in self.members]
        known = [some for some in columns if some is not None]
        return np.concatenate(known)[self._order] if len(known) == len(columns) else None

    def names(self, input_names: Sequence[str]) -> list[str]:
        names = [
            f"{pool_name}: {name}"
            for pool_name, member in zip(self.pool_names, self.members, strict=True)
            for name in member.names(input_names)
        ]
        return [names[place] for place in self._order]

    def atom_names(self, input_names: Sequence[str]) -> list[str]:
        names = [iter(member.atom_names(input_names)) for member in self.members]
        return [f"{self.pool_names[number]}: {next(names[number])}" for number in self.which]

    def reads(self, n_columns_in: int) -> sp.csr_array | None:
        sizes = [member.ids.size for member in self.members]
        stacked = _stacked([member.reads(n_columns_in) for member in self.members], sizes)
        return None if stacked is None else stacked[_side_by_side(self.which)]

    def shares(self, n_columns_in: int) -> sp.csr_array:
        shares = [member.shares(n_columns_in) for member in self.members]
        return sp.vstack(shares, format="csr")[self._order]

    def take(self, places: Places) -> UnionFeatures:
        which = self.which[places]
        starts = np.cumsum([0, *(member.ids.size for member in self.members)])
        inside = _side_by_side(self.which)[places] - starts[which]
        members = [member.take(inside[which == q]) for q, member in enumerate(self.members)]
        return UnionFeatures(self.ids[places], self.pool_names, members, which)

    def renumbered(self, places: Places) -> UnionFeatures:
        return replace(self, members=[member.renumbered(places) for member in self.members])

    @property
    def _order(self) -> Places:
        """Where each column stands when the pools' columns stand side by side."""
        return _side_by_side(np.repeat(self.which, self.widths))


def _side_by_side(which: Places) -> Places:
    """Return where each item stands when those of each pool stand together, in order."""
    return np.argsort(np.argsort(which, kind="stable"))


def _stacked(reads: list[sp.csr_array | None], sizes: list[int]) -> sp.csr_array | None:
    """Return what all pools' atoms read, one pool below the other; None if all of it."""
    widths = [read.shape[1] for read in reads if read is not None]
    if not widths:
        return None
    full = [
        sp.csr_array(np.ones((size, widths[0]), dtype=bool)) if read is None else read
        for read, size in zip(reads, sizes, strict=True)
    ]
    return sp.vstack(full, format="csr")


class Union(Pool, _BaseComposition):
    """The atoms of several pools, chosen among in one run.

    Parameters
    ----------
    pools : list of Pool, or of (name, Pool)
        The pools, each fitted on the same rows. A pool without a name has that of its
        class in lower case, with a number where two are alike. The names are those of
        nested parameters: ``set_params(stumps__max_bins=16)``, or
        ``set_params(pool__stumps__max_bins=16)`` of a classifier.
    costs : list of float, optional
        What an atom of each pool costs; its score is divided by that. An atom of many
        columns, such as a piece, scores the sum over them: a cost of its width sets it
        level with single columns. None: all cost 1.

    Notes
    -----
    Ties go to the earlier pool. The names of the chosen columns begin with that of
    their pool, such as ``stumps: x3 ≤ 2.45``. NaN is allowed where every pool allows it.
    """

    published: ClassVar[dict[str, Any]] = {"costs": None}

    def __init__(self, pools: list[Any], costs: list[float] | None = None):
        self.pools = pools
        self.costs = costs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return self._get_params("_members", deep=deep)

    def set_params(self, **params: Any) -> Self:
        if "pools" in params:  # first, as the others may be those of the new pools
            self.pools = params.pop("pools")
        return self._set_params("_members", **params)

    @property
    def _members(self) -> list[tuple[str, Pool]]:
        """The pools by name; none where ``fit`` refuses ``pools``."""
        given = self.pools if isinstance(self.pools, (list, tuple)) else []
        entries = [entry if isinstance(entry, tuple) else ("", entry) for entry in given]
        pairs = (len(e) == 2 and isinstance(e[0], str) and isinstance(e[1], Pool) for e in entries)
        if not all(pairs):
            return []
        names = [name for name, _ in entries if name]
        return _with_names(entries) if len(set(names)) == len(names) else []

    @_members.setter
    def _members(self, named: list[tuple[str, Pool]]) -> None:
        self.pools = named

    @property
    def allows_nan(self) -> bool:  # type: ignore[override]
        members = self._members
        return bool(members) and all(pool.allows_nan for _, pool in members)

    def learn(self, table: Table, centred: bool) -> None:
        named = self._named()
        self.names_ = [name for name, _ in named]
        costs = [1.0] * len(named) if self.costs is None else self.costs
        if not isinstance(costs, (list, tuple, np.ndarray)) or len(costs) != len(named):
            raise ValueError(
                f"costs={self.costs!r} is not valid for Union: it takes a number for each of the "
                f"{len(named)} pools."
            )
        self.costs_ = [positive("costs", cost, "Union") for cost in costs]
        self.pools_ = [self._new_pool(pool).fit(table, centred=centred) for _, pool in named]
        self.starts_ = np.cumsum([0, *(pool.n_atoms_ for pool in self.pools_)])
        self.n_atoms_ = int(self.starts_[-1])
        self.usable_ = self._joined([pool.usable_ for pool in self.pools_], True)
        edges = [pool.edges_ for pool in self.pools_]
        if any(of_pool is not None for of_pool in edges):
            widths = [None if of_pool is None else np.diff(of_pool) for of_pool in edges]
            self.edges_ = np.cumsum([0, *self._joined(widths, 1)])
        divisors = self._joined([pool.divisors_ for pool in self.pools_], 1.0)
        self.divisors_ = np.repeat(self.costs_, np.diff(self.starts_)) * divisors
        self.slow_columns = any(pool.slow_columns for pool in self.pools_)
        self._join_types()

    def _new_pool(self, pool: Pool) -> Pool:
        return clone(pool)

    def _joined(self, values: Iterable[NDArray[Any] | None], otherwise: Any) -> NDArray[Any]:
        """Return the values of all atoms from those of each pool, where it has any."""
        parts = [
            np.full(pool.n_atoms_, otherwise) if of_pool is None else of_pool
            for pool, of_pool in zip(self.pools_, values, strict=True)
        ]
        return np.concatenate(parts)

    def widen(self) -> Self:
        for pool in self.pools_:
            pool.widen()
        self._join_types()
        return self

    def _join_types(self) -> None:
        self.dtype_ = np.result_type(*(pool.dtype_ for pool in self.pools_))
        # The coarsest tells which scores are tied.
        self.sums_dtype_ = min((pool.sums_dtype_ for pool in self.pools_), key=lambda d: d.itemsize)

    def reads(self, n_columns_in: int) -> sp.csr_array | None:
        sizes = [pool.n_atoms_ for pool in self.pools_]
        return _stacked([pool.reads(n_columns_in) for pool in self.pools_], sizes)

    def parts(self, n_classes: int) -> list[slice]:
        return [
            slice(start + part.start, start + part.stop)
            for start, pool in zip(self.starts_.tolist(), self.pools_, strict=False)
            for part in pool.parts(n_classes)
        ]

    def encode(self, X: Any, rows: slice) -> list[Any]:
        return [pool.encode(X, rows) for pool in self.pools_]

    def prepare(self, rows: Floats) -> list[Any]:
        return [pool.prepare(rows) for pool in self.pools_]

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return the statistic of the one pool that the part belongs to."""
        number, part = self._part_of_member(part)
        return self.pools_[number].stats(data[number], rows[number], part, out, squares)

    def correlations(self, stats: Sums, part: slice) -> Sums:
        number, part = self._part_of_member(part)
        return self.pools_[number].correlations(stats, part)

    def moments(self, stats: Sums, part: slice) -> tuple[Sums, Sums]:
        number, part = self._part_of_member(part)
        return self.pools_[number].moments(stats, part)

    def columns(self, data: list[Any], atom: int) -> Floats:
        number, atom = self._atom_of_member(atom)
        return self.pools_[number].columns(data[number], atom)

    def scales(self, atom: int) -> NDArray[np.float64]:
        number, atom = self._atom_of_member(atom)
        return self.pools_[number].scales(atom)

    def features(self, atoms: Atoms) -> UnionFeatures:
        ids = np.asarray(atoms, dtype=np.intp)
        which = np.searchsorted(self.starts_, ids, side="right") - 1
        inside = ids - self.starts_[which]
        members = [pool.features(inside[which == q]) for q, pool in enumerate(self.pools_)]
        return UnionFeatures(ids, self.names_, members, which)

    def _atom_of_member(self, atom: int) -> tuple[int, int]:
        """Return the number of the atom's pool and its id there."""
        number = int(np.searchsorted(self.starts_, atom, side="right")) - 1
        return number, int(atom - self.starts_[number])

    def _part_of_member(self, part: slice) -> tuple[int, slice]:
        """Return the number of a part's pool and the part there."""
        number, start = self._atom_of_member(part.start)
        return number, slice(start, start + part.stop - part.start)

    def _named(self) -> list[tuple[str, Pool]]:
        """Return the pools with names that are unlike; raise where they cannot be."""
        if not (named := self._members):
            raise ValueError(
                f"pools={self.pools!r} is not valid for Union: it takes a list of pools, or of "
                "(name, pool) with unlike names, at least one."
            )
        self._validate_names([name for name, _ in named])
        return named


def _with_names(entries: list[tuple[str, Pool]]) -> list[tuple[str, Pool]]:
    """Return the pools, those without a name with one that is unlike all others."""
    kinds = [type(pool).__name__.lower() for _, pool in entries]
    alike = Counter(kind for kind, (name, _) in zip(kinds, entries, strict=True) if not name)
    known = {name for name, _ in entries}
    named = []
    for kind, (name, pool) in zip(kinds, entries, strict=True):
        if not name:
            plain = [kind] if alike[kind] == 1 else []
            names = chain(plain, (f"{kind}{number}" for number in count(1)))
            name = next(each for each in names if each not in known)
        known.add(name)
        named.append((name, pool))
    return named
