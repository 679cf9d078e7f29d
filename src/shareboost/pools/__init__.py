"""Pools of candidate features, section 4 of the paper."""

from .base import Features, Pool
from .by_name import POOLS
from .columns import ColumnFeatures, Columns
from .groups import GroupFeatures, Groups
from .piece_features import PieceFeatures
from .pieces import Pieces
from .products import ProductFeatures, Products
from .stumps import StumpFeatures, Stumps
from .templates import TemplateFeatures, Templates
from .union import Union, UnionFeatures

__all__ = [
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
