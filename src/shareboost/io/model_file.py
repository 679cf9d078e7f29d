"""A fitted classifier as a model file and back. Nothing in a file is run, imported or unpickled."""

from __future__ import annotations

import json
import os
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..input_columns import NumberedNames, columns_read
from ..model import Model
from ..path import Path, PathOfOne, alone, training_of
from .features import features_from_plain, features_to_plain, schemas
from .fields import Fields, checked_text, labels_from_plain, labels_to_plain
from .files import write_whole
from .parameters import PENALTIES, POOLS, parameters_from_plain, parameters_to_plain
from .paths import path_from_plain, path_to_plain
from .text import (
    FLOATS,
    INTEGERS,
    LARGEST_FILE,
    ModelFormatError,
    array_to_plain,
    from_bytes,
    to_bytes,
)

if TYPE_CHECKING:
    from ..predictor import Predictor

KEYS = (
    *("written_by", "inputs", "classes", "groups", "features", "centers", "scales", "model"),
    *("path", "parameters", "left_out", "training"),
)
MODEL_KEYS = ("chosen", "coef", "intercept", "cost", "iterations")
TRAINING_KEYS = ("rows", "losses", "seconds", "not_converged")
INPUT_KEYS = ("number", "names")
# Only in files of models that were trained on columns of text.
LEVELS = "levels"
# Only in files of rivals; without it the classifier is a ShareBoostClassifier.
KIND = "classifier"
RIVALS = ("JointBoostClassifier", "MixedNormClassifier", "OneVsRestGreedyClassifier")

MOST_INPUTS = 1 << 24  # columns of X; a row of so many takes 128 MB
LONGEST_TOLD = 300  # characters of another's error, which may hold a whole value

# For each column of X, the column of text and the text that it is 1 for; None for numbers.
Levels = list[tuple[str, str] | None]


def level_name(column: str, level: str) -> str:
    """Return the name of the column of X that is 1 where a column of text has that text."""
    return f"{column}={level}"


def save_model(
    model: Any, path: str | os.PathLike[str], *, overwrite: bool = False, whole_path: bool = True
) -> None:
    """Write a fitted classifier to one file, from which ``load_model`` makes it again.

    Parameters
    ----------
    model : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted; ``clf.at(t)`` for fewer features. A ``ShareBoostCV`` comes back as the
        ``ShareBoostClassifier`` that it chose.
    path : str or path-like
        The file. Its folder must exist.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.
    whole_path : bool, default=True
        Whether every round is kept, for ``at(t)``, ``staged_predict``, ``path_`` and
        ``warm_start`` of the loaded classifier, or the model alone, in a smaller file. A
        classifier without its rounds has its model alone in either case.

    Raises
    ------
    TypeError
        For another model, and for a pool of the user's own.
    NotFittedError
    FileExistsError
        Where there is a file and it may not be replaced.
    ValueError
        For a model too large for a file.
    OSError
        Where the file cannot be written. Whatever is raised, what was there stays.
    """
    write_whole(path, content_of(model, whole_path), overwrite)


def load_model(path: str | os.PathLike[str]) -> Predictor:
    """Return the fitted classifier in a model file.

    It predicts to the last bit what the saved one did. To read a file runs nothing in it, so
    a file from a stranger can do no harm: at worst it is refused, or predicts nonsense.

    Parameters
    ----------
    path : str or path-like
        A file that ``clf.save`` or ``save_model`` wrote; docs/model-file.md describes it.

    Returns
    -------
    ShareBoostClassifier or a rival
        Of the parameters that the file holds, the defaults for others. Without the whole path
        in the file ``at(t)`` takes its own number of features alone.

    Raises
    ------
    ModelFormatError
        For a file that is no model, torn, damaged, too large or of a newer version.
    OSError
        Where the file cannot be read.
    """
    try:
        with open(os.fspath(path), "rb") as file:
            return model_of(file.read(LARGEST_FILE + 1))  # of a larger file too much to be taken
    except ModelFormatError as error:
        told = f"{os.fspath(path)!r} is no model that can be read: {error}."
        raise ModelFormatError(told) from None


