"""What the user asks of the choice: groups, costs, a budget, features in and features out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from ..pools.base import Pool
from ..pools.columns import Columns
from ..pools.features import Features
from ..pools.groups import Groups, columns_by_group, group_labels
from .pricing import ROUNDING, Pricing

# How groups are chosen: whole, by the sum or the mean of their columns' scores, or column
# by column, sharing a price only.
GROUP_CHOICES = ("sum", "mean", "each")

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Constraints:
    """The arguments of the same names, checked as far as X's columns allow."""

    names: Sequence[str]  # of X's columns
    n_features: int | None
    include: list[Any]
    exclude: list[Any]
    costs: Callable[[Features], Any] | None
    budget: float
    labels: NDArray[Any] | None  # of the groups
    group: NDArray[np.intp] | None  # of each column
    prices: Vector | None  # of columns or groups
    per_group: bool  # whether the prices are those of groups

    def pricing(self, pool: Pool) -> Pricing:
        """Return what may be chosen among the atoms of a fitted pool, and for how much."""
        atoms = AtomNames(pool, self.names, self._members())
        owned = atoms.owned(self.include)
        forbidden = atoms.forbidden(self.exclude)
        self.check_lists(owned, forbidden, lambda ids: pool.features(ids).atom_names(self.names))
        prices, needs = self._prices(pool)
        pricing = Pricing(
            prices, needs, np.array(forbidden, dtype=np.intp), tuple(owned), self.budget
        )
        self._check_open(pricing, pool)
        return pricing

    def check_lists(self, include: Any, exclude: Any, names_of: Any) -> None:
        """Raise where both lists have an item, or the first has too many."""
        if both := sorted(set(include) & set(exclude), key=str):
            told = f"include and exclude both name {', '.join(names_of(both))}"
            raise ValueError(f"{told}: a feature is in one of them at most.")
        n, alike = len(set(include)), len(set(map(type, include))) == 1  # else two may mean one
        if self.n_features is not None and alike and n > self.n_features:
            told = f"include names {n} features, more than n_features={self.n_features}"
            raise ValueError(f"{told}: n_features counts those too.")

    def check_budget(self, cheapest: float) -> None:
        """Raise where the budget buys no feature of that price."""
        if cheapest > self.budget * (1.0 + ROUNDING):
            told = f"budget={self.budget:g} is below the cheapest feature, which costs {cheapest:g}"
            raise ValueError(f"{told}: nothing could be bought.")

    def resolved(self, pricing: Pricing) -> dict[str, Any]:
        """Return what the arguments came to, by their names: equal if they mean the same."""
        groups = None if self.labels is None else (list(map(str, self.labels)), self.group)
        costs = (self.prices, self.per_group) if self.costs is None else pricing.prices
        return {
            "groups": groups,
            "costs": costs,
            "include": pricing.owned,
            "exclude": np.sort(pricing.forbidden),
        }

    def _members(self) -> dict[Any, NDArray[np.intp]]:
        """Return the columns of each group, by label."""
        if self.labels is None or self.group is None:
            return {}
        order, starts = columns_by_group(self.group, self.labels.size)
        return dict(zip(self.labels.tolist(), np.split(order, starts[1:-1]), strict=True))

    def _prices(self, pool: Pool) -> tuple[Vector, sp.csr_array | None]:
        """Return the prices of items and the items that each atom needs."""
        if self.costs is not None:
            prices = _positive(self.costs(pool.features(np.arange(pool.n_atoms_))))
            if prices.shape != (pool.n_atoms_,):
                raise ValueError(
                    f"costs has the shape {prices.shape}: it takes {pool.n_atoms_} numbers, one "
                    "for each atom, from the callable."
                )
            return prices, None
        if self.prices is None:
            return np.ones(pool.n_atoms_), None
        d = len(self.names)
        needs = pool.reads(d)
        if needs is None:  # every atom reads every column: one item
            return np.array([self.prices.sum()]), sp.csr_array(np.ones((pool.n_atoms_, 1)))
        if self.per_group and self.group is not None:
            ones = np.ones(d)
            member = sp.csr_array((ones, self.group, np.arange(d + 1)), shape=(d, self.prices.size))
            needs = needs.astype(np.float64) @ member
        return self.prices, sp.csr_array((needs > 0).astype(np.float64))

    def _check_open(self, pricing: Pricing, pool: Pool) -> None:
        """Raise where nothing could be chosen."""
        costs = pricing.costs(())
        may = np.ones(pool.n_atoms_, dtype=bool)
        if pool.usable_ is not None:
            may &= pool.usable_
        any_varies = may.any()
        may[pricing.forbidden] = False
        if any_varies and not may.any():
            raise ValueError("exclude names every feature that varies: nothing could be chosen.")
        may[list(pricing.owned)] = False
        wanted = self.n_features is None or len(pricing.owned) < self.n_features
        if may.any() and wanted:
            self.check_budget(costs[may].min())


