"""What a fitted classifier answers to Dask's rows: lazy arrays, and their accuracy, by blocks."""

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
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from ...input_columns import columns_by_name, columns_kept, has_other_names
from ...inputs import backend_name, on_host
from ...outputs import StepWeights, decision, of_scores
from ...pools.features import Features
from ...predictor import ANSWERS, Predictor
from .blocks import beside, check_columns, check_table, whole_rows

PLAIN = (str, int, float, type(None))


class _Chosen(NamedTuple):
    """All of a path that an answer reads: features, here those that are in use and no others."""

    features: Features

    def places(self, atoms: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where the atoms, which are all, and their columns are: in their order."""
        return np.arange(self.features.ids.size), np.arange(self.features.n_columns)


def answered(clf: Predictor, asked: str, X: Any) -> da.Array:
    """Return an answer to rows of Dask as a lazy array, with the row chunks of X.

    Number and names of columns are checked at once, all else in the blocks. Answers are NumPy's,
    or SciPy's where ``transform`` gives such, of tensors too: Dask cannot join those.
    """
    check_is_fitted(clf)
    # scikit-learn would compute lazy columns to put them into a frame.
    kind = _get_output_config("transform", clf)["dense"]
    if asked == "transform" and kind != "default":
        raise ValueError(
            f"transform of Dask's rows is lazy, and the output {kind!r} of set_output or "
            'set_config would compute it: set it to "default".'
        )
    features = clf.path_.features if asked == "staged-columns" else clf._model().features
    X = _columns_of(clf, features, X)
    light = _light(clf, features)
    empty = _empty(light, asked, X._meta)
    _check_feature_names(light, X._meta, reset=True)  # a warning is given once, not by blocks
    if has_other_names(clf, X._meta):
        light.feature_names_in_ = clf.feature_names_in_
    model = _sent("model", partial(_block_answer, light, asked, empty))
    if isinstance(X, da.Array):
        return _of_blocks(model, whole_rows(X), empty, asked)
    return _of_partitions(model, X, empty, asked)


def _columns_of(clf: Predictor, features: Features, X: Any) -> Any:
    """Return checked rows: of a frame with other columns than the fit's those that are read."""
    check_table(X)
    if not has_other_names(clf, X._meta):
        check_columns(clf, X)
        return X
    columns = columns_kept(features, clf.n_features_in_)
    columns_by_name(clf, X._meta, columns)  # raises for those that are missing
    return X[clf.feature_names_in_[columns].tolist()]


def _of_blocks(function: Any, X: da.Array, empty: Any, asked: str) -> da.Array:
    """Return what a function that was sent makes of blocks of whole rows, as an array."""
    index = "ikl"[: empty.ndim]
    columns = dict(zip(index[1:], empty.shape[1:], strict=True))
    # Dask would copy a block to join it with no other, and can join no tensors: it gives a list.
    how = {"new_axes": columns, "concatenate": False, "meta": empty}
    return da.blockwise(
        _of_block, index, X, "ij", function, None, token=f"shareboost-{asked}", **how
    )


def _of_block(block: Any, function: Any) -> Any:
    return function(block[0] if isinstance(block, list) else block)


def _of_partitions(function: Any, X: Any, empty: Any, asked: str) -> da.Array:
    """Return what a function that was sent makes of the partitions of a frame, as an array.

    Dask's own ``map_partitions`` names the tasks after all that they are fused with.
    """
    frame = X.optimize()
    name = f"shareboost-{asked}-{tokenize(frame, function)}"
    ends = (0,) * (empty.ndim - 1)
    blocks = range(frame.npartitions)
    tasks: dict[Any, Any] = {
        (name, i, *ends): (_of_block, (frame._name, i), function.key) for i in blocks
    }
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[frame, function])
    chunks = ((np.nan,) * len(blocks), *((size,) for size in empty.shape[1:]))
    return da.Array(graph, name, chunks, meta=empty)


