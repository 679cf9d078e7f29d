"""Chosen features as plain arrays, each declared once: for files, devices and exported forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# Names of lengths: the number of features, and that of X's columns.
ATOMS, INPUTS = "atoms", "inputs"
# Digits of a number in a name.
MOST_DIGITS = 17


@dataclass(frozen=True)
class Declared:
    """How a field of features is stored; ``key`` is its name in a file, by default its own."""

    key: str = ""
    by_atom: bool = True  # whether there is an entry for each feature


@dataclass(frozen=True)
class Integers(Declared):
    """An array of integers, (n,): from ``low``, and below a number or a length named."""

    low: int = 0
    below: int | str | None = None
    distinct: bool = False  # no two alike


@dataclass(frozen=True)
class Reals(Declared):
    """An array of finite numbers; lengths are numbers or named."""

    shape: tuple[int | str, ...] = (ATOMS,)
    single: bool = False  # float32, else float64
    positive: bool = False
    largest: float | None = None  # in magnitude


@dataclass(frozen=True)
class Stacks(Declared):
    """An array of float32 for each feature, of that many dimensions.

    A file holds unlike ones once, in a stack for each shape, and under ``index`` which each is.
    """

    index: str = ""
    ndim: int = 1


class Labels(Declared):
    """A label for each feature."""


@dataclass(frozen=True)
class OfAll(Declared):
    """What all features have in common."""

    by_atom: bool = False


@dataclass(frozen=True)
class Members(OfAll):
    """Lists of features, each of any kind, and under ``names`` a name for each."""

    names: str = ""


class Texts(OfAll):
    """Texts, at least one."""


class Positive(OfAll):
    """A number above 0."""


class ImageShape(OfAll):
    """Height, width and channels of the images that the rows of X are."""


@dataclass(frozen=True)
class Choice(OfAll):
    """One of some values, each by its name."""

    values: tuple[Any, ...] = ()

    @property
    def by_name(self) -> dict[str, Any]:
        """The values by their names."""
        return {str(value): value for value in self.values}


Ids = Annotated[NDArray[np.intp], Integers(distinct=True)]
Numbers = Annotated[NDArray[np.intp], Integers()]
Digits = Annotated[NDArray[np.intp], Integers(low=1, below=MOST_DIGITS + 1)]


class Features(ABC):
    """The chosen atoms as plain arrays: all that prediction needs of a pool.

    A kind of features is a dataclass with a name, ``kind``, whose fields are declared by
    ``Annotated``: model files are read, written and described by that. Its ``columns`` work on
    any module of arrays, and ``parts`` tells of which primitives its exported forms are made.
    """

    kind: ClassVar[str]
    allows_nan: ClassVar[bool] = False  # in X
    ids: NDArray[np.intp]  # of the atoms, in the order they were chosen

    @classmethod
    def declared(cls) -> dict[str, Any]:
        """Return how each field is stored, by its name."""
        return _declared(cls)

    def inconsistency(self, n_columns_in: int) -> str | None:
        """Return what is wrong of fields that are right one by one; None where nothing is."""
        return None

    @property
    def widths(self) -> NDArray[np.intp]:
        """Number of columns of each atom."""
        return np.ones(self.ids.size, dtype=np.intp)

    @property
    def n_columns(self) -> int:
        """Number of columns the atoms make together."""
        return int(self.widths.sum())

    @property
    def input_columns(self) -> NDArray[np.intp] | None:
        """The column of X that each of the columns is, (n_columns,); None where they are others."""
        return None

    @abstractmethod
    def columns(self, X: Any) -> Any:
        """Return the atoms' columns for the rows of X, (rows, n_columns), in X's units.

        X is an array of NumPy, a tensor of torch or a matrix of SciPy.
        """

    def scratch(self, n_columns_in: int) -> int:
        """Return the bytes that ``columns`` takes for a row besides its answer, about."""
        return 40 * (n_columns_in + 1)

    @abstractmethod
    def names(self, input_names: Sequence[str]) -> list[str]:
        """Return a readable name for each column."""

    def atom_names(self, input_names: Sequence[str]) -> list[str]:
        """Return a readable name for each atom; that of its column where it has one."""
        return self.names(input_names)

    @classmethod
    def _fields_of_columns(cls) -> list[str]:
        """Return the fields that are columns of X, one for each atom; -1 stands for none."""
        return [
            name
            for name, how in (cls.declared() if hasattr(cls, "kind") else {}).items()
            if isinstance(how, Integers) and how.by_atom and how.below == INPUTS
        ]

    def reads(self, n_columns_in: int) -> sp.csr_array | None:
        """Return which of X's columns each atom reads, (atoms, n_columns_in), as booleans.

        Those that its fields are. None where every atom reads every column.
        """
        if not (names := self._fields_of_columns()):
            return None
        columns = np.sort(np.stack([getattr(self, name) for name in names], axis=1), axis=1)
        read = columns >= 0
        read[:, 1:] &= columns[:, 1:] != columns[:, :-1]
        pointers = np.concatenate([[0], np.cumsum(read.sum(axis=1))])
        entries = np.ones(pointers[-1], dtype=bool), columns[read], pointers
        return sp.csr_array(entries, shape=(self.ids.size, n_columns_in))

    def shares(self, n_columns_in: int) -> sp.csr_array:
        """Return what X's columns have of each of the columns, (n_columns, n_columns_in).

        Those that an atom reads have equal shares; the shares of a column sum to 1.
        """
        if (columns := self.input_columns) is not None:
            return one_each(columns, n_columns_in).astype(np.float64)
        reads = self.reads(n_columns_in)
        if reads is None:
            return sp.csr_array(np.full((self.n_columns, n_columns_in), 1.0 / n_columns_in))
        equal = reads.astype(np.float64) / np.diff(reads.indptr)[:, None]
        return sp.csr_array(equal)[np.repeat(np.arange(self.ids.size), self.widths)]

    def parts(self, places: NDArray[np.intp]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the export primitives that compute the columns, by name, with their fields.

        ``places`` are those of the columns among all of a model; each primitive takes those of
        its own values.
        """
        raise TypeError(
            f"Features of the type {type(self).__name__} cannot be exported: those of the pools of "
            "shareboost can."
        )

    def take(self, places: NDArray[np.intp]) -> Self:
        """Return the atoms at those places alone, in that order."""
        kept = {}
        for name, declared in self.declared().items():
            kept[name] = value = getattr(self, name)
            if declared.by_atom:
                is_list = isinstance(value, list)
                kept[name] = [value[place] for place in places] if is_list else value[places]
        return type(self)(**kept)

    def renumbered(self, places: NDArray[np.intp]) -> Self:
        """Return the atoms for rows that have some columns of X alone, column j at ``places[j]``.

        The place of a column that is not there is -1; no atom reads it.
        """
        if not hasattr(self, "kind"):
            raise TypeError(
                f"Features of the type {type(self).__name__} read X as it was given: those of the "
                "pools of shareboost can be computed from fewer columns."
            )
        fields = {name: getattr(self, name) for name in self.declared()}
        for name in self._fields_of_columns():
            fields[name] = np.where(fields[name] < 0, -1, places[fields[name]])
        return type(self)(**fields)


@cache
def _declared(kind: Any) -> dict[str, Any]:
    """Return how each field of a dataclass is stored, by its name."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in fields(kind)}


def one_each(columns: NDArray[np.intp], n_columns_in: int) -> sp.csr_array:
    """Return ``reads`` of atoms that read one column each."""
    n = columns.size
    entries = np.ones(n, dtype=bool), columns, np.arange(n + 1)
    return sp.csr_array(entries, shape=(n, n_columns_in))
