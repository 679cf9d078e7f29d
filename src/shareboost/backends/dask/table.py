"""Training rows on a cluster, as the fit of a pool reads them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...dataset import Sample
from ...inputs import on_host
from ...pools.table import Table
from ...progress import track
from .given_rows import by_block

if TYPE_CHECKING:
    from .dataset import SpreadSample

Vector = NDArray[np.float64]


class SpreadTable(Table):
    """The rows of a sample on a cluster, as the fit of a pool reads them."""

    def __init__(self, sample: SpreadSample):
        self._sample = sample
        self.n_rows = sample.n_rows
        self.n_columns = sample.n_columns
        self.dtype = sample.recipe.dtype
        self.sparse = sample.kind == "sparse"

    def ask(self, question: Any, merge: Any, what: str) -> Any:
        name = what.replace(" ", "-")
        graph, keys = self._sample.for_each(partial(_answer, question), name)
        (found,) = track(map(partial(self._sample.fleet.merged, graph, keys), [merge]), what, 1)
        return found

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        functions = [partial(_some, own) for own in by_block(rows, self._sample.lengths)]
        found = self._sample.fleet.each(*self._sample.tasks(functions, "sample"))
        X = [some for some, _ in found]
        weight = np.concatenate([own for _, own in found])
        return (sp.vstack(X, format="csr") if self.sparse else np.concatenate(X)), weight


def _answer(question: Any, sample: Sample) -> Any:
    return question(on_host(sample.X), sample.weight)


def _some(rows: NDArray[np.intp], sample: Sample) -> tuple[Any, Vector]:
    some = sample.take(rows)
    return on_host(some.X), some.weight
