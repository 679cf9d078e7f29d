"""What a primitive tells of itself: its C, JavaScript and ONNX, its bounds and its cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..text import template

if TYPE_CHECKING:
    from ..onnx_model import Nodes
    from ..plan import Plan

Places = NDArray[np.intp]  # of a part's values among the columns of the plan
Pairs = NDArray[np.float64]  # (n, k, k): for score q less score p at [p, q]
Values = NDArray[np.float64]
Tables = dict[str, NDArray[Any]]

# The types that weights, centres and templates may have in C, with the largest code of each.
LARGEST_CODE = {"float32": 0, "int16": 32767, "int8": 127}
INPUT_TYPES = ("float32", "uint8")  # what x may hold in C
# Templates whose responses are computed side by side: their sums stay in vector registers.
# Measured on 218 templates of MNIST with AVX-512: 106 us an image for 64, 94 for 112, 96 for 224.
LANES = 112


class CodeBytes(NamedTuple):
    """Bytes of machine code for one feature and for several, and what integer weights add.

    Measured with gcc 12 -std=c99 -Os on x86-64, the alignment of tables included.
    """

    one: int
    several: int
    one_coded: int
    several_coded: int
    # What the compiler folds away in the smallest models: bytes, for a number of classes, and for a
    # number of columns at most; more for fewer.
    folded: tuple[tuple[int, int, float], ...] = ()

    def folded_of(self, k: int, n_columns: int) -> int:
        return max((n for n, q, most in self.folded if q == k and n_columns <= most), default=0)


class Form(NamedTuple):
    """What a header in C is asked to be."""

    name: str
    weights: str  # one of LARGEST_CODE
    input_type: str  # one of INPUT_TYPES
    early_exit: bool = False
    lanes: int = LANES  # templates that are computed side by side, at most


@dataclass(frozen=True)
class Primitive(ABC):
    """A step that the exported forms of features are made of, in plain arrays."""

    places: Places

    # Whether values are in the units of the input: they need its range, and are read less a centre
    # that is far from zero.
    of_any_size: ClassVar[bool] = False
    allows_nan: ClassVar[bool] = False
    # Whether each feature has a value for every column of the input, and one more.
    by_input: ClassVar[bool] = False
    # Whether early exit bounds the values image by image, else once for all rows.
    searched: ClassVar[bool] = False

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """Return the primitive with what features tell in ``parts``."""
        return cls(**fields)

    @property
    def columns_read(self) -> NDArray[np.intp]:
        """The columns of the input that are read one by one."""
        return np.empty(0, dtype=np.intp)

    def source(self, language: str) -> str:
        """Return what the file of this primitive has in a language, "c" or "js"."""
        return template(f"primitives/{type(self).__name__.lower()}.{language}")

    @abstractmethod
    def steps(self, plan: Plan, prefix: str, form: Form) -> Iterator[Step]:
        """Yield the steps of a header in C, whose names begin with the prefix."""

    @abstractmethod
    def values(self, step: Step, X: NDArray[Any]) -> Values:
        """Return what the C of a step computes before weights, (n, columns)."""

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        """Return the most that each feature can add to the score of one class less another.

        ``more`` are the differences of the weights of the step's columns, (columns, k, k); inputs
        are between ``low`` and ``high``. Not asked for where values are searched.
        """
        raise NotImplementedError

    def search_tables(self, step: Step, rounding: float) -> Tables:
        """Return the tables that bounds of one image need, where values are searched.

        ``rounding`` is that of a score, as a share of its terms.
        """
        return {}

    def calls(self) -> list[dict[str, Any]]:
        """Return the arguments of each call of the function in JavaScript, by their names there."""
        return [vars(self)]

    @abstractmethod
    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        """Add nodes of ONNX; yield what adds to the scores, (rows, k) in float64, in terms."""


@dataclass(frozen=True)
class Step:
    """Features of one kind as C: tables, a function that adds them to the scores, and their cost.

    ``weights`` are those of the values that the code computes, which may be in other units than
    the model's columns; what that leaves over for every class is ``bias``. Quantised weights of
    a feature share one scale, and ``factor`` is what its values are multiplied by besides.
    """

    part: Primitive  # of the plan, or those of its templates that are of one size
    prefix: str  # of its names in C
    form: Form
    n: int  # features
    weights: NDArray[np.float64]  # (columns, k), feature after feature
    tables: Tables
    code: str
    code_bytes: CodeBytes
    bias: NDArray[np.float64] | float = 0.0  # (k,)
    multiply_adds: int = 0  # the most a row can take, besides those of the weights
    ram: int = 0  # bytes of its local arrays
    factor: NDArray[np.float64] | float = 1.0  # (n,)
    words: dict[str, Any] = field(default_factory=dict)  # that its code is filled with

    @cached_property
    def coded(self) -> Codes:
        """The weights as they are written, a feature a row."""
        return encode(self.weights.reshape(self.n, -1), self.form.weights)

    @cached_property
    def scales(self) -> NDArray[np.float32] | None:
        """What the values of each feature are multiplied by; None for 1."""
        scales = self.coded.scales * self.factor
        return None if np.all(scales == 1.0) else scales.astype(np.float32)

    @property
    def decoded(self) -> NDArray[np.float64]:
        """The weights that the values really have, (columns, k)."""
        return self.coded.values.reshape(self.weights.shape) * np.reshape(self.factor, (-1, 1))


class Codes(NamedTuple):
    """Numbers as ``codes * scales``, one scale a row; of float32 all scales are 1."""

    codes: NDArray[Any]  # (rows, n)
    scales: NDArray[np.float32]  # (rows,)

    @property
    def values(self) -> NDArray[np.float64]:
        """What the codes stand for."""
        return self.codes * self.scales[:, None].astype(np.float64)


def encode(values: NDArray[np.floating[Any]], kind: str) -> Codes:
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


def beyond_float32(what: str) -> ValueError:
    """Return the error for a model with numbers that float32 does not hold."""
    return ValueError(
        f"The model cannot be exported in float32: it has {what} beyond the range of float32. "
        "Train it on columns of a smaller or larger unit."
    )


def weighted(nodes: Nodes, plan: Plan, values: str, places: Places) -> str:
    """Add the values of those places, less their offsets, times their weights, (rows, k)."""
    offsets = plan.offsets[places]
    if offsets.any():
        values = nodes.add("Sub", values, nodes.constant(offsets, np.float64))
    return nodes.add("MatMul", values, nodes.constant(plan.weights[:, places].T, np.float64))
