"""Nodes and constants of an ONNX graph while it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import ranges

# Softmax and Squeeze got their present forms with this version of the operators.
LOWEST_OPSET = 13
# From this one on, all reductions take their axes as an input.
AXES_ARE_INPUTS = 18


# About so many numbers a row are held between two nodes at most. Measured for 266 templates on
# MNIST: twice as many save 0.05 ms of 0.25 ms for one image, and take twice the memory of a batch.
MOST_NUMBERS = 8192


class Node(NamedTuple):
    """A standard operator with its inputs, its one output and its attributes."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any]


class Nodes:
    """Nodes and constants, each named as it is added; a method returns the name of its result.

    Parameters
    ----------
    opset : int
        Version of the standard operators.
    new_name : callable
        Makes a name that is not yet taken from a word.
    """

    def __init__(self, opset: int, new_name: Callable[[str], str]):
        self.opset = opset
        self.nodes: list[Node] = []
        self.constants: dict[str, NDArray[Any]] = {}  # by name; strings are objects
        self._new_name = new_name
        self._known: dict[tuple[Any, ...], str] = {}  # names of constants by content

    def add(self, operator: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        """Add a node of one output, which may be given its name."""
        out = self._new_name(operator.lower()) if out is None else out
        self.nodes.append(Node(operator, self._new_name(operator), inputs, out, attributes))
        return out

    def constant(self, values: Any, dtype: Any) -> str:
        """Add a constant, once however often it is asked for; strings have the type object."""
        array = np.asarray(values, dtype=dtype, order="C")
        content = tuple(array.ravel()) if array.dtype == object else array.tobytes()
        key = (array.dtype, array.shape, content)
        if key not in self._known:
            self._known[key] = self._new_name("constant")
            self.constants[self._known[key]] = array
        return self._known[key]

    def cast(self, x: str, dtype: type[np.generic], out: str | None = None) -> str:
        """Convert to numbers of another type."""
        from onnx import helper

        return self.add("Cast", x, out=out, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def take(self, x: str, places: NDArray[np.intp], axis: int = 1) -> str:
        """Take some places along an axis."""
        return self.add("Gather", x, self.constant(places, np.int64), axis=axis)

    def reshape(self, x: str, *shape: int) -> str:
        """Reshape; a length of 0 stays what it was."""
        return self.add("Reshape", x, self.constant(shape, np.int64))

    def batches(self, n: int, numbers_each: int) -> list[slice]:
        """Return ranges of n things to compute at a time, each of so many numbers a row."""
        return ranges(n, max(1, MOST_NUMBERS // numbers_each))

    def reduce(self, operator: str, x: str, *axes: int) -> str:
        """Reduce axes away."""
        if self.opset >= AXES_ARE_INPUTS:
            return self.add(operator, x, self.constant(axes, np.int64), keepdims=0)
        return self.add(operator, x, axes=list(axes), keepdims=0)
