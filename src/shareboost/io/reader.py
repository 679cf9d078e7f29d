"""A classifier from a model file. Nothing in a file is run, imported or unpickled."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..input_columns import NumberedNames, columns_read
from ..model import Model
from ..path_of_one import PathOfOne
from . import labels
from .features import features_from_plain
from .fields import Fields
from .inputs import inputs_from_plain
from .kinds import USUAL, kind_from_plain
from .parameters import parameters_from_plain
from .paths import Saved, path_from_plain
from .text import LARGEST_FILE, ModelFormatError, check_size, from_bytes

if TYPE_CHECKING:
    from ..predictor import Predictor

KEYS = (
    *("written_by", "inputs", "classes", "groups", "features", "centers", "scales", "model"),
    *("path", "parameters", "left_out", "training"),
)
LONGEST_TOLD = 300  # characters of another's error, which may hold a whole value
MODEL_KEYS = ("chosen", "coef", "intercept", "cost", "iterations")


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
        in the file, as of rivals, ``at(t)`` takes its own number of features alone.

    Raises
    ------
    ModelFormatError
        For a file that is no model, torn, damaged, too large or of a newer version.
    OSError
        Where the file cannot be read.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path={path!r} is not valid: it takes the path of a file.")
    try:
        return model_of(_content(path))
    except ModelFormatError as error:
        raise ModelFormatError(
            f"{os.fspath(path)!r} is no model that can be read: {error}."
        ) from None


def model_of(content: bytes) -> Predictor:
    """Return the fitted classifier in the bytes of a file."""
    document = from_bytes(content)
    kind = kind_from_plain(document)
    fields = Fields(document, "", KEYS)
    clf = kind(**parameters_from_plain(fields["parameters"], "parameters", kind))
    try:
        clf._validate_params()
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"parameters are not valid: {str(error)[:LONGEST_TOLD]}") from None
    attributes = _fitted(fields)
    if kind.__name__ != USUAL:  # rivals choose no groups and have no rounds
        if attributes.pop("groups_") is not None:
            raise ModelFormatError(f"groups are of no {kind.__name__}")
        if not isinstance(attributes["path_"], PathOfOne):
            raise ModelFormatError(f"path is whole, and the file of a {kind.__name__} has none")
    clf._set_fitted(attributes)
    return clf


def _content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, no more than a model may have."""
    with open(path, "rb", opener=_open) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ModelFormatError("it is no ordinary file")
        check_size(found.st_size)
        return file.read(LARGEST_FILE + 1)  # of one that grows meanwhile, too much to be taken


def _open(path: str, flags: int) -> int:
    """Open a file without waiting for a writer, where it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _fitted(fields: Fields) -> dict[str, Any]:
    """Return all fitted attributes."""
    fields.text("written_by")
    fields.texts("left_out")
    n_inputs, names, levels = inputs_from_plain(fields["inputs"])
    classes = labels.from_plain(fields["classes"], "classes")
    labels.check_sorted(classes, "classes", 2)
    groups = fields.optional("groups", lambda key: labels.from_plain(fields[key], key))
    if groups is not None:
        labels.check_sorted(groups, "groups", 1)
    saved, cost = _saved(fields, n_inputs, classes.size)
    path = path_from_plain(fields["path"], fields["training"], saved)
    path.input_names = NumberedNames(n_inputs) if names is None else tuple(names)
    return {
        "n_features_in_": n_inputs,
        **({} if names is None else {"feature_names_in_": np.array(names, dtype=object)}),
        **({} if levels is None else {"levels_in_": levels}),
        "groups_": groups,
        "classes_": classes,
        "path_": path,
        "selected_": saved.model.features.ids,
        "weights_": saved.model.weights,
        "_intercepts_": saved.model.intercept,
        "columns_": columns_read(saved.model.features, n_inputs),
        "cost_": cost,
        "n_iter_": saved.iterations,
    }


def _saved(fields: Fields, n_inputs: int, n_classes: int) -> tuple[Saved, float]:
    """Return the features, the model of some of them, and its cost."""
    features = features_from_plain(fields["features"], "features", n_inputs)
    own = Fields(fields["model"], "model", MODEL_KEYS)
    chosen = features.take(own.unlike("chosen", features.ids.size - 1))
    model = Model(
        chosen,
        own.floats("coef", (n_classes, chosen.n_columns)),
        own.floats("intercept", (n_classes,)),
    )
    units = (features.n_columns,)
    saved = Saved(
        features,
        fields.floats("centers", units),
        fields.positive("scales", units),
        model,
        own.integer("iterations"),
    )
    return saved, own.number("cost")
