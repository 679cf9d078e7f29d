"""The kinds of input that rows, labels and weights come in: one adaptor each, found by their type.

This module imports no backend: a library is imported by whoever has its arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray

    from .backends import Backend
    from .dataset import CheckedSample, GivenSample
    from .predictor import Predictor

# The backend that reads the arrays of a package. All others are NumPy's to read: its own arrays,
# SciPy's matrices, frames, lists.
BACKENDS = {
    "cupy": "torch",
    "cupyx": "torch",
    "torch": "torch",
    "dask": "dask",
    "dask_expr": "dask",
}
# The package of each backend, in which a module ``input`` has the adaptor ``INPUT``.
PACKAGES = {
    "numpy": "shareboost.backends",
    "torch": "shareboost.backends.torch",
    "dask": "shareboost.backends.dask",
}


class Input(ABC):
    """What is asked of rows that a user gave, whatever kind of array or frame they are.

    ``checked`` and ``estimator`` stand for an estimator that learns, or knows, the number and names
    of columns.
    """

    # Whether a fit takes all workers of a cluster, so that no two should run at once.
    fits_one_by_one: ClassVar[bool] = False

    @abstractmethod
    def backend(self, X: Any, device: Any) -> Backend:
        """Return the backend for rows X and the estimator's ``device``; raise if they differ."""

    @abstractmethod
    def on_host(self, values: Any) -> Any:
        """Return values as an array of NumPy or a matrix of SciPy, any of these as they are."""

    @abstractmethod
    def take(self, X: Any, rows: NDArray[Any]) -> Any:
        """Return some rows of X, by index or by mask, as X is: a frame, a tensor, lazy."""

    def taken_as(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows, by index, in an order in which X has them to give."""
        return rows

    @abstractmethod
    def check_rows(self, estimator: Any, X: Any, finite: Any) -> Any:
        """Return rows for an estimator that knows the number and names of its columns."""

    @abstractmethod
    def sample(
        self, checked: Any, X: Any, y: Any, sample_weight: Any, allows_nan: bool
    ) -> CheckedSample[Any]:
        """Return the rows to fit an estimator to, checked."""

    @abstractmethod
    def given_sample(self, checked: Any, X: Any, y: Any, sample_weight: Any) -> GivenSample:
        """Return the rows, X as given where rows can be taken from it, and checked."""

    @abstractmethod
    def evaluation_sample(
        self, checked: Any, eval_set: Any, classes: NDArray[Any], finite: Any, backend: Backend
    ) -> Any:
        """Return held-out rows for a fit by a backend, checked against the training data."""

    @abstractmethod
    def answered(self, clf: Predictor, asked: str, X: Any) -> Any:
        """Return one of ``prediction.ANSWERS`` to rows of X, in arrays of their kind."""

    @abstractmethod
    def staged(self, clf: Predictor, asked: str, X: Any) -> Iterator[Any]:
        """Yield "decisions", "predict" or "scores" of every model of a path.

        The scores are computed; all else is in arrays of X's kind.
        """

    @abstractmethod
    def accuracy(self, predicted: Any, y: Any, sample_weight: Any) -> float:
        """Return the weighted share of rows whose label is the predicted one."""


def backend_name(X: Any) -> str:
    """Return the name of the backend that reads a value: "numpy", "torch" or "dask"."""
    kind: Any = type(X)
    return _name_of_type(kind)


def input_of(X: Any) -> Input:
    """Return the adaptor for a value, by its type and without importing any library."""
    adaptor: Input = import_module(f"{PACKAGES[backend_name(X)]}.input").INPUT
    return adaptor


def backend_of(X: Any, device: Any = None) -> Backend:
    """Return the backend for rows X and the estimator's ``device``; raise if they differ."""
    return input_of(X).backend(X, device)


def on_host(values: Any) -> Any:
    """Return an array of a device or of Dask as NumPy's or SciPy's; any other value as it is.

    Dask's are computed, its frames to pandas' frames.
    """
    return input_of(values).on_host(values)


def rows_of(X: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of X, a frame or a device's array too, by index or by mask.

    Those of Dask's arrays and frames are lazy, and their index is in rising order.
    """
    return input_of(X).take(X, rows)


def backend_module(array: Any, name: str) -> ModuleType:
    """Return the module of that name in the backend of an array that is not NumPy's."""
    return import_module(f"{PACKAGES[backend_name(array)]}.{name}")


@cache
def _name_of_type(kind: Any) -> str:
    """Return the backend of a type, or of one that it is a subclass of."""
    for base in kind.__mro__:
        name = BACKENDS.get(base.__module__.partition(".")[0])
        if name is not None and (name != "dask" or hasattr(kind, "__dask_graph__")):
            return name
    return "numpy"