def checked_constraints(clf: Any, names: Sequence[str], pool: Pool) -> tuple[Constraints, Pool]:
    """Return what a classifier's parameters ask of the choice, and the pool to choose from.

    Called before any work: ``pricing`` checks what only the atoms of a fitted pool tell.
    """
    if clf.n_features is None and clf.budget is None:
        raise ValueError("n_features=None takes a budget: one of the two must end the rounds.")
    labels = group = prices = None
    per_group = False
    groups = _as_dict(clf.groups, names)
    if isinstance(groups, dict):
        groups = _in_order("groups", groups, names)
    if groups is not None and clf.group_choice != "each":
        if type(pool) is not Columns:
            raise ValueError(
                f"groups are chosen whole among columns only, not with {type(pool).__name__}. With "
                'group_choice="each" they share a price in costs, whatever the pool.'
            )
        pool = Groups(groups, pool.scale, clf.group_choice)
    if isinstance(pool, Groups):
        groups = pool.groups
    if groups is not None:
        labels, group = group_labels(groups, len(names))
    if clf.costs is not None and not callable(clf.costs):
        prices, per_group = _prices_of(clf.costs, names, [] if labels is None else labels.tolist())
    constraints = Constraints(
        names,
        clf.n_features,
        _listed("include", clf.include),
        _listed("exclude", clf.exclude),
        clf.costs if callable(clf.costs) else None,
        np.inf if clf.budget is None else float(clf.budget),
        labels,
        group,
        prices,
        per_group,
    )
    if isinstance(pool, Columns) and not callable(clf.costs):
        # These atoms are known without any work: a stand-in tells all that is wrong.
        constraints.pricing(clone(pool).fit(np.tile([[0.0], [1.0]], len(names))))
    else:
        constraints.check_lists(constraints.include, constraints.exclude, partial(map, str))
        if prices is not None and not constraints.include:
            constraints.check_budget(prices.min())
    return constraints, pool


def _as_dict(values: Any, keys: Collection[Any]) -> Any:
    """Return a pandas series with some of the keys in its index as a dict; others as they are."""
    has_index = hasattr(values, "index") and hasattr(values, "to_dict")
    if has_index and type(values.index).__name__ != "RangeIndex" and set(values.index) & set(keys):
        return values.to_dict()
    return values


def _in_order(argument: str, values: dict[Any, Any], keys: Sequence[Any]) -> list[Any]:
    """Return the values of a dict in the order of the keys, which are those of the dict."""
    if missing := [key for key in keys if key not in values]:
        raise ValueError(f"{argument} has no entry for {missing[0]!r}: it takes {_some(keys)}.")
    known = set(keys)
    if unknown := [key for key in values if key not in known]:
        raise ValueError(f"{argument} names {unknown[0]!r}, which X does not have.")
    return [values[key] for key in keys]


def _prices_of(costs: Any, names: Sequence[str], labels: list[Any]) -> tuple[Vector, bool]:
    """Return the prices of columns or of groups, and whether they are those of groups."""
    costs = _as_dict(costs, [*labels, *names])
    if isinstance(costs, dict):
        per_group = bool(labels) and set(costs) <= set(labels)
        return _positive(_in_order("costs", costs, labels if per_group else names)), per_group
    size, d = np.shape(costs), len(names)
    if size not in ((d,), (len(labels),)) or size == (0,):
        or_groups = f" or for each of the {len(labels)} groups" if labels else ""
        raise ValueError(
            f"costs has the shape {size}: it takes a number for each of the {d} columns"
            f"{or_groups}, a dict of them by name, or a callable on atoms."
        )
    return _positive(costs), size != (d,)


def _positive(values: Any) -> Vector:
    """Return the values as floats above 0."""
    try:
        costs = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs takes numbers: {error}.") from None
    if (bad := costs[~((costs > 0) & np.isfinite(costs))]).size:
        raise ValueError(
            f"costs has {bad[0]:g} among its values: it takes finite numbers above 0. What is "
            "owned already goes into include."
        )
    return costs


def _listed(argument: str, value: Any) -> list[Any]:
    """Return the value as a list of names and indices."""
    if value is None:
        return []
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise ValueError(f"{argument}={value!r} is not valid: it takes a list of indices or names.")
    items = [item.item() if isinstance(item, np.generic) else item for item in value]
    try:
        set(items)
    except TypeError as error:  # a list or another item without a hash
        raise ValueError(f"{argument} takes a list of indices or names: {error}.") from None
    return items


class AtomNames:
    """Finds the atoms of a fitted pool; ``members`` has the columns of each group, by label."""

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
        if isinstance(pool, Groups):
            return _first_places(pool.labels_.tolist())
        if isinstance(pool, Columns):
            return self._columns
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
        return list(dict.fromkeys(self._atom("include", item) for item in items))

    def forbidden(self, items: list[Any]) -> list[int]:
        """Return the atoms that ``exclude`` names, or whose columns or groups it names."""
        return list(dict.fromkeys(atom for item in items for atom in self._excluded(item)))

    def _excluded(self, item: Any) -> list[int]:
        """Return the atoms that a name stands for: of a column, else of a group, else of an atom.

        Groups that are chosen whole are atoms.
        """
        whole_groups = isinstance(self.pool, Groups)
        if not whole_groups and isinstance(item, str) and item in self._columns:
            columns = [self._columns[item]]
        elif not whole_groups and isinstance(item, str) and item in self.members:
            columns = self.members[item].tolist()
        else:
            return [self._atom("exclude", item)]
        if (reads := self._reads) is None:
            raise ValueError(
                f"exclude names {item!r}, and every feature of {type(self.pool).__name__} reads "
                "every column: leave columns out of X instead."
            )
        atoms = [reads.indices[reads.indptr[j] : reads.indptr[j + 1]] for j in columns]
        return np.unique(np.concatenate(atoms)).tolist()

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


def _some(names: Collection[Any]) -> str:
    """Return the first names as text."""
    return ", ".join(map(str, islice(names, 5))) + (", ..." if len(names) > 5 else "")
