"""Pools of candidate features, section 4 of the paper."""

from typing import Any

from sklearn.base import clone

from .base import Pool
from .columns import ColumnFeatures, Columns
from .features import Features
from .groups import GroupFeatures, Groups
from .piece_features import PieceFeatures
from .pieces import Pieces
from .products import ProductFeatures, Products
from .stumps import StumpFeatures, Stumps
from .templates import TemplateFeatures, Templates
from .union import Union, UnionFeatures

# Every pool, with the kind of features that are chosen from it.
KINDS: dict[type[Pool], type[Features]] = {
    Columns: ColumnFeatures,
    Groups: GroupFeatures,
    Pieces: PieceFeatures,
    Products: ProductFeatures,
    Stumps: StumpFeatures,
    Templates: TemplateFeatures,
    Union: UnionFeatures,
}
# Those that have a default for every parameter, by name.
POOLS = {pool.__name__.lower(): pool for pool in KINDS if pool not in (Groups, Union)}


def new_pool(pool: str | Pool) -> Pool:
    """Return an unfitted pool of that name, or like that pool."""
    return POOLS[pool]() if isinstance(pool, str) else clone(pool)


def takes_nan(pool: Any) -> bool:
    """Return whether a pool, or one of that name, takes NaN; no for what is neither."""
    if isinstance(pool, str):
        return pool in POOLS and POOLS[pool]().allows_nan
    return isinstance(pool, Pool) and pool.allows_nan


__all__ = [
    "KINDS",
    "POOLS",
    "ColumnFeatures",
    "Columns",
    "Features",
    "GroupFeatures",
    "Groups",
    "PieceFeatures",
    "Pieces",
    "Pool",
    "ProductFeatures",
    "Products",
    "StumpFeatures",
    "Stumps",
    "TemplateFeatures",
    "Templates",
    "Union",
    "UnionFeatures",
]
