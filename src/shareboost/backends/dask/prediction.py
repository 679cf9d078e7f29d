"""What a fitted classifier answers to Dask's rows: lazy arrays, block by block."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import tokenize
from dask.delayed import delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from ...input_columns import columns_by_name, columns_kept, has_other_names
from ...inputs import on_host
from ...outputs import StepWeights, decision, of_scores
from ...pools.features import Features
from ...predictor import ANSWERS, Predictor
from .tables import check_columns, check_table, whole_rows

PLAIN = (str, int, float, type(None))


class _Chosen(NamedTuple):
    """All of a path that an answer reads: features, here those that are in use and no others."""

    features: Features

    def places(self, atoms: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where the atoms, which are all, and their columns are: in their order."""
        return np.arange(self.features.ids.size), np.arange(self.features.n_columns)


class _Step(NamedTuple):
    """A model of the path as it is sent."""

    weights: StepWeights
    classes: NDArray[Any]


def answered(clf: Predictor, asked: str, X: Any) -> da.Array:
    """Return an answer to rows of Dask as a lazy array, with the row chunks of X.

    Number and names of columns are checked at once, all else in the blocks. Answers are NumPy's,
    or SciPy's where ``transform`` gives such, of tensors too: Dask cannot join those.
    """
    check_is_fitted(clf)
    if asked == "transform":
        _check_output(clf)
    features = clf.path_.features if asked == "staged-columns" else clf._model().features
    X = _columns_of(clf, features, X)
    model = _sent("model", _light(clf, features, X))
    empty = _empty(clf, asked, X)
    answer = partial(_block_answer, asked=asked, empty=empty)
    token = f"shareboost-{asked}"
    if not isinstance(X, da.Array):
        return _of_partitions(answer, X, model, empty, token)
    return _of_blocks(answer, whole_rows(X), model, empty, token)


def _columns_of(clf: Predictor, features: Features, X: Any) -> Any:
    """Return checked rows: of a frame with other columns than the fit's those that are read."""
    check_table(X)
    if not has_other_names(clf, X._meta):
        check_columns(clf, X)
        return X
    columns = columns_kept(features, clf.n_features_in_)
    columns_by_name(clf, X._meta, columns)  # raises for those that are missing
    return X[clf.feature_names_in_[columns].tolist()]


def _of_blocks(answer: Any, X: da.Array, model: Any, empty: Any, token: str) -> da.Array:
    """Return the answers to blocks of whole rows as an array."""
    index = "ikl"[: empty.ndim]
    columns = dict(zip(index[1:], empty.shape[1:], strict=True))
    # Dask would copy a block to join it with no other, and can join no tensors: it gives a list.
    how = {"new_axes": columns, "concatenate": False, "meta": empty, "token": token}
    return da.blockwise(_of_one, index, X, "ij", model, None, answer=answer, **how)


def _of_one(blocks: list[Any], model: Any, answer: Any) -> Any:
    (block,) = blocks
    return answer(block, model)


def _of_partitions(answer: Any, X: Any, model: Any, empty: Any, token: str) -> da.Array:
    """Return the answers to the partitions of a frame as an array.

    Its own ``map_partitions`` names the tasks after all that they are fused with.
    """
    frame = X.optimize()
    name = f"{token}-{tokenize(answer, frame, model)}"
    ends = (0,) * (empty.ndim - 1)
    blocks = range(frame.npartitions)
    tasks: dict[Any, Any] = {
        (name, i, *ends): (answer, (frame._name, i), model.key) for i in blocks
    }
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[frame, model])
    chunks = ((np.nan,) * len(blocks), *((size,) for size in empty.shape[1:]))
    return da.Array(graph, name, chunks, meta=empty)


def staged_answers(clf: Predictor, asked: str, X: Any) -> Iterator[da.Array]:
    """Yield the lazy answers of every model of the path: "decisions", "predict" or "scores".

    The columns of all atoms are one array, of which each is made: computed together, they read
    X once.
    """
    return _of_columns(clf, asked, answered(clf, "staged-columns", X))


def staged_scores(clf: Predictor, X: Any) -> Iterator[NDArray[np.float64]]:
    """Yield the scores of every model of the path, computed, (n_samples, n_classes).

    The columns of all atoms stay on the cluster, and X is read once.
    """
    columns = answered(clf, "staged-columns", X).persist()
    yield from (scores.compute() for scores in _of_columns(clf, "scores", columns))


