"""Training and held-out rows on a cluster: checked, in blocks, and all that a fit asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names_in

from ...dataset import CheckedSample, Sample, held_out_rows
from ...identity import digest
from ...inputs import backend_name, on_host
from ...pools.base import Pool
from ...pools.table import Table
from ...progress import track
from ...rows import Rows
from ...validation import (
    ClassWeight,
    check_classes,
    check_labels,
    check_weighted_classes,
    class_weights,
)
from .. import Backend
from . import worker
from .blocks import Blocks, aligned, by_block, check_columns
from .executor import BlockTasks, DaskExecutor, TensorsTravel
from .rows import DaskRows, dask_rows
from .worker import BlockPreparer, BlockSummary, SomeRows

Vector = NDArray[np.float64]

SMALLEST_WEIGHT = float(np.finfo(np.float32).tiny)  # of the largest, 1


@dataclass(frozen=True)
class DaskDataset:
    """Rows in blocks on the workers; in a fit it takes the part of ``Sample``.

    Where the rows take a small part of the workers' memory they are made once and held there;
    else every pass over them makes them anew.
    """

    executor: DaskExecutor
    X: Blocks  # the rows as they were given, with labels and weights
    summaries: tuple[BlockSummary, ...]
    prepare: BlockPreparer
    unbalanced: BlockPreparer  # with the rows' own weights, without those of their classes
    device: Any
    some: tuple[SomeRows, ...]  # of each block
    held: BlockTasks | None = None  # ``samples``, where the workers hold them

    @property
    def weighted(self) -> DaskDataset:
        """The rows of positive weight: there are no others."""
        return self

    @property
    def weight_unit(self) -> float:
        """What a weight of 1 stands for."""
        return self.prepare.most * self.prepare.top

    @property
    def n_bytes(self) -> int:
        """About what the rows take."""
        item = self.prepare.dtype.itemsize
        return sum(one.n_bytes * item // one.dtype.itemsize for one in self.summaries)

    @cached_property
    def sizes(self) -> tuple[tuple[int, ...], float]:
        """How many rows of positive weight each block has, and the sum of all weights."""
        lengths, weights = zip(*self.samples.map("sizes", _size).computed(), strict=True)
        return lengths, sum(weights)

    @property
    def n_rows(self) -> int:
        """Rows of positive weight."""
        return sum(self.sizes[0])

    @property
    def samples(self) -> BlockTasks:
        """The ``Sample`` of every block."""
        makes = [partial(self.prepare, some) for some in self.some]
        return self.held or self.executor.map("rows", makes, self.X.keys, self.X.graph)

    def release(self) -> None:
        """Have the workers forget what they hold."""
        self.executor.release()

    def split(self, fraction: float, random_state: Any) -> tuple[DaskDataset, DaskDataset]:
        """Return the rows to train on and that fraction of every class, held out.

        The same rows as in a local fit: their labels, a byte or two per row, come here for it.
        """
        beside = [keys[1:] for keys in self.X.keys]
        tasks = self.executor.map("labels", self.prepare.labels, beside, self.X.graph)
        rows, labels = zip(*tasks.computed(), strict=True)

        def taken(numbers: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
            of_blocks = by_block(numbers, list(map(len, rows)))
            return tuple(own[some] for own, some in zip(rows, of_blocks, strict=True))

        train, held_out = held_out_rows(np.concatenate(labels), fraction, random_state)
        return (
            replace(self, some=taken(train)),
            replace(self, some=taken(held_out), prepare=self.unbalanced),
        )

    def fitted(self, pool: Pool, backend: Backend, centred: bool) -> DaskDataset:
        """Fit the pool to the rows; return them, held where they can be."""
        dataset = self
        try:
            if self.executor.has_room(self.n_bytes):
                dataset = replace(self, held=self.executor.hold(self.samples))
            pool.fit(DaskTable(dataset), centred=centred)
        except BaseException:
            self.release()
            raise
        return dataset

    def rows(
        self, pool: Pool, n_classes: int, intercept: bool, backend: Backend, n: int
    ) -> DaskRows:
        """Return the rows for a run of up to n atoms of the fitted pool."""
        return dask_rows(self, pool, n_classes, intercept, n)

    def held_out(self, rows: Rows) -> DaskValidationSet:
        """Return these rows as those that a run on others is scored on."""
        return DaskValidationSet(self, rows)

    def digests(self, n_classes: int) -> dict[str, str]:
        """Return what tells whether other rows are the same, in the same blocks."""
        X, y, weight = zip(*self.samples.map("digest", _digests).computed(), strict=True)
        weights = digest((weight, self.weight_unit))
        return {"X": digest(X), "y": digest((y, n_classes)), "sample_weight": weights}


def _size(sample: Sample) -> tuple[int, float]:
    return len(sample.y), float(sample.weight.sum())


def _digests(sample: Sample) -> tuple[str, str, str]:
    return digest(on_host(sample.X)), digest(sample.y), digest(sample.weight)


class DaskTable(Table):
    """The rows of a dataset, as the fit of a pool reads them."""

    def __init__(self, dataset: DaskDataset):
        self._dataset = dataset
        self.n_rows = dataset.n_rows
        self.n_columns = int(dataset.prepare.checked.n_features_in_)
        self.dtype = dataset.prepare.dtype
        self.sparse = any(one.kind == "sparse" for one in dataset.summaries if one.n_rows)

    def ask(self, question: Any, merge: Any, what: str) -> Any:
        tasks = self._dataset.samples.map(what.replace(" ", "-"), partial(_answer, question))
        (total,) = track(map(tasks.merged, [merge]), what, 1)
        return total

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        lengths, _ = self._dataset.sizes
        takes = [partial(_some, some) for some in by_block(rows, lengths)]
        tasks = self._dataset.samples.map("sample", takes)
        X, weight = zip(*tasks.computed(), strict=True)
        joined = sp.vstack(X, format="csr") if self.sparse else np.concatenate(X)
        return joined, np.concatenate(weight)


def _answer(question: Any, sample: Sample) -> Any:
    return question(on_host(sample.X), sample.weight)


def _some(rows: NDArray[np.intp], sample: Sample) -> tuple[Any, Vector]:
    some = sample.take(rows)
    return on_host(some.X), some.weight


class DaskValidationSet:
    """Held-out rows on a cluster, in blocks, as ``ValidationSet``."""

    def __init__(self, dataset: DaskDataset, rows: Any):
        executor = rows.shards.executor  # of the training rows: it releases all after the run
        make = partial(worker.held_out, dataset.device)
        self._rows = dataset.samples.map("held-out", make, rows.shards.pool_key)
        if executor.has_room(dataset.n_bytes):
            self._rows = executor.hold(self._rows)

    def score(self, rows: Any, W: NDArray[np.float64]) -> float:
        """Return the weighted share of right answers."""
        count = partial(worker.right, rows.chosen, rows.intercept, W)
        right, total = self._rows.map("score", count).merged(worker.added)
        return float(right / total)


# Checks; most of them on the workers, in one pass.


def checked_sample(
    checked: Any, X: Any, y: Any, sample_weight: Any, allows_nan: bool
) -> CheckedSample[Any]:
    """Return the rows to fit an estimator to; ``checked`` learns the columns of X."""
    check_columns(checked, X, learn=True)
    executor = DaskExecutor()
    if backend_name(X._meta) == "torch":
        executor.client.register_plugin(TensorsTravel())
    blocks = aligned(X, y, sample_weight)
    summaries = _summaries(checked, executor, blocks, allows_nan)
    classes = _classes(summaries)
    preparers = _preparers(checked, summaries, classes, checked.class_weight)
    some = (None,) * len(summaries)
    dataset = DaskDataset(executor, blocks, summaries, *preparers, checked.device, some)
    return CheckedSample(checked, classes, _check_feature_names_in(checked), dataset)


def evaluation_sample(
    checked: Any, eval_set: Sequence[Any], classes: NDArray[Any], allows_nan: bool
) -> DaskDataset:
    """Return held-out rows, checked against the training data."""
    X, y, *weights = eval_set
    try:
        check_columns(checked, X)
        executor = DaskExecutor()
        blocks = aligned(X, y, weights[0] if weights else None)
        summaries = _summaries(checked, executor, blocks, allows_nan)
    except ValueError as error:
        raise ValueError(f"eval_set is not valid: {error}") from None
    labels = {label for one in summaries for label in one.labels.tolist()}
    if unknown := sorted(labels - set(classes.tolist()), key=str):
        raise ValueError(
            f"eval_set has the label {unknown[0]!r}, which y does not hold: it takes the labels "
            f"{classes.tolist()}."
        )
    _, prepare = _preparers(checked, summaries, classes, None)
    some = (None,) * len(summaries)
    return DaskDataset(executor, blocks, summaries, prepare, prepare, checked.device, some)


def _summaries(
    checked: Any, executor: DaskExecutor, blocks: Blocks, allows_nan: bool
) -> tuple[BlockSummary, ...]:
    """Return what the blocks hold; raise for what cannot be trained on."""
    summarise = partial(worker.summarised, _light(checked), "allow-nan" if allows_nan else True)
    found = executor.map("check", summarise, blocks.keys, blocks.graph).computed()
    for one in found:
        if isinstance(one, Exception):
            raise one
    kinds = {one.kind for one in found if one.n_rows}
    if not kinds:
        raise ValueError("X has no rows: it takes at least one row of each of 2 classes.")
    if len(kinds) > 1:
        raise ValueError(
            f"X has blocks of unlike kinds, {' and '.join(sorted(kinds))}: it takes blocks of one."
        )
    return tuple(found)


def _light(checked: Any) -> Any:
    """Return an estimator that knows the columns and nothing else."""
    light = type(checked)()
    known = ("n_features_in_", "feature_names_in_")
    vars(light).update({name: value for name, value in vars(checked).items() if name in known})
    return light


def _classes(summaries: Sequence[BlockSummary]) -> NDArray[Any]:
    """Return the sorted labels of all blocks."""
    labels = [one.labels for one in summaries if one.n_rows]
    if len({of_block.dtype.kind in "OUST" for of_block in labels}) > 1:
        raise ValueError(
            "y mixes text and numbers: it takes labels that are all text or all numbers."
        )
    classes = np.unique(np.concatenate(labels))
    # As many as there are rows, up to twice the classes: of more, scikit-learn asks nothing else.
    n_rows = sum(one.n_rows for one in summaries)
    check_labels(np.resize(classes, min(n_rows, 2 * classes.size)))
    check_classes(classes)
    return classes


def _preparers(
    checked: Any,
    summaries: Sequence[BlockSummary],
    classes: NDArray[Any],
    class_weight: ClassWeight,
) -> tuple[BlockPreparer, BlockPreparer]:
    """Return how blocks become rows, with the weights of classes and without."""
    k = classes.size
    sums, largest = np.zeros(k), np.zeros(k)
    for one in summaries:
        place = np.searchsorted(classes, one.labels)
        sums[place] += one.weights
        largest[place] = np.maximum(largest[place], one.largest)
    most = float(largest.max())
    if not most > 0:
        raise ValueError(
            "sample_weight is zero for every row: at least one row must have a positive weight."
        )
    dtype = np.result_type(*(one.dtype for one in summaries if one.n_rows))
    unbalanced = BlockPreparer(_light(checked), dtype, classes, most, np.ones(k), 1.0, 0.0)
    prepare = replace(unbalanced, limit=SMALLEST_WEIGHT)
    if class_weight is not None:
        factors = class_weights(class_weight, classes, np.arange(k), sums / sums.max())
        prepare = replace(prepare, factors=factors, top=float((largest / most * factors).max()))
    weights = prepare.scaled(largest, np.arange(k))
    check_weighted_classes(classes, np.flatnonzero(weights >= SMALLEST_WEIGHT))
    return prepare, unbalanced
