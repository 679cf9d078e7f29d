"""Input in Dask's arrays and frames: fitted by a cluster, answered by lazy arrays, in blocks."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import compute, tokenize
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    check_is_fitted,
)

from ...dataset import CheckedSample, GivenSample, row_values
from ...input_columns import columns_by_name, columns_kept, has_other_names
from ...inputs import backend_name, on_host
from ...outputs import StepWeights, of_scores
from ...pools.features import Features
from ...predictor import ANSWERS, Predictor
from ...validation import check_labels_of_one_type
from ..base import Backend
from ..input import Input
from ..numpy import NumpyBackend
from .blocks import beside, check_columns, check_table, lengths_of, some_rows, whole_rows
from .dataset import dataset_of


class DaskBackend(NumpyBackend):
    """The workers of a connected client have the rows; what is decided here is NumPy's."""

    name = "dask"


class DaskInput(Input):
    """Rows that lie in blocks; what is predicted of them is lazy."""

    fits_one_by_one = True

    def backend(self, X: Any, device: Any) -> Backend:
        return DaskBackend()

    def on_host(self, values: Any) -> Any:
        if isinstance(values, da.Array) and backend_name(values._meta) == "torch":
            values = da.map_blocks(on_host, values, meta=on_host(values._meta))
        return values.compute()

    def take(self, X: Any, rows: NDArray[Any]) -> Any:
        return some_rows(X, rows)

    def taken_as(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows if rows.dtype == bool else np.sort(rows)  # they stay in their blocks

    def check_rows(self, estimator: Any, X: Any, finite: Any) -> Any:
        check_columns(estimator, X)
        return X

    def sample(
        self, checked: Any, X: Any, y: Any, sample_weight: Any, allows_nan: bool
    ) -> CheckedSample[Any]:
        check_columns(checked, X, learn=True)
        dataset = dataset_of(checked, X, y, sample_weight, allows_nan)
        names = _check_feature_names_in(checked)
        dataset = dataset.balanced(checked.class_weight)
        return CheckedSample(checked, dataset.prepare.classes, names, dataset)

    def given_sample(self, checked: Any, X: Any, y: Any, sample_weight: Any) -> GivenSample:
        y, sample_weight = on_host(y), on_host(sample_weight)
        check_labels_of_one_type(y)
        check_columns(checked, X, learn=True)
        if isinstance(X, da.Array) and math.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        return GivenSample(X, *row_values(y, sample_weight, sum(lengths_of(X))))

    def evaluation_sample(
        self, checked: Any, eval_set: Any, classes: NDArray[Any], finite: Any, backend: Backend
    ) -> Any:
        if not isinstance(backend, DaskBackend):
            raise ValueError(
                "eval_set is Dask's, and X is not: give both in arrays of one kind, or compute it."
            )
        X, y, *weights = eval_set
        weight, allows_nan = weights[0] if weights else None, finite == "allow-nan"
        try:
            check_columns(checked, X)
            dataset = dataset_of(checked, X, y, weight, allows_nan, classes)
        except ValueError as error:
            raise ValueError(f"eval_set is not valid: {error}") from None
        if unknown := sorted(set(dataset.by_label[0].tolist()) - set(classes.tolist()), key=str):
            raise ValueError(
                f"eval_set has the label {unknown[0]!r}, which y does not hold: it takes the "
                f"labels {classes.tolist()}."
            )
        return dataset.weighted

    def answered(self, clf: Predictor, asked: str, X: Any) -> da.Array:
        """Return an answer as a lazy array, with the row chunks of X; the columns are checked.

        Answers are NumPy's, or SciPy's where ``transform`` gives such, of tensors too: Dask cannot
        join those.
        """
        # scikit-learn would compute lazy columns to put them into a frame.
        kind = _get_output_config("transform", clf)["dense"]
        if asked == "transform" and kind != "default":
            raise ValueError(
                f"transform of Dask's rows is lazy, and the output {kind!r} of set_output or "
                'set_config would compute it: set it to "default".'
            )
        features = clf.path_.features if asked == "staged-columns" else clf._model().features
        check_table(X)
        if some := has_other_names(clf, X._meta):  # the columns that are read are enough
            columns = columns_kept(features, clf.n_features_in_)
            columns_by_name(clf, X._meta, columns)  # raises for those that are missing
            X = X[clf.feature_names_in_[columns].tolist()]
        else:
            check_columns(clf, X)
        light = _light(clf, features)
        empty = _empty(light, asked, X._meta)
        _check_feature_names(light, X._meta, reset=True)  # a warning is given once, not by blocks
        if some:
            light.feature_names_in_ = clf.feature_names_in_
        model = _sent("model", partial(_block_answer, light, asked, empty))
        if isinstance(X, da.Array):
            return _of_blocks(model, whole_rows(X), empty, asked)
        frame = X.optimize()
        chunks = ((math.nan,) * frame.npartitions,)
        partitions = da.Array(frame.__dask_graph__(), frame._name, chunks, meta=np.empty(0))
        return _of_blocks(model, partitions, empty, asked)

    def staged(self, clf: Predictor, asked: str, X: Any) -> Iterator[Any]:
        check_is_fitted(clf)
        # The answers are made of one array: computed together, they read X once.
        columns = self.answered(clf, "staged-columns", X)
        if asked == "scores":
            columns = columns.persist()
        empty = of_scores(asked, np.empty((0, clf.classes_.size)), clf.classes_)
        for weights in clf._staged_weights():
            step = _sent("step", partial(_step_answer, weights, clf.classes_, asked))
            lazy = _of_blocks(step, columns, empty, f"staged-{asked}")
            yield lazy.compute() if asked == "scores" else lazy

    def accuracy(self, predicted: Any, y: Any, sample_weight: Any) -> float:
        given = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
        lazy = all(backend_name(values) == "dask" for values in given.values())
        if not lazy and np.isnan(predicted.shape[0]):
            # Nobody knows which of the labels belong to a block before it is predicted.
            sums = [right_and_total(*compute(predicted, *given.values()))]
        else:
            columns = [predicted, *(beside(predicted, given[name], name) for name in given)]
            blocks = [np.ravel(column.to_delayed(optimize_graph=False)) for column in columns]
            sums = compute(*map(delayed(right_and_total, pure=True), *blocks))
        right, weight = map(math.fsum, zip(*sums, strict=True))
        if weight == 0:
            raise ValueError(
                "score takes at least one row of positive weight: there are no rows, or "
                "sample_weight is zero for all of them."
            )
        return right / weight


INPUT = DaskInput()


class _Chosen(NamedTuple):
    """All of a path that an answer reads: features, here those that are in use and no others."""

    features: Features

    def places(self, atoms: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where the atoms, which are all, and their columns are: in their order."""
        return np.arange(self.features.ids.size), np.arange(self.features.n_columns)


def _light(clf: Predictor, features: Features) -> Predictor:
    """Return a copy for answers alone, which knows the number of columns and no names."""
    light = copy.copy(clf)
    # What a parameter holds is read of the pool's alone, and some hold as much as rows.
    parameters = {
        name: value if isinstance(value, (str, int, float)) or name == "pool" else None
        for name, value in clf.get_params(deep=False).items()
    }
    names = ("n_features_in_", "classes_", "weights_", "_intercepts_", "selected_")
    fitted = {name: getattr(clf, name) for name in names}
    light.__dict__ = {**parameters, **fitted, "path_": _Chosen(features)}
    return light


def _empty(light: Predictor, asked: str, meta: Any) -> Any:
    """Return the answer to no rows of X's kind: its shape, type and kind are those of a block's."""
    meta = on_host(meta)
    types = list(meta.dtypes) if hasattr(meta, "dtypes") else [meta.dtype]
    numbers = all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in types)
    new = type(meta) if sp.issparse(meta) else np.zeros
    row = new((1, light.n_features_in_), dtype=np.result_type(*types) if numbers else np.float64)
    return on_host(ANSWERS[asked](light, row))[:0]


def _sent(what: str, value: Any) -> Any:
    """Return a value as one node of a graph, which tasks refer to."""
    return delayed(value, name=f"shareboost-{what}-{tokenize(value)}", traverse=False)


def _of_blocks(function: Any, X: da.Array, empty: Any, asked: str) -> da.Array:
    """Return what a function that was sent makes of blocks of whole rows, as an array."""
    index = "ikl"[: empty.ndim]
    columns = dict(zip(index[1:], empty.shape[1:], strict=True))
    # Dask would copy a block to join it with no other, and can join no tensors: it gives a list.
    how = {"new_axes": columns, "concatenate": False, "meta": empty}
    rows = "ij"[: X.ndim]
    return da.blockwise(
        _of_block, index, X, rows, function, None, token=f"shareboost-{asked}", **how
    )


def _of_block(block: Any, function: Any) -> Any:
    return function(block[0] if isinstance(block, list) else block)


def _block_answer(model: Predictor, asked: str, empty: Any, block: Any) -> Any:
    """Return the answer to a block, by the code for rows that are not Dask's, as declared."""
    if not block.shape[0]:  # which scikit-learn refuses
        return empty
    answer = on_host(ANSWERS[asked](model, block))
    if sp.issparse(answer) and not sp.issparse(empty):
        answer = answer.toarray()
    # Where X is declared as integers and is none, its columns stay what they are.
    fits = np.can_cast(answer.dtype, empty.dtype, "same_kind")
    return answer.astype(empty.dtype, copy=False) if fits else answer


def _step_answer(
    weights: StepWeights, classes: NDArray[Any], asked: str, columns: NDArray[np.float64]
) -> NDArray[Any]:
    """Return the answer of one model of the path to a block of columns."""
    return of_scores(asked, weights.scores(columns), classes)


def right_and_total(predicted: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
    """Return the weight of the rows of a block whose label is the predicted one, and of all."""
    y, weight = on_host(y), on_host(sample_weight)
    weight = np.ones(len(predicted)) if weight is None else weight
    if len(y) == len(predicted) and not np.any(weight):  # which scikit-learn refuses
        return 0.0, 0.0
    right = accuracy_score(y, predicted, sample_weight=weight, normalize=False)
    return float(right), float(np.sum(weight))
