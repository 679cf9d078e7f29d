"""Pools of candidate features, section 4 of the paper."""

from .base import Pool
from .by_name import KINDS, POOLS
from .columns import ColumnFeatures, Columns
from .features import Features
from .groups import GroupFeatures, Groups
from .hinges import HingeFeatures, Hinges
from .piece_features import PieceFeatures
from .pieces import Pieces
from .products import ProductFeatures, Products
from .stumps import StumpFeatures, Stumps
from .templates import TemplateFeatures, Templates
from .union import Union, UnionFeatures

__all__ = [
    "KINDS",
    "POOLS",
    "ColumnFeatures",
    "Columns",
    "Features",
    "GroupFeatures",
    "Groups",
    "HingeFeatures",
    "Hinges",
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
