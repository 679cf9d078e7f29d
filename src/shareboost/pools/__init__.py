"""Pools of candidate features, section 4 of the paper."""

from .base import Features, Pool
from .columns import ColumnFeatures, Columns

POOLS: dict[str, type[Pool]] = {
    "columns": Columns,
}

__all__ = ["POOLS", "ColumnFeatures", "Columns", "Features", "Pool"]
