"""A fitted classifier as a model file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from ..path import Path
from ..path_of_one import alone
from . import labels
from .arrays import FLOATS, INTEGERS, to_plain
from .features import features_to_plain
from .files import write_whole
from .inputs import inputs_to_plain
from .kinds import kind_of, kind_to_plain
from .parameters import parameters_to_plain
from .paths import path_to_plain, training_to_plain
from .reader import model_of
from .text import LARGEST_FILE, Document, ModelFormatError, to_bytes

if TYPE_CHECKING:
    from ..predictor import Predictor


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    whole_path: bool = True,
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
        classifier without its rounds, such as a rival, has its model alone in either case.

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


def content_of(model: Any, whole_path: bool) -> bytes:
    """Return the file of a fitted classifier."""
    content = to_bytes(_document(model, whole_path))
    if len(content) > LARGEST_FILE:
        shorter = "set whole_path=False, or " if whole_path else ""
        raise ValueError(
            f"The file would have {len(content):,} bytes, and a model file has at most "
            f"{LARGEST_FILE:,}: {shorter}save at(t) of fewer features."
        )
    try:
        model_of(content)  # so that no file is written that could not be read
    except ModelFormatError as error:
        raise ValueError(f"A model file cannot hold this classifier: {error}.") from error
    return content


def _document(model: Any, whole_path: bool) -> Document:
    from .. import __version__

    kind = kind_of(model)
    check_is_fitted(model)
    whole = whole_path and type(model.path_) is Path
    path: Path = model.path_ if whole else alone(model)
    step = path.step(len(model.selected_))
    places, _ = path.places(model.selected_)
    groups = getattr(model, "groups_", None)
    names = getattr(model, "feature_names_in_", None)
    parameters, left_out = parameters_to_plain(_parameters(model, kind))
    return {
        "written_by": f"shareboost {__version__}",
        **kind_to_plain(kind),
        "inputs": inputs_to_plain(
            model.n_features_in_,
            None if names is None else [str(name) for name in names],
            getattr(model, "levels_in_", None),
        ),
        "classes": labels.to_plain(model.classes_, "y"),
        "groups": None if groups is None else labels.to_plain(groups, "groups"),
        "features": features_to_plain(path.features),
        "centers": to_plain(path.centers, FLOATS),
        "scales": to_plain(path.scales, FLOATS),
        "model": {
            "chosen": to_plain(places, INTEGERS),
            "coef": to_plain(model.weights_, FLOATS),
            "intercept": to_plain(model._intercepts_, FLOATS),
            "cost": float(model.cost_),
            "iterations": int(model.n_iter_),
        },
        "path": path_to_plain(path, step, whole),
        "parameters": parameters,
        "left_out": left_out,
        "training": training_to_plain(path),
    }


def _parameters(model: Any, kind: type[Predictor]) -> dict[str, Any]:
    """Return the parameters of the classifier that the file is to hold."""
    chosen = model._chosen() if hasattr(model, "best_n_features_") else model
    kept = set(kind._get_param_names()) - {"checkpoint"}  # which is a place on this machine
    return {name: value for name, value in chosen.get_params(deep=False).items() if name in kept}
