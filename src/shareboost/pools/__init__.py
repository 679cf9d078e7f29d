"""Pools of candidate features, section 4 of the paper."""

from .base import Features, Pool
from .columns import ColumnFeatures, Columns
from .products import ProductFeatures, Products
from .stumps import StumpFeatures, Stumps
from .templates import TemplateFeatures, Templates

POOLS: dict[str, type[Pool]] = {
    "columns": Columns,
    "products": Products,
    "stumps": Stumps,
    "templates": Templates,
}

__all__ = [
    "POOLS",
    "ColumnFeatures",
    "Columns",
    "Features",
    "Pool",
    "ProductFeatures",
    "Products",
    "StumpFeatures",
    "Stumps",
    "TemplateFeatures",
    "Templates",
]
