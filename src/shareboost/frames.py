"""Pandas, for those who ask for a frame: no dependency of the package."""

from __future__ import annotations

from typing import Any


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
