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
    check_classes,
    check_labels,
    check_weighted_classes,
    checked_weights,
    class_weights,
)
from .. import Backend
from . import worker
from .blocks import Blocks, aligned, by_block, check_columns
from .executor import BlockTasks, DaskExecutor, TensorsTravel
from .rows import DaskRows, dask_rows
from .worker import BlockPreparer, BlockSummary, Vector

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
    device: Any
    some: tuple[NDArray[np.intp] | None, ...]  # of each block; None: those of positive weight
    in_memory: BlockTasks | None = None  # ``samples``, where the workers hold them

    @property
    def by_label(self) -> list[NDArray[Any]]:
        """The labels of every block, and the sum and the largest of the weights of each."""
        values = [(one.labels, one.weights, one.largest) for one in self.summaries]
        return list(map(np.concatenate, zip(*values, strict=True)))

    @property
    def weighted(self) -> DaskDataset:
        """The rows of positive weight, in the blocks that have any."""
        weights = [self.prepare.encoded(one.labels, one.largest)[1] for one in self.summaries]
        return self._only([i for i, of_block in enumerate(weights) if of_block.any()])

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
        return self.in_memory or self.executor.map("rows", makes, self.X.keys, self.X.graph)

    def release(self) -> None:
        """Have the workers forget what they hold."""
        self.executor.release()

    def split(self, fraction: float, random_state: Any) -> tuple[DaskDataset, DaskDataset]:
        """Return the rows to train on and that fraction of every class, held out.

        The same rows as in a local fit: their labels, a byte or two per row, come here for it.
        Those held out have their own weights, without those of their classes.
        """
        beside = [keys[1:] for keys in self.X.keys]
        tasks = self.executor.map("labels", self.prepare.labels, beside, self.X.graph)
        rows, labels = zip(*tasks.computed(), strict=True)
        lengths = list(map(len, rows))

        def taken(numbers: NDArray[np.intp]) -> DaskDataset:
            places = zip(rows, by_block(numbers, lengths), strict=True)
            some = tuple(of_block[place] for of_block, place in places)
            return replace(self, some=some)._only([i for i, one in enumerate(some) if one.size])

        train, held_out = held_out_rows(np.concatenate(labels), fraction, random_state)
        unbalanced = replace(self.prepare, factors=np.ones_like(self.prepare.factors), top=1.0)
        return taken(train), replace(taken(held_out), prepare=replace(unbalanced, limit=0.0))

    def _only(self, blocks: Sequence[int]) -> DaskDataset:
        """Return the rows of some blocks."""
        X = self.X._replace(keys=[self.X.keys[i] for i in blocks])
        summaries = tuple(self.summaries[i] for i in blocks)
        return replace(self, X=X, summaries=summaries, some=tuple(self.some[i] for i in blocks))

    def fitted(self, pool: Pool, backend: Backend, centred: bool) -> DaskDataset:
        """Fit the pool to the rows; return them, held where they can be."""
        try:
            dataset = replace(self, in_memory=self.executor.hold(self.samples, self.n_bytes))
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
        self.sparse = dataset.summaries[0].kind == "sparse"

    def ask(self, question: Any, merge: Any, what: str) -> Any:
        tasks = self._dataset.samples.map(what.replace(" ", "-"), partial(_answer, question))
        (total,) = track(map(tasks.merged, [merge]), what, 1)
        return total

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Vector]:
        takes = [partial(_some, some) for some in by_block(rows, self._dataset.sizes[0])]
        X, weight = zip(*self._dataset.samples.map("sample", takes).computed(), strict=True)
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
        executor = rows.cluster.executor  # of the training rows: it releases all after the run
        make = partial(worker.held_out, dataset.device)
        tasks = dataset.samples.map("held-out", make, rows.cluster.pool_key)
        self._rows = executor.hold(tasks, dataset.n_bytes)

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
    dataset = _dataset(checked, X, y, sample_weight, allows_nan)
    prepare, classes = dataset.prepare, dataset.prepare.classes
    labels, sums, largest = dataset.by_label
    index, weights = prepare.encoded(labels, largest)
    if checked.class_weight is not None:
        factors = class_weights(checked.class_weight, classes, index, sums)
        prepare = replace(prepare, factors=factors, top=float((weights * factors[index]).max()))
    dataset = replace(dataset, prepare=replace(prepare, limit=SMALLEST_WEIGHT))
    _, weights = dataset.prepare.encoded(labels, largest)
    check_weighted_classes(classes, np.unique(index[weights > 0]))
    return CheckedSample(checked, classes, _check_feature_names_in(checked), dataset)


