"""Pools of candidate features, section 4 of the paper: their table, and pools given by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import validate_parameter_constraints

from .base import Pool
from .features import Features

if TYPE_CHECKING:
    from .columns import ColumnFeatures, Columns
    from .groups import GroupFeatures, Groups
    from .hinges import HingeFeatures, Hinges
    from .pieces import PieceFeatures, Pieces
    from .products import ProductFeatures, Products
    from .stumps import StumpFeatures, Stumps
    from .templates import TemplateFeatures, Templates
    from .union import Union, UnionFeatures

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


class WithPool(BaseEstimator):
    """An estimator that may have a parameter ``pool``, a pool or its name."""

    pool: str | Pool
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of objects among them too. Those of the pool, such
            as ``pool__max_bins``, are there for a pool given by name as well.

        Returns
        -------
        params : dict
            Parameter names mapped to their values.
        """
        params: dict[str, Any] = super().get_params(deep)
        named = params.get("pool")
        if deep and isinstance(named, str) and (pool := known_pool(named)) is not None:
            params |= {f"pool__{name}": value for name, value in pool.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Estimator parameters. Those of objects among them have names such as
            ``pool__max_bins``; a pool given by name is replaced by an object of it first.

        Returns
        -------
        self
        """
        nested = any(name.startswith("pool__") for name in params)
        if nested and "pool" in self._get_param_names():
            pool = params.get("pool", self.pool)
            validate_parameter_constraints(
                self._parameter_constraints, {"pool": pool}, caller_name=type(self).__name__
            )
            params["pool"] = new_pool(pool) if isinstance(pool, str) else pool
        super().set_params(**params)
        return self
