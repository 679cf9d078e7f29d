"""What the user asks of the choice: groups, costs, a budget, features in and features out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

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
    prices: Vector | None = None  # of columns or groups
    per_group: bool = False  # whether the prices are those of groups

    def pricing(self, pool: Pool) -> Pricing:
        """Return what may be chosen among the atoms of a fitted pool, and for how much."""
        lookup = AtomNames(pool, self.names, self._members())
        owned = lookup.owned(self.include)
        forbidden = lookup.forbidden(self.exclude)
        if both := sorted(set(owned) & set(forbidden)):
            raise ValueError(_in_both(pool.features(both).atom_names(self.names)))
        _check_number(len(owned), self.n_features)
        prices, needs = self._prices(pool)
        pricing = Pricing(
            prices, needs, np.array(forbidden, dtype=np.intp), tuple(owned), self.budget
        )
        self._check_open(pricing, pool)
        return pricing

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
        if self.labels is None:
            return {}
        assert self.group is not None
        order, starts = columns_by_group(self.group, self.labels.size)
        return dict(zip(self.labels.tolist(), np.split(order, starts[1:-1]), strict=True))

    def _prices(self, pool: Pool) -> tuple[Vector, sp.csr_array | None]:
        """Return the prices of items and the items that each atom needs."""
        if self.costs is not None:
            given = self.costs(pool.features(np.arange(pool.n_atoms_)))
            return _positive(given, (pool.n_atoms_,), "atom, which the callable returns"), None
        if self.prices is None:
            return np.ones(pool.n_atoms_), None
        d = len(self.names)
        needs = pool.reads(d)
        if needs is None:  # every atom reads every column: one item
            return np.array([self.prices.sum()]), sp.csr_array(np.ones((pool.n_atoms_, 1)))
        if self.per_group:
            assert self.group is not None
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
            _check_above(self.budget, float(costs[may].min()))


class Grouping(NamedTuple):
    """The classifier's arguments ``groups`` and ``group_choice``."""

    groups: Any
    choice: str


class Prices(NamedTuple):
    """The classifier's arguments ``costs`` and ``budget``."""

    costs: Any
    budget: float | None


def checked_constraints(
    names: Sequence[str],
    pool: Pool,
    n_features: int | None,
    grouping: Grouping,
    prices: Prices,
    include: Any,
    exclude: Any,
) -> tuple[Constraints, Pool]:
    """Return the constraints and the pool to choose from; raise for what cannot be meant.

    Called before any work is done: what needs the pool's atoms is checked by ``pricing``.
    """
    costs, budget = prices
    if n_features is None and budget is None:
        raise ValueError("n_features=None takes a budget: one of the two must end the rounds.")
    labels = group = None
    groups = by_column(grouping.groups, names)
    if groups is not None and grouping.choice != "each":
        pool = _grouped(pool, groups, grouping.choice)
    if isinstance(pool, Groups):
        groups = pool.groups
    if groups is not None:
        labels, group = group_labels(groups, len(names))
    constraints = Constraints(
        names,
        n_features,
        _listed("include", include),
        _listed("exclude", exclude),
        costs if callable(costs) else None,
        np.inf if budget is None else float(budget),
        labels,
        group,
    )
    if costs is not None and not callable(costs):
        constraints = _with_prices(constraints, costs)
    if isinstance(pool, (Columns, Groups)):
        # These atoms are known without any work: a stand-in tells all that is wrong.
        priced = (
            constraints
            if constraints.costs is None
            else replace(constraints, costs=None, budget=np.inf)
        )
        priced.pricing(_stand_in(pool, len(names)))
    else:
        _check_lists(constraints)
        if constraints.prices is not None and not constraints.include:
            _check_above(constraints.budget, float(constraints.prices.min()))
    return constraints, pool


def _check_lists(constraints: Constraints) -> None:
    """Raise for what can be told of ``include`` and ``exclude`` without knowing any atom."""
    excluded = set(constraints.exclude)
    if both := [item for item in constraints.include if item in excluded]:
        raise ValueError(_in_both([str(item) for item in both]))
    alike = len(set(map(type, constraints.include))) == 1  # else two items may mean one atom
    if alike:
        _check_number(len(set(constraints.include)), constraints.n_features)


