"""Frames, for those who ask for one or give one: no dependency of the package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray


def pandas_for(arrays: str) -> Any:
    """Return pandas; where there is none, say how to get it and which arrays need none."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"to_frame needs pandas: install it, or shareboost[pandas]. The arrays {arrays} need "
            "nothing."
        ) from error
    return pandas


def labelled(
    contributions: Any, X: Any, classes: NDArray[Any], names: Callable[[], Sequence[str]]
) -> Any:
    """Return contributions to scores as a frame of X's kind, as they are where X is no frame.

    They are (rows, features), or (rows, classes, features). Frames of pandas have pairs of a class
    and a feature as columns then, those of polars a struct for each class.
    """
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        columns: Any = names()
        if contributions.ndim == 3:
            pairs = [classes, columns]
            columns = pandas.MultiIndex.from_product(pairs, names=["class", "feature"])
        flat = contributions.reshape(len(X), len(columns))
        return pandas.DataFrame(flat, index=X.index, columns=columns)
    if polars is not None and isinstance(X, polars.DataFrame):
        schema = names()
        if contributions.ndim == 2:
            return polars.DataFrame(contributions, schema=schema)
        return polars.DataFrame(
            [
                polars.DataFrame(contributions[:, q], schema=schema).to_struct(str(label))
                for q, label in enumerate(classes.tolist())
            ]
        )
    return contributions