def _of_columns(clf: Predictor, asked: str, columns: da.Array) -> Iterator[da.Array]:
    """Yield an answer for every model of the path, from the columns of all atoms."""
    scores = np.empty((0, clf.classes_.size))
    empty = {"predict": clf.classes_[:0], "decisions": decision(scores), "scores": scores}[asked]
    for weights in clf._staged_weights():
        step = _sent("step", _Step(weights, clf.classes_))
        token = f"shareboost-staged-{asked}"
        yield _of_blocks(partial(_block_step, asked=asked), columns, step, empty, token)


def _block_answer(block: Any, model: Predictor, asked: str, empty: Any) -> Any:
    """Return the answer to a block, by the code for rows that are not Dask's, as declared."""
    if not block.shape[0]:  # which scikit-learn refuses
        return empty
    found = on_host(ANSWERS[asked](model, block))
    if sp.issparse(found) and not sp.issparse(empty):
        found = found.toarray()
    # Where X is declared as integers and is none, its columns stay what they are.
    fits = np.can_cast(found.dtype, empty.dtype, "same_kind")
    return found.astype(empty.dtype, copy=False) if fits else found


def _block_step(columns: NDArray[np.float64], step: _Step, asked: str) -> NDArray[Any]:
    """Return the answer of one model of the path to a block of columns."""
    return of_scores(asked, step.weights.scores(columns), step.classes)


def _check_output(clf: Predictor) -> None:
    """Raise where scikit-learn would compute the lazy columns to put them into a frame."""
    kind = _get_output_config("transform", clf)["dense"]
    if kind != "default":
        raise ValueError(
            f"transform of Dask's rows is lazy, and the output {kind!r} of set_output or "
            'set_config would compute it: set it to "default".'
        )


def _light(clf: Predictor, features: Features, X: Any) -> Predictor:
    """Return a copy for answers alone, which knows the columns of X by the names that X has."""
    light = copy.copy(clf)
    # What a parameter holds is read of the pool's alone, and some hold as much as rows.
    parameters = {
        name: value if isinstance(value, PLAIN) or name == "pool" else None
        for name, value in clf.get_params(deep=False).items()
    }
    light.__dict__ = {
        **parameters,
        "n_features_in_": clf.n_features_in_,
        "classes_": clf.classes_,
        "weights_": clf.weights_,
        "_intercepts_": clf._intercepts_,
        "selected_": clf.selected_,
        "path_": _Chosen(features),
    }
    _check_feature_names(light, X._meta, reset=True)  # a warning is given once, not by blocks
    if has_other_names(clf, X._meta):
        light.feature_names_in_ = clf.feature_names_in_
    return light


def _sent(what: str, value: Any) -> Any:
    """Return a value as one node of a graph, which tasks refer to."""
    return delayed(value, name=f"shareboost-{what}-{tokenize(value)}", traverse=False)


def _empty(clf: Predictor, asked: str, X: Any) -> Any:
    """Return the answer to no rows at all: its shape, type and kind are those of a block's."""
    if asked == "predict":
        return clf.classes_[:0]
    if asked == "transform":
        return clf._features_out().columns(_no_rows(X, clf.n_features_in_))
    if asked == "staged-columns":
        return np.empty((0, clf.path_.features.n_columns))
    if asked == "explain":
        return decision(np.empty((0, clf.classes_.size, clf.selected_.size)))
    scores = np.empty((0, clf.classes_.size))
    return decision(scores) if asked == "decisions" else scores


def _no_rows(X: Any, n_columns: int) -> Any:
    """Return no rows of the kind and type that those of X are, once they are checked."""
    shape = (0, n_columns)
    if not isinstance(X, da.Array):
        types = list(X._meta.dtypes)
        numbers = all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in types)
        return np.empty(shape, np.result_type(*types) if numbers else np.float64)
    meta = on_host(X._meta)
    dtype = meta.dtype if meta.dtype.kind in "biuf" else np.float64
    if sp.issparse(meta):
        # Any format but compressed columns is read as compressed rows.
        array = isinstance(meta, sp.sparray)
        form = "csc" if meta.format == "csc" else "csr"
        return getattr(sp, f"{form}_{'array' if array else 'matrix'}")(shape, dtype=dtype)
    return np.empty(shape, dtype)
