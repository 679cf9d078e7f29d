"""What a report shows of image models: templates, misclassified images, how images are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...inputs import on_host
from ...predictor import Predictor
from ..template_pictures import image_shape_of, template_pictures
from .numbers import rounded
from .strokes import stroke_style

# Values of all misclassified images that are kept, and the most images: a page of 2 MB has room
# for no more.
MOST_VALUES = 160_000
MOST_IMAGES = 240
# Images that tell how strokes look.
SAMPLE_IMAGES = 2000


def image_data(
    clf: Predictor,
    X: Any,
    X_train: Any,
    labels: NDArray[Any],
    predicted: NDArray[np.integer[Any]],
    chosen: int,
) -> dict[str, Any] | None:
    """Return what there is to show of a model of image templates; None for other models.

    Of the rows that some model misclassifies, those are kept that the classifier itself does,
    and then those that were so for the longest.
    """
    shape = image_shape_of(clf.path_.features)
    if shape is None:
        return None
    rows = on_host(clf._check_rows(X))
    own = clf._check_rows(X_train) if X_train is not None else rows
    every = max(1, own.shape[0] // SAMPLE_IMAGES)
    return {
        "shape": list(shape),
        "templates": _templates(clf),
        "errors": _errors(clf.classes_, rows, labels, predicted, chosen),
        "strokes": stroke_style(_dense(on_host(own[::every])).reshape(-1, *shape))
        if shape[2] == 1
        else None,
    }


def _templates(clf: Predictor) -> list[dict[str, Any]]:
    """Return the templates, of the features that have one."""
    return [
        {
            "feature": one.place,
            "template": rounded(one.template, 4),
            "down": rounded(one.down, 4),
            "across": rounded(one.across, 4),
        }
        for one in template_pictures(clf.path_.features)
    ]


def _errors(
    classes: NDArray[Any],
    rows: Any,
    labels: NDArray[Any],
    predicted: NDArray[np.integer[Any]],
    chosen: int,
) -> list[dict[str, Any]]:
    """Return misclassified images with their labels and what every model predicts."""
    known = np.isin(labels, classes)
    places = np.searchsorted(classes, np.where(known, labels, classes[0]))
    wrong = (predicted != places) | ~known  # (models, rows)
    lasting = np.where(wrong[chosen], len(wrong), 0) + wrong.sum(axis=0)
    most = min(MOST_IMAGES, max(1, MOST_VALUES // rows.shape[1]))
    order = np.argsort(-lasting, kind="stable")[:most]
    kept = np.sort(order[lasting[order] > 0])
    images = _dense(rows[kept])
    return [
        {
            "row": int(row),
            "label": str(labels[row]),
            "predicted": predicted[:, row].tolist(),
            "pixels": rounded(image, 4),
        }
        for row, image in zip(kept, images, strict=True)
    ]


def _dense(rows: Any) -> NDArray[Any]:
    dense: NDArray[Any] = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return dense