def _in_both(names: list[str]) -> str:
    return f"include and exclude both name {', '.join(names)}: a feature is in one of them at most."


def _check_number(n_included: int, n_features: int | None) -> None:
    if n_features is not None and n_included > n_features:
        raise ValueError(
            f"include names {n_included} features, more than n_features={n_features}: n_features "
            "counts those too."
        )


def by_column(groups: Any, names: Sequence[str]) -> Any:
    """Return the labels in the order of the columns; a dict or series has them by name."""
    if _is_series(groups) and set(groups.index) & set(names):
        groups = groups.to_dict()
    if not isinstance(groups, dict):
        return groups
    if missing := [name for name in names if name not in groups]:
        raise ValueError(f"groups has no label for {missing[0]!r}: it takes one for each column.")
    known = set(names)
    if unknown := [name for name in groups if name not in known]:
        raise ValueError(f"groups names {unknown[0]!r}, which X does not have.")
    return [groups[name] for name in names]


def _is_series(value: Any) -> bool:
    """Return whether the value is a pandas Series with an index of its own, not just places."""
    named = hasattr(value, "index") and hasattr(value, "to_dict")
    return named and type(value.index).__name__ != "RangeIndex"


def _grouped(pool: Pool, groups: Any, group_choice: str) -> Pool:
    if type(pool) is not Columns:
        raise ValueError(
            f"groups are chosen whole among columns only, not with {type(pool).__name__}. With "
            'group_choice="each" they share a price in costs, whatever the pool.'
        )
    return Groups(groups, pool.scale, group_choice)


def _stand_in(pool: Pool, n_columns: int) -> Pool:
    """Return the pool as it would be after a fit, as far as names and prices go."""
    X = np.tile([[0.0], [1.0]], n_columns)
    return type(pool)(**pool.get_params(deep=False)).fit(X)


def _with_prices(constraints: Constraints, costs: Any) -> Constraints:
    """Return the constraints with prices of columns or of groups."""
    d = len(constraints.names)
    labels = [] if constraints.labels is None else constraints.labels.tolist()
    if _is_series(costs) and set(costs.index) & {*labels, *constraints.names}:
        costs = costs.to_dict()
    if isinstance(costs, dict):
        keys = labels if labels and set(costs) <= set(labels) else list(constraints.names)
        if missing := [key for key in keys if key not in costs]:
            raise ValueError(f"costs has no entry for {missing[0]!r}: {_takes(d, labels)}.")
        known = set(keys)
        if unknown := [key for key in costs if key not in known]:
            raise ValueError(f"costs names {unknown[0]!r}, which is unknown: {_takes(d, labels)}.")
        return replace(
            constraints,
            prices=_positive([costs[key] for key in keys], (len(keys),), "entry"),
            per_group=keys is labels,
        )
    size = np.shape(costs)
    if size not in ((d,), (len(labels),)) or size == (0,):
        raise ValueError(f"costs has the shape {size}: {_takes(d, labels)}.")
    per_group = size != (d,)
    prices = _positive(costs, size, "group" if per_group else "column")
    return replace(constraints, prices=prices, per_group=per_group)


def _takes(n_columns: int, labels: list[Any]) -> str:
    groups = f" or for each of the {len(labels)} groups" if labels else ""
    return (
        f"it takes a number for each of the {n_columns} columns{groups}, a dict of them by name, "
        "or a callable on atoms"
    )


def _positive(values: Any, shape: tuple[int, ...], what: str) -> Vector:
    """Return the values as floats above 0."""
    try:
        costs = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs takes a number for each {what}: {error}.") from None
    if costs.shape != shape:
        raise ValueError(
            f"costs has the shape {costs.shape}: it takes {shape[0]} numbers, one for each {what}."
        )
    if not (costs > 0).all() or not np.isfinite(costs).all():
        bad = costs[~((costs > 0) & np.isfinite(costs))][0]
        raise ValueError(
            f"costs has {bad:g} among its values: it takes finite numbers above 0. What is owned "
            "already goes into include."
        )
    return costs


def _check_above(budget: float, cheapest: float) -> None:
    if cheapest > budget * (1.0 + ROUNDING):
        raise ValueError(
            f"budget={budget:g} is below the cheapest feature, which costs {cheapest:g}: nothing "
            "could be bought."
        )


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