def evaluation_sample(
    checked: Any, eval_set: Sequence[Any], classes: NDArray[Any], allows_nan: bool
) -> DaskDataset:
    """Return held-out rows, checked against the training data."""
    X, y, *weights = eval_set
    try:
        check_columns(checked, X)
        dataset = _dataset(checked, X, y, weights[0] if weights else None, allows_nan, classes)
    except ValueError as error:
        raise ValueError(f"eval_set is not valid: {error}") from None
    if unknown := sorted(set(dataset.by_label[0].tolist()) - set(classes.tolist()), key=str):
        raise ValueError(
            f"eval_set has the label {unknown[0]!r}, which y does not hold: it takes the labels "
            f"{classes.tolist()}."
        )
    return dataset.weighted


def _dataset(
    checked: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    allows_nan: bool,
    classes: NDArray[Any] | None = None,
) -> DaskDataset:
    """Return the rows with the weights that were given; raise for what cannot be trained on."""
    executor = DaskExecutor()
    if backend_name(X._meta) == "torch":
        executor.client.register_plugin(TensorsTravel())
    blocks = aligned(X, y, sample_weight)
    light = type(checked)()  # which knows the columns and nothing else
    for name in vars(checked).keys() & {"n_features_in_", "feature_names_in_"}:
        setattr(light, name, getattr(checked, name))
    summarise = partial(worker.summarised, light, "allow-nan" if allows_nan else True)
    summaries = executor.map("check", summarise, blocks.keys, blocks.graph).computed()
    for one in summaries:
        if isinstance(one, Exception):
            raise one
    keys = [keys for keys, one in zip(blocks.keys, summaries, strict=True) if one.n_rows]
    summaries = [one for one in summaries if one.n_rows]
    if not summaries:
        raise ValueError("X has no rows: it takes at least one row of each of 2 classes.")
    if len(kinds := {one.kind for one in summaries}) > 1:
        raise ValueError(
            f"X has blocks of unlike kinds, {' and '.join(sorted(kinds))}: it takes blocks of one."
        )
    classes = _classes(summaries) if classes is None else classes
    dtype = np.result_type(*(one.dtype for one in summaries))
    largest = np.concatenate([one.largest for one in summaries])
    most = float(checked_weights(largest, np.empty((largest.size, 0))).max())
    prepare = BlockPreparer(light, dtype, classes, most, np.ones(classes.size))
    some = (None,) * len(keys)
    X = blocks._replace(keys=keys)
    return DaskDataset(executor, X, tuple(summaries), prepare, checked.device, some)


def _classes(summaries: Sequence[BlockSummary]) -> NDArray[Any]:
    """Return the sorted labels of all blocks."""
    if len({one.labels.dtype.kind in "OUST" for one in summaries}) > 1:
        raise ValueError(
            "y mixes text and numbers: it takes labels that are all text or all numbers."
        )
    classes = np.unique(np.concatenate([one.labels for one in summaries]))
    # As many as there are rows, up to twice the classes: of more, scikit-learn asks nothing else.
    n_rows = sum(one.n_rows for one in summaries)
    check_labels(np.resize(classes, min(n_rows, 2 * classes.size)))
    check_classes(classes)
    return classes
