"""Training and held-out rows on a cluster: checked, in blocks, and all that a fit asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...dataset import Sample, held_out_rows
from ...identity import digest
from ...inputs import backend_name, on_host
from ...pools.base import Pool
from ...pools.table import Table
from ...progress import track
from ...rows import Rows
from ...validation import check_weighted_classes, checked_weights, class_weights, encode_labels
from .. import Backend
from . import worker
from .blocks import aligned, by_block
from .executor import BlockTasks, DaskExecutor, Graph, TensorsTravel
from .rows import ClusterShard, DaskRows, dask_rows
from .worker import BlockPreparer, DaskBlock, Vector

SMALLEST_WEIGHT = float(np.finfo(np.float32).tiny)  # of the largest, 1


@dataclass(frozen=True)
class DaskDataset:
    """Rows in blocks on the workers; in a fit it takes the part of ``Sample``.

    Where the rows take a small part of the workers' memory they are made once and held there;
    else every pass over them makes them anew.
    """

    executor: DaskExecutor
    X: list[Any]  # rows, labels and weights as they were given
    graph: Graph
    blocks: list[DaskBlock]  # those that have rows
    prepare: BlockPreparer
    device: Any
    in_memory: BlockTasks | None = None  # ``samples``, where the workers hold them

    @property
    def by_label(self) -> list[NDArray[Any]]:
        """The labels of every block, and the sum and the largest of the weights of each."""
        values = [(block.labels, block.weights, block.largest) for block in self.blocks]
        return list(map(np.concatenate, zip(*values, strict=True)))

    @property
    def weighted(self) -> DaskDataset:
        """The rows of positive weight, in the blocks that have any."""
        encoded = self.prepare.encoded
        blocks = [block for block in self.blocks if encoded(block.labels, block.largest)[1].any()]
        return replace(self, blocks=blocks)

    @property
    def weight_unit(self) -> float:
        """What a weight of 1 stands for."""
        return self.prepare.most * self.prepare.top

    @property
    def n_bytes(self) -> int:
        """About what the rows take."""
        return sum(block.n_bytes for block in self.blocks)

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
        makes = [partial(self.prepare, block.some) for block in self.blocks]
        keys = [block.keys for block in self.blocks]
        return self.in_memory or self.executor.map("rows", makes, keys, self.graph)

    def release(self) -> None:
        """Have the workers forget what they hold."""
        self.executor.release()

    def split(self, fraction: float, random_state: Any) -> tuple[DaskDataset, DaskDataset]:
        """Return the rows to train on and that fraction of every class, held out.

        The same rows as in a local fit: their labels, a byte or two per row, come here for it.
        Those held out have their own weights, without those of their classes.
        """
        beside = [block.keys[1:] for block in self.blocks]
        tasks = self.executor.map("labels", self.prepare.labels, beside, self.graph)
        rows, labels = zip(*tasks.computed(), strict=True)
        lengths = list(map(len, rows))

        def taken(numbers: NDArray[np.intp]) -> DaskDataset:
            of_blocks = zip(self.blocks, rows, by_block(numbers, lengths), strict=True)
            blocks = [block._replace(some=of[some]) for block, of, some in of_blocks if some.size]
            return replace(self, blocks=blocks)

        train, held_out = held_out_rows(np.concatenate(labels), fraction, random_state)
        unbalanced = replace(self.prepare, factors=np.ones_like(self.prepare.factors), top=1.0)
        return taken(train), replace(taken(held_out), prepare=replace(unbalanced, limit=0.0))

    def balanced(self, class_weight: Any) -> DaskDataset:
        """Return the rows to train on, with the weights of their classes."""
        prepare, classes = self.prepare, self.prepare.classes
        labels, sums, largest = self.by_label
        index, weights = prepare.encoded(labels, largest)
        if class_weight is not None:
            factors = class_weights(class_weight, classes, index, sums)
            prepare = replace(prepare, factors=factors, top=float((weights * factors[index]).max()))
        prepare = replace(prepare, limit=SMALLEST_WEIGHT)
        _, weights = prepare.encoded(labels, largest)
        check_weighted_classes(classes, np.unique(index[weights > 0]))
        return replace(self, prepare=prepare)

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
        return dask_rows(ClusterShard(self, pool, n_classes, intercept), n)

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
        self.sparse = dataset.blocks[0].kind == "sparse"

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


def dataset_of(
    checked: Any, X: Any, y: Any, sample_weight: Any, allows_nan: bool, classes: Any = None
) -> DaskDataset:
    """Return the rows with the weights that were given; raise for what cannot be trained on."""
    executor = DaskExecutor()
    if backend_name(X._meta) == "torch":
        executor.client.register_plugin(TensorsTravel())
    given, graph, keys = aligned(X, y, sample_weight)
    light = type(checked)()  # which knows the columns and nothing else
    for name in vars(checked).keys() & {"n_features_in_", "feature_names_in_"}:
        setattr(light, name, getattr(checked, name))
    summarise = partial(worker.summarised, light, "allow-nan" if allows_nan else True)
    summaries = executor.map("check", summarise, keys, graph).computed()
    for summary in summaries:
        if isinstance(summary, Exception):
            raise summary
    pairs = zip(keys, summaries, strict=True)
    blocks = [block._replace(keys=of_block) for of_block, block in pairs if block.n_rows]
    if not blocks:
        raise ValueError("X has no rows: it takes at least one row of each of 2 classes.")
    if len(kinds := {block.kind for block in blocks}) > 1:
        raise ValueError(
            f"X has blocks of unlike kinds, {' and '.join(sorted(kinds))}: it takes blocks of one."
        )
    classes = _classes(blocks) if classes is None else classes
    dtype = np.result_type(*(block.dtype for block in blocks))
    largest = np.concatenate([block.largest for block in blocks])
    most = float(checked_weights(largest, np.empty((largest.size, 0))).max())
    prepare = BlockPreparer(light, dtype, classes, most, np.ones(classes.size))
    return DaskDataset(executor, given, graph, blocks, prepare, checked.device)


def _classes(blocks: Sequence[DaskBlock]) -> NDArray[Any]:
    """Return the sorted labels of all blocks."""
    if len({block.labels.dtype.kind in "OUST" for block in blocks}) > 1:
        raise ValueError(
            "y mixes text and numbers: it takes labels that are all text or all numbers."
        )
    classes = np.unique(np.concatenate([block.labels for block in blocks]))
    # As many as there are rows, up to twice the classes: of more, scikit-learn asks nothing else.
    n_rows = sum(block.n_rows for block in blocks)
    return encode_labels(np.resize(classes, min(n_rows, 2 * classes.size)))[0]