def file_schema() -> dict[str, Any]:
    """Return the schema of model files, JSON Schema of the draft 2020-12.

    What docs/model-file.md says and a schema cannot, such as that lengths agree, is not in it.
    What is declared elsewhere, as the kinds of features are, joins what ``schema.json`` has.
    """
    schema: dict[str, Any] = json.loads((files(__package__) / "schema.json").read_bytes())
    names = {"pool": {"enum": [*POOLS]}, "penalty": {"enum": [*PENALTIES]}}
    schema["$defs"] |= schemas() | names
    return schema


def content_of(model: Any, whole_path: bool) -> bytes:
    """Return the file of a fitted classifier."""
    content = to_bytes(_document(model, whole_path))
    try:
        model_of(content)  # so that no file is written that could not be read
    except ModelFormatError as error:
        raise ValueError(f"A model file cannot hold this classifier: {error}.") from error
    return content


def _document(model: Any, whole_path: bool) -> dict[str, Any]:
    from .. import __version__

    kind = _kind_of(model)
    check_is_fitted(model)
    whole = whole_path and not isinstance(model.path_, PathOfOne)
    path: Path = model.path_ if whole else alone(model)
    places, _ = path.places(model.selected_)
    groups = getattr(model, "groups_", None)
    names = getattr(model, "feature_names_in_", None)
    levels = getattr(model, "levels_in_", None)
    chosen = model._chosen() if hasattr(model, "best_n_features_") else model
    kept = set(kind._get_param_names()) - {"checkpoint"}  # which is a place on this machine
    known = chosen.get_params(deep=False).items()
    parameters, left_out = parameters_to_plain({k: v for k, v in known if k in kept})
    training = training_of(path)
    losses = array_to_plain(training["losses"], FLOATS)
    return {
        "written_by": f"shareboost {__version__}",
        **({KIND: kind.__name__} if kind.__name__ in RIVALS else {}),
        "inputs": {
            "number": model.n_features_in_,
            "names": None if names is None else [str(name) for name in names],
            **({} if levels is None else {LEVELS: [pair and list(pair) for pair in levels]}),
        },
        "classes": labels_to_plain(model.classes_, "y"),
        "groups": None if groups is None else labels_to_plain(groups, "groups"),
        "features": features_to_plain(path.features),
        "centers": array_to_plain(path.centers, FLOATS),
        "scales": array_to_plain(path.scales, FLOATS),
        "model": {
            "chosen": array_to_plain(places, INTEGERS),
            "coef": array_to_plain(model.weights_, FLOATS),
            "intercept": array_to_plain(model._intercepts_, FLOATS),
            "cost": float(model.cost_),
            "iterations": int(model.n_iter_),
        },
        "path": path_to_plain(path, None if whole else path.rounds[0]),
        "parameters": parameters,
        "left_out": left_out,
        "training": {"rows": path.n_rows, **training, "losses": losses},
    }


def _kind_of(model: Any) -> type[Predictor]:
    """Return the class that a classifier has once it is loaded."""
    name = type(model).__name__
    if isinstance(model, (_class("ShareBoostClassifier"), _class("ShareBoostCV"))):
        return _class("ShareBoostClassifier")
    if name in RIVALS and type(model) is _class(name):
        return type(model)
    known = ", ".join(("ShareBoostClassifier", "ShareBoostCV", *RIVALS))
    raise TypeError(f"model is a {name}, which a model file cannot hold: it takes {known}.")


def _class(name: str) -> type[Any]:
    """Return a class of classifiers, whose module may import this one."""
    home = "shareboost.rivals" if name in RIVALS else "shareboost"
    return getattr(import_module(home), name)


def model_of(content: bytes) -> Predictor:
    """Return the fitted classifier in the bytes of a file."""
    if len(content) > LARGEST_FILE:
        raise ModelFormatError(
            f"a model file has at most {LARGEST_FILE:,} bytes, and it has more: whole_path=False, "
            "or at(t) of fewer features, makes it smaller"
        )
    fields = Fields(from_bytes(content), "", KEYS, (KIND,))
    is_rival = KIND in fields
    rivals = {name: name for name in RIVALS}
    kind = _class(fields.one_of(KIND, rivals) if is_rival else "ShareBoostClassifier")
    clf: Predictor = kind(**parameters_from_plain(fields["parameters"], "parameters", kind))
    try:
        clf._validate_params()
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"parameters are not valid: {str(error)[:LONGEST_TOLD]}") from None
    attributes = _fitted(fields, kind)
    if is_rival and attributes.pop("groups_") is not None:
        raise ModelFormatError(f"groups are of no {kind.__name__}")
    clf._set_fitted(attributes)
    return clf


