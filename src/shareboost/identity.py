"""What a run depends on, told by digests: for checkpoints and for warm starts."""

from __future__ import annotations

import hashlib
from collections import UserDict
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from numbers import Integral, Real
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .path import Path, PathOfOne
from .penalties import PENALTIES
from .pools import Pool, new_pool
from .selection.pricing import ROUNDING

if TYPE_CHECKING:
    from .backends import Backend
    from .selection.constraints import Constraints
    from .selection.pricing import Pricing

CHUNK_BYTES = 1 << 18  # of an array that are copied at a time


def digest(value: Any, name: str = "value") -> str:
    """Return a short text that depends on the content of a value alone, in any process.

    Memory layout and byte order of an array, the format of a sparse matrix, the order of a dict
    and NumPy's type of a scalar do not count. Estimators count by class and parameters.
    """
    try:
        return str(joblib.hash(_plain(value)))
    except (PicklingError, TypeError, AttributeError) as error:
        raise TypeError(
            f"{name} holds what cannot be told from other values in a later run: {error}."
        ) from None


def _plain(value: Any) -> Any:
    """Return a value in a form that pickles alike wherever its content is the same."""
    if isinstance(value, BaseEstimator):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        return kind, _plain(value.get_params(deep=False))
    if sp.issparse(value):
        rows = sp.csr_array(value, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        indices, starts = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
        return "sparse", rows.shape, *map(_of_array, (rows.data, indices, starts))
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


def _of_array(array: NDArray[Any]) -> tuple[Any, ...]:
    if array.dtype.hasobject:
        return "objects", array.shape, _plain(array.tolist())
    little, hasher = array.dtype.newbyteorder("<"), hashlib.blake2b(digest_size=16)
    rows = np.atleast_1d(array)
    step = max(1, CHUNK_BYTES * len(rows) // max(1, rows.nbytes))
    for start in range(0, len(rows), step):
        hasher.update(rows[start : start + step].astype(little, copy=False).tobytes())
    return little.str, array.shape, hasher.hexdigest()


class Digests(UserDict[str, str]):
    """The digests of some values by name, computed when they are first asked for.

    Without what cannot be told, such as a penalty of the user's own.
    """

    def __init__(self, values: dict[str, Any]):
        self._values = values

    @cached_property
    def data(self) -> dict[str, str]:  # type: ignore[override]
        """The digests, by name."""
        digests = {}
        for name, value in self._values.items():
            with suppress(TypeError):
                digests[name] = digest(value, name)
        return digests

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.data,)  # not the values, which may be large


def identity_of(
    estimator: Any, sample: Any, held_out: Any, drawn: bool, n_classes: int, backend: Backend
) -> dict[str, str]:
    """Return the digest of the data and of every parameter that matters, by name.

    ``drawn`` tells whether the held-out rows were drawn at random.
    """
    from . import __version__  # which is set only after this module

    if (unlike := drawn and estimator.random_state is None) or _unseeded(estimator.pool):
        whose = "random_state" if unlike else "the pool's random_state"
        raise ValueError(
            f"checkpoint takes a run that can be repeated, and {whose} is None: give it an integer."
        )
    left_out = {*estimator._of_one_fit, *estimator._resolved}
    names = [name for name in estimator._get_param_names() if name not in left_out]
    return {
        "version of shareboost": digest(__version__),
        "device": digest(backend.name),
        **sample.digests(n_classes),
        "eval_set": digest(None if held_out is None else held_out.digests(n_classes)),
        **{name: digest(_meaning(estimator, name), name) for name in names},
    }


def shape_of(
    estimator: Any, constraints: Constraints, pricing: Pricing, weight_unit: float
) -> Digests:
    """Return the digests of all that shapes a round, by name."""
    values = {name: _meaning(estimator, name) for name in estimator._shaping}
    if isinstance(estimator.alpha, str):  # else only ratios of weights matter
        values["the unit of sample_weight"] = weight_unit
    return Digests(constraints.resolved(pricing) | values)


def _meaning(estimator: Any, name: str) -> Any:
    """Return what a parameter stands for, which nobody changes later."""
    value = getattr(estimator, name)
    if name == "pool":
        return new_pool(value)
    if name == "penalty" and isinstance(value, str):
        return PENALTIES[value]()
    kinds = [getattr(one, "type", None) for one in estimator._parameter_constraints[name]]
    return float(value) if isinstance(value, Integral) and Real in kinds else value


def _unseeded(value: Any) -> bool:
    """Return whether an estimator, or one inside it, has no random state of its own."""
    if isinstance(value, (list, tuple)):
        return any(map(_unseeded, value))
    if not isinstance(value, BaseEstimator):
        return False
    parameters = value.get_params(deep=False)
    if parameters.get("random_state", 0) is None:
        return True
    return isinstance(value, Pool) and any(map(_unseeded, parameters.values()))


def path_to_go_on_from(clf: Any, n_columns: int, classes: NDArray[Any]) -> Path | None:
    """Return the fitted path of a warm start, if there is one and it fits the data."""
    if not clf.warm_start or not hasattr(clf, "path_"):
        return None
    if n_columns != clf.n_features_in_ or not np.array_equal(classes, clf.classes_):
        raise ValueError(
            f"warm_start=True goes on from a fit on {clf.n_features_in_} columns and the "
            f"classes {clf.classes_.tolist()}; X has {n_columns} columns and y the classes "
            f"{classes.tolist()}. Fit the same data, or set warm_start=False."
        )
    path: Path = clf.path_
    if isinstance(path, PathOfOne):
        raise ValueError(
            "warm_start=True goes on from the rounds of an earlier fit, and this classifier is "
            "reduced or was loaded from a file without them. Save it with whole_path=True, or set "
            "warm_start=False."
        )
    if clf.n_features is not None and clf.n_features < len(path):
        raise ValueError(
            f"n_features={clf.n_features} is below the {len(path)} features already chosen: "
            f"warm_start=True takes at least as many. Use at({clf.n_features}) for fewer."
        )
    return path


def check_shape(path: Path, shaped_by: Mapping[str, str], budget: float | None) -> None:
    """Raise where the path's rounds would be others now."""
    other = [name for name, now in shaped_by.items() if path.shaped_by.get(name, now) != now]
    if other:
        names = ", ".join("the pool (or its random state)" if n == "pool" else n for n in other)
        raise ValueError(
            f"warm_start=True goes on from an earlier fit, and what shaped its rounds changed: "
            f"{names}. Fit in the same way, or set warm_start=False."
        )
    spent = path.last.cost
    if budget is not None and spent > budget * (1.0 + ROUNDING):
        raise ValueError(
            f"budget={budget:g} is below what the fitted path has spent, {spent:g}: "
            "warm_start=True takes at least as much."
        )
