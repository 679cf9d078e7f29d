"""The table of pools, and pools given by name, as a parameter of an estimator."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import validate_parameter_constraints

from .base import Pool
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

# Every pool, with the kind of features that are chosen from it.
KINDS: dict[type[Pool], type[Features]] = {
    Columns: ColumnFeatures,
    Groups: GroupFeatures,
    Hinges: HingeFeatures,
    Pieces: PieceFeatures,
    Products: ProductFeatures,
    Stumps: StumpFeatures,
    Templates: TemplateFeatures,
    Union: UnionFeatures,
}
# Those that have a default for every parameter, by name.
POOLS = {pool.__name__.lower(): pool for pool in KINDS if pool not in (Groups, Union)}


def known_pool(pool: Any) -> Pool | None:
    """Return a pool as it is, or a new one of that name; None for what is neither."""
    if isinstance(pool, str):
        return POOLS[pool]() if pool in POOLS else None
    return pool if isinstance(pool, Pool) else None


def new_pool(pool: str | Pool) -> Pool:
    """Return an unfitted pool of that name, or like that pool."""
    return POOLS[pool]() if isinstance(pool, str) else clone(pool)


def takes_nan(pool: Any) -> bool:
    """Return whether a pool, or one of that name, takes NaN; no for what is neither."""
    known = known_pool(pool)
    return known is not None and known.allows_nan


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