def _fitted(fields: Fields, kind: type[Any]) -> dict[str, Any]:
    """Return all fitted attributes."""
    n_inputs, names, levels = _inputs(fields["inputs"])
    classes = labels_from_plain(fields["classes"], "classes", least=2)
    groups = fields.optional("groups", lambda key: labels_from_plain(fields[key], key, least=1))
    features = features_from_plain(fields["features"], "features", n_inputs)
    told = Fields(fields["model"], "model", MODEL_KEYS)
    chosen = features.take(told.integers("chosen", None, 0, features.ids.size - 1, distinct=True))
    weights = told.floats("coef", (classes.size, chosen.n_columns))
    model = Model(chosen, weights, told.floats("intercept", (classes.size,)))
    iterations = told.integer("iterations")
    n_rows, training = _training(fields["training"])
    path = path_from_plain(
        fields["path"],
        features,
        classes.size,
        centers=fields.floats("centers", (features.n_columns,)),
        scales=fields.floats("scales", (features.n_columns,), positive=True),
        n_rows=n_rows,
        input_names=NumberedNames(n_inputs) if names is None else tuple(names),
    )
    selected = tuple(chosen.ids.tolist())
    if KIND in fields and not isinstance(path, PathOfOne):
        path = kind._path_class(**vars(path))
    if isinstance(path, PathOfOne):
        if path.last.atoms != selected or not np.array_equal(chosen.ids, features.ids):
            raise ModelFormatError("path is not whole, and not of the model and all features")
        path.model_weights, path.intercepts = model.weights, model.intercept
        path.iterations, path.training = iterations, training
    elif len(selected) not in [0, *path.n_features] or path.step(len(selected)).atoms != selected:
        raise ModelFormatError("path has no round with the features of the model")
    return {
        "n_features_in_": n_inputs,
        **({} if names is None else {"feature_names_in_": np.array(names, dtype=object)}),
        **({} if levels is None else {"levels_in_": levels}),
        "groups_": groups,
        "classes_": classes,
        "path_": path,
        "selected_": chosen.ids,
        "weights_": model.weights,
        "_intercepts_": model.intercept,
        "columns_": columns_read(chosen, n_inputs),
        "cost_": told.number("cost"),
        "n_iter_": iterations,
    }


def _training(value: Any) -> tuple[int | None, dict[str, Any]]:
    """Return the number of rows, if known, and what else there is of the run."""
    fields = Fields(value, "training", TRAINING_KEYS)
    late = fields.list("not_converged")
    if not all(type(t) is int and t >= 0 for t in late):
        raise ModelFormatError("training.not_converged takes the numbers of rounds")
    losses, seconds = fields.floats("losses", (None,)), fields.number("seconds")
    about = {"losses": losses, "seconds": seconds, "not_converged": late}
    return fields.optional("rows", fields.integer), about


def _inputs(value: Any) -> tuple[int, list[str] | None, Levels | None]:
    """Return how many columns X has, their names and the texts they stand for, if any."""
    inputs = Fields(value, "inputs", INPUT_KEYS, (LEVELS,))
    number = inputs.integer("number", 1, MOST_INPUTS)
    names = inputs.optional("names", inputs.texts)
    if names is not None and len(names) != number:
        raise ModelFormatError(f"inputs.names takes {number} names")
    if LEVELS not in inputs:
        return number, names, None
    levels: Levels = []
    for item in inputs.list(LEVELS):
        if item is not None and not (isinstance(item, list) and len(item) == 2):
            raise ModelFormatError("an item of inputs.levels takes null or a pair of texts")
        texts = [checked_text(text, "an item of inputs.levels") for text in item or ()]
        levels.append((texts[0], texts[1]) if texts else None)
    if names is None or len(levels) != len(names):
        raise ModelFormatError("inputs.levels takes an item for each of inputs.names")
    both = zip(names, levels, strict=True)
    if any(pair is not None and name != level_name(*pair) for name, pair in both):
        raise ModelFormatError("inputs.names takes column=level for an item of inputs.levels")
    return number, names, levels
