"""Groups of columns as candidates, each chosen whole, section 3.2 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..validation import one_of
from .base import Atoms, Floats, Sums
from .columns import ColumnFeatures, Columns
from .features import INPUTS, Integers, Labels
from .table import Table

SCORES = ("sum", "mean")


@dataclass(frozen=True)
class GroupFeatures(ColumnFeatures):
    """Chosen groups: the columns of X in each."""

    kind = "groups"

    ids: Annotated[NDArray[np.intp], Integers(below=INPUTS, distinct=True)]
    labels: Annotated[NDArray[Any], Labels()]  # of each group
    sizes: Annotated[NDArray[np.intp], Integers(low=1)]
    column: Annotated[  # of all groups, one group after the other
        NDArray[np.intp], Integers("columns", False, below=INPUTS, distinct=True)
    ]

    @property
    def widths(self) -> NDArray[np.intp]:
        return self.sizes

    @property
    def input_columns(self) -> NDArray[np.intp]:
        return self.column

    def inconsistency(self, n_columns_in: int) -> str | None:
        n = self.column.size
        fits = (self.sizes <= n).all() and self.n_columns == n and self.labels.size == self.ids.size
        return None if fits else "sizes, labels and columns that do not fit"

    def atom_names(self, input_names: Sequence[str]) -> list[str]:
        return [str(label) for label in self.labels]

    def reads(self, n_columns_in: int) -> sp.csr_array:
        pointers, ones = np.cumsum([0, *self.sizes]), np.ones(self.column.size, dtype=bool)
        return sp.csr_array((ones, self.column, pointers), shape=(self.ids.size, n_columns_in))

    def take(self, places: NDArray[np.intp]) -> GroupFeatures:
        members = np.split(self.column, np.cumsum(self.sizes)[:-1])
        taken = [members[place] for place in places]
        return GroupFeatures.of(self.ids[places], self.labels[places], taken)

    @classmethod
    def of(
        cls, ids: NDArray[np.intp], labels: NDArray[Any], members: list[NDArray[np.intp]]
    ) -> Self:
        """Return the groups of these columns."""
        sizes = np.array([len(columns) for columns in members], dtype=np.intp)
        return cls(ids, labels, sizes, np.concatenate([np.empty(0, dtype=np.intp), *members]))

    def renumbered(self, places: NDArray[np.intp]) -> GroupFeatures:
        """Return the groups by their place among these groups alone."""
        ids = np.searchsorted(np.sort(self.ids), self.ids)
        return GroupFeatures(ids, self.labels, self.sizes, places[self.column])


class Groups(Columns):
    """Groups of X's columns; choosing one chooses all of its columns.

    ``ShareBoostClassifier(groups=...)`` makes this pool.

    Parameters
    ----------
    groups : array-like of shape (n_columns,)
        The label of each column's group. The atoms are the groups in the order of their
        sorted labels.
    scale : {"deviation", "maxabs", "none", "bounded"}, default="deviation"
        What a column is divided by, as in ``Columns``.
    score : {"sum", "mean"}, default="sum"
        A group's score is the sum of its columns' scores (section 3.2 of the paper), or
        that sum over the number of columns.

    Notes
    -----
    A group is chosen with its constant columns. With an intercept, a group of constant columns
    alone is never chosen.
    """

    edges_: NDArray[np.intp]
    published: ClassVar[dict[str, Any]] = {"scale": "bounded", "score": "sum"}

    def __init__(self, groups: ArrayLike, scale: str = "deviation", score: str = "sum"):
        self.groups = groups
        self.scale = scale
        self.score = score

    def learn(self, table: Table, centred: bool) -> None:
        one_of("score", self.score, SCORES, "Groups")
        self.labels_, which = group_labels(self.groups, table.n_columns)
        super().learn(table, centred)
        self.order_, self.edges_ = columns_by_group(which, self.labels_.size)
        self.every_column_ = slice(0, table.n_columns)
        self.n_atoms_ = int(self.labels_.size)
        self.usable_ = np.logical_or.reduceat(self.usable_[self.order_], self.edges_[:-1])
        if self.score == "mean":
            self.divisors_ = np.diff(self.edges_).astype(np.float64)

    def parts(self, n_classes: int) -> list[slice]:
        """Return all groups at once, as their columns stand in no order of groups."""
        return [slice(0, self.n_atoms_)]

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return the statistic of all columns, in the order of X."""
        return super().stats(data, rows, self.every_column_, out, squares)

    def correlations(self, stats: Sums, part: slice) -> Sums:
        return super().correlations(stats, self.every_column_)[:, self.order_]

    def moments(self, stats: Sums, part: slice) -> tuple[Sums, Sums]:
        first, second = super().moments(stats, self.every_column_)
        return first[:, self.order_], second[:, self.order_]

    def columns(self, data: Any, atom: int) -> Floats:
        return self.gathered(data, self._members(atom))

    def scales(self, atom: int) -> NDArray[np.float64]:
        return self.scale_[self._members(atom)]

    def features(self, atoms: Atoms) -> GroupFeatures:
        ids = np.asarray(atoms, dtype=np.intp)
        return GroupFeatures.of(ids, self.labels_[ids], [self._members(atom) for atom in ids])

    def _members(self, atom: int) -> NDArray[np.intp]:
        return self.order_[slice(*self.edges_[atom : atom + 2])]


def group_labels(groups: ArrayLike, n_columns: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels of the groups, and the number of each column's group."""
    labels = np.asarray(groups)
    if labels.ndim != 1 or labels.size != n_columns:
        size = f"{labels.size} labels" if labels.ndim == 1 else f"the shape {labels.shape}"
        raise ValueError(
            f"groups has {size}, and X {n_columns} columns: it takes the label of a group for each "
            "column."
        )
    # NumPy turns numbers beside text into text, silently.
    if len({isinstance(label, str) for label in groups}) > 1:  # type: ignore[union-attr]
        raise ValueError(
            "groups mixes text and other labels: it takes labels that are all text or all numbers."
        )
    if any(label is None or label != label for label in labels.tolist()):
        raise ValueError("groups has NaN or None: it takes a label for every column.")
    unique, which = np.unique(labels, return_inverse=True)
    return unique, which.astype(np.intp)


def columns_by_group(
    which: NDArray[np.intp], n_groups: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the columns sorted by group, and where each group starts among them, and the end."""
    order = np.argsort(which, kind="stable")
    return order, np.searchsorted(which[order], np.arange(n_groups + 1))