def staged(clf: Predictor, asked: str, X: Any) -> Iterator[Any]:
    """Yield "decisions", "predict" or "scores" of every model of the path, the scores computed.

    The columns of all atoms are one array, of which each answer is made: computed together, they
    read X once. For scores these columns stay on the cluster.
    """
    columns = answered(clf, "staged-columns", X)
    if asked == "scores":
        columns = columns.persist()
    scores = np.empty((0, clf.classes_.size))
    empty = {"predict": clf.classes_[:0], "decisions": decision(scores), "scores": scores}[asked]
    for weights in clf._staged_weights():
        step = _sent("step", partial(_step_answer, weights, clf.classes_, asked))
        lazy = _of_blocks(step, columns, empty, f"staged-{asked}")
        yield lazy.compute() if asked == "scores" else lazy


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


def _light(clf: Predictor, features: Features) -> Predictor:
    """Return a copy for answers alone, which knows the number of columns and no names."""
    light = copy.copy(clf)
    # What a parameter holds is read of the pool's alone, and some hold as much as rows.
    parameters = {
        name: value if isinstance(value, PLAIN) or name == "pool" else None
        for name, value in clf.get_params(deep=False).items()
    }
    names = ("n_features_in_", "classes_", "weights_", "_intercepts_", "selected_")
    fitted = {name: getattr(clf, name) for name in names}
    light.__dict__ = {**parameters, **fitted, "path_": _Chosen(features)}
    return light


def _sent(what: str, value: Any) -> Any:
    """Return a value as one node of a graph, which tasks refer to."""
    return delayed(value, name=f"shareboost-{what}-{tokenize(value)}", traverse=False)


def _empty(light: Predictor, asked: str, meta: Any) -> Any:
    """Return the answer to no rows of X's kind: its shape, type and kind are those of a block's."""
    meta = on_host(meta)
    types = list(meta.dtypes) if hasattr(meta, "dtypes") else [meta.dtype]
    numbers = all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in types)
    new = type(meta) if sp.issparse(meta) else np.zeros
    row = new((1, light.n_features_in_), dtype=np.result_type(*types) if numbers else np.float64)
    return on_host(ANSWERS[asked](light, row))[:0]


def accuracy(predicted: da.Array, y: Any, sample_weight: Any = None) -> float:
    """Return the weighted share of rows whose label is the predicted one.

    Labels and weights may lie in blocks of their own, or in NumPy's arrays. Of every block two
    sums come back, and nothing else.
    """
    values = {"y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    here = not all(backend_name(value) == "dask" for value in values.values())
    if here and np.isnan(predicted.shape[0]):
        # Nobody knows which of the labels belong to a block before it is predicted.
        sums = [_sums(*compute(predicted, *values.values()))]
    else:
        columns = [predicted, *(beside(predicted, value, name) for name, value in values.items())]
        blocks = [np.ravel(column.to_delayed(optimize_graph=False)) for column in columns]
        token = tokenize(*columns)
        sums = compute(
            *(
                delayed(_sums)(*parts, dask_key_name=f"shareboost-score-{token}-{i}")
                for i, parts in enumerate(zip(*blocks, strict=True))
            )
        )
    right, weight = map(math.fsum, zip(*sums, strict=True))
    if weight == 0:
        raise ValueError(
            "score takes at least one row of positive weight: there are no rows, or sample_weight "
            "is zero for all of them."
        )
    return right / weight


def _sums(predicted: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
    """Return the weight of the rows of a block whose label is the predicted one, and of all."""
    y, weight = on_host(y), on_host(sample_weight)
    weight = np.ones(len(predicted)) if weight is None else weight
    if len(y) == len(predicted) and not np.any(weight):  # which scikit-learn refuses
        return 0.0, 0.0
    right = accuracy_score(y, predicted, sample_weight=weight, normalize=False)
    return float(right), float(np.sum(weight))
