"""Numbers as small integers and a scale."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

# The types that weights, centres and templates may have, with the largest code of each.
LARGEST_CODE = {"float32": 0, "int16": 32767, "int8": 127}


class Codes(NamedTuple):
    """Numbers as ``codes * scales``, one scale a row; of float32 all scales are 1."""

    codes: NDArray[Any]  # (rows, n)
    scales: NDArray[np.float32]  # (rows,)

    @property
    def values(self) -> NDArray[np.float64]:
        """What the codes stand for."""
        return self.codes * self.scales[:, None].astype(np.float64)


def beyond_float32(what: str) -> ValueError:
    """Return the error for a model with numbers that float32 does not hold."""
    return ValueError(
        f"The model cannot be exported in float32: it has {what} beyond the range of float32. "
        "Train it on columns of a smaller or larger unit."
    )


def encode(values: Floats, kind: str) -> Codes:
    """Return the numbers, (rows, n), as codes of that kind, the nearest there are."""
    largest = np.abs(values).max(axis=1, initial=0.0)
    single = np.finfo(np.float32)
    if not np.all((largest == 0.0) | ((single.tiny <= largest) & (largest <= single.max))):
        raise beyond_float32("weights")
    if kind == "float32":
        return Codes(values.astype(np.float32), np.ones(len(values), dtype=np.float32))
    scales = (largest / LARGEST_CODE[kind]).astype(np.float32)
    scales[scales == 0.0] = 1.0
    codes = np.rint(values / scales[:, None].astype(np.float64))
    codes = np.clip(codes, -LARGEST_CODE[kind], LARGEST_CODE[kind])
    return Codes(codes.astype(kind), scales)
