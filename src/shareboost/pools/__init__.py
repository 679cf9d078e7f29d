"""Pools of candidate features, section 4 of the paper."""

from .base import Features, Pool
from .columns import ColumnFeatures, Columns
from .pieces import PieceFeatures, Pieces
from .products import ProductFeatures, Products
from .stumps import StumpFeatures, Stumps
from .templates import TemplateFeatures, Templates
from .union import Union, UnionFeatures

POOLS: dict[str, type[Pool]] = {
    "columns": Columns,
    "pieces": Pieces,
    "products": Products,
    "stumps": Stumps,
    "templates": Templates,
}

__all__ = [
    "POOLS",
    "ColumnFeatures",
    "Columns",
    "Features",
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
