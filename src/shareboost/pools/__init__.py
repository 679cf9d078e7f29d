"""Pools of candidate features, section 4 of the paper: their table, and pools given by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from .base import Pool
from .features import Features

if TYPE_CHECKING:
    from .columns import Columns
    from .groups import Groups
    from .hinges import Hinges
    from .pieces import Pieces
    from .products import Products
    from .stumps import Stumps
    from .templates import Templates
    from .union import Union

    # Every pool with the kind of features that are chosen from it.
    KINDS: dict[type[Pool], type[Features]]

# Every pool and the features that are chosen from it, by the module that defines both. It is
# imported when one of the names is first asked for.
_TABLE = {
    "columns": ("Columns", "ColumnFeatures"),
    "groups": ("Groups", "GroupFeatures"),
    "hinges": ("Hinges", "HingeFeatures"),
    "pieces": ("Pieces", "PieceFeatures"),
    "products": ("Products", "ProductFeatures"),
    "stumps": ("Stumps", "StumpFeatures"),
    "templates": ("Templates", "TemplateFeatures"),
    "union": ("Union", "UnionFeatures"),
}
# The names of the pools that have a default for every parameter.
POOLS = tuple(name for name in _TABLE if name not in ("groups", "union"))

__all__ = [
    "KINDS",
    "POOLS",
    "Columns",
    "Features",
    "Groups",
    "Hinges",
    "Pieces",
    "Pool",
    "Products",
    "Stumps",
    "Templates",
    "Union",
]


def __getattr__(name: str) -> Any:
    """Import a pool or its features, or all of them for ``KINDS``."""
    if name == "KINDS":
        return {__getattr__(pool): __getattr__(features) for pool, features in _TABLE.values()}
    for module, names in _TABLE.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def known_pool(pool: Any) -> Pool | None:
    """Return a pool as it is, or a new one of that name; None for what is neither."""
    if isinstance(pool, str):
        return __getattr__(_TABLE[pool][0])() if pool in POOLS else None
    return pool if isinstance(pool, Pool) else None


def new_pool(pool: str | Pool) -> Pool:
    """Return an unfitted pool of that name, or like that pool."""
    return clone(known_pool(pool))


def takes_nan(pool: Any) -> bool:
    """Return whether a pool, or one of that name, takes NaN; no for what is neither."""
    known = known_pool(pool)
    return known is not None and known.allows_nan


def as_published(pool: str | Pool) -> Pool:
    """Return an unfitted pool like that one, with ``published`` as its parameters."""
    new = new_pool(pool)
    for name, value in new.get_params().items():
        if isinstance(value, Pool) and "__" not in name:
            new.set_params(**{name: as_published(value)})
    known = new.get_params(deep=False)
    return new.set_params(**{name: v for name, v in new.published.items() if name in known})
