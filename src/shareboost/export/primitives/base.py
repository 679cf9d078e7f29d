"""What a primitive tells of itself: its C, JavaScript and ONNX, its bounds and its cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..onnx_nodes import Nodes

if TYPE_CHECKING:
    from ..c.step import Form, Step
    from ..plan import Plan

Places = NDArray[np.intp]  # of a part's values among the columns of the plan
Pairs = NDArray[np.float64]  # (n, k, k): for score q less score p at [p, q]
Values = NDArray[np.float64]


class CodeBytes(NamedTuple):
    """Bytes of machine code for one feature and for several, and what integer weights add.

    Measured with gcc 12 -std=c99 -Os on x86-64, the alignment of tables included.
    """

    one: int
    several: int
    one_coded: int
    several_coded: int


class Call(NamedTuple):
    """A function of JavaScript that computes values, its source, and the fields it reads."""

    function: str
    source: str
    fields: dict[str, str]  # as literals, by name


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

    @abstractmethod
    def steps(self, plan: Plan, prefix: str, form: Form) -> list[Step]:
        """Return the steps of a header in C, whose names begin with the prefix."""

    @abstractmethod
    def values(self, step: Step, X: NDArray[Any]) -> Values:
        """Return what the C of a step computes before weights, (n, columns)."""

    def most_added(self, step: Step, more: Pairs, low: Any, high: Any) -> Pairs:
        """Return the most that each feature can add to the score of one class less another.

        ``more`` are the differences of the weights of the step's columns, (columns, k, k); inputs
        are between ``low`` and ``high``. Not asked for where values are searched.
        """
        raise NotImplementedError

    def search_tables(
        self, step: Step, weights: Values, rounding: float
    ) -> dict[str, NDArray[np.float32]]:
        """Return the tables that bounds of one image need, where values are searched.

        ``rounding`` is that of a score, as a share of its terms; the weights are (columns, k).
        """
        return {}

    @abstractmethod
    def code_bytes(self, step: Step) -> CodeBytes:
        """Return what the machine code of a step takes."""

    @abstractmethod
    def calls(self) -> list[Call]:
        """Return the functions of JavaScript that write the values to their places."""

    @abstractmethod
    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        """Add nodes of ONNX; yield what adds to the scores, (rows, k) in float64, in terms."""


def offsets_of(part: Primitive, plan: Plan) -> tuple[NDArray[np.float32], Values]:
    """Return the offsets of a part's values in float32, and what their rounding adds to scores."""
    offsets = plan.offsets[part.places].astype(np.float32)
    return offsets, plan.weights[:, part.places] @ (offsets - plan.offsets[part.places])


def most_in_range(step: Step, more: Pairs, least: Any, most: Any) -> Pairs:
    """Return ``most_added`` of single values, each within its range."""
    offsets = step.tables.get("offsets", np.zeros(step.n, dtype=np.float32))
    ends = np.stack([least - offsets, most - offsets])[:, :, None, None]
    return (more * ends).max(axis=0)


def weighted(nodes: Nodes, plan: Plan, values: str, places: Places) -> str:
    """Add the values of those places, less their offsets, times their weights, (rows, k)."""
    offsets = plan.offsets[places]
    if offsets.any():
        values = nodes.add("Sub", values, nodes.constant(offsets, np.float64))
    return nodes.add("MatMul", values, nodes.constant(plan.weights[:, places].T, np.float64))
