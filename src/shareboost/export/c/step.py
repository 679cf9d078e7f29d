"""One kind of features as C: tables, a function that adds them to the scores, and their cost.

Numbers may be small integers and a scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..primitives import Primitive

Table = NDArray[Any]
Floats = NDArray[np.floating[Any]]

# The types that weights, centres and templates may have, with the largest code of each.
LARGEST_CODE = {"float32": 0, "int16": 32767, "int8": 127}

# Templates whose responses are computed side by side: their sums stay in vector registers.
# Measured on 218 templates of MNIST with AVX-512: 106 us an image for 64, 94 for 112, 96 for 224.
LANES = 112
INPUT_TYPES = ("float32", "uint8")  # what x may hold in C


class Form(NamedTuple):
    """What a header is asked to be."""

    name: str
    weights: str  # "float32", "int16" or "int8"
    input_type: str  # "float32" or "uint8"
    early_exit: bool = False
    lanes: int = LANES  # templates that are computed side by side, at most

    @property
    def c_input(self) -> str:
        """The C type of an input."""
        return "uint8_t" if self.input_type == "uint8" else "float"


@dataclass(frozen=True)
class Step:
    """Features of one kind, in the order in which C reads them.

    ``weights`` are those of the values that the code computes, which may be in other units than
    the model's columns; what that leaves over for every class is ``bias``. Quantised weights of
    a feature share one scale, and ``factor`` is what its values are multiplied by besides.
    """

    part: Primitive  # of the plan, or those of its templates that are of one size
    prefix: str  # of its names in C
    n: int  # features
    weights: NDArray[np.float64]  # (columns, k), feature after feature
    tables: dict[str, Table]
    code: str
    bias: NDArray[np.float64] | float = 0.0  # (k,)
    multiply_adds: int = 0  # the most a row can take, besides those of the weights
    ram: int = 0  # bytes of its local arrays
    factor: NDArray[np.float64] | None = None  # (n,); None for 1
    scale: float = 1.0  # of the codes of centres
    lane: NDArray[np.intp] | None = None  # of each template, among those of all blocks
    words: dict[str, Any] = field(default_factory=dict)  # that its code is filled with

    @property
    def width(self) -> int:
        """Number of columns of each feature."""
        return len(self.weights) // self.n

    @property
    def call(self) -> str:
        """The line of C that adds the features to the scores."""
        some = "" if self.part.searched else f"0, {self.n}, "
        return f"    {self.prefix}(x, {some}scores);\n"

    def values(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return what the code computes, quantised numbers and all, (n, columns)."""
        return self.part.values(self, X)


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
