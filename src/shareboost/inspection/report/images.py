"""What a report shows of image models: templates, misclassified images, how images are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import dense
from ...inputs import on_host
from ..plots.images import image_shape_of, template_pictures
from .packing import rounded

if TYPE_CHECKING:
    from ...predictor import Predictor

PARTS = ("template", "down", "across")  # of a picture
# The most values of misclassified images, and images, that a page of 2 MB has room for.
MOST_VALUES, MOST_IMAGES = 160_000, 240
SAMPLE_IMAGES = 2000  # that tell how strokes look
FAINTEST = 0.1  # coverage by ink that still counts


def image_data(
    clf: Predictor,
    X: Any,
    X_train: Any,
    labels: NDArray[Any],
    predicted: NDArray[np.integer[Any]],
    true: NDArray[np.intp],
    chosen: int,
) -> dict[str, Any] | None:
    """Return what there is to show of a model of image templates; None for other models.

    Of the rows that some model misclassifies, those are kept that the classifier itself does,
    and then those that most models do. predicted (models, rows) and true (rows,) are places of
    classes.
    """
    shape = image_shape_of(clf.path_.features)
    if shape is None:
        return None
    rows = on_host(clf._check_rows(X))
    drawn = clf._check_rows(X_train) if X_train is not None else rows
    every = max(1, drawn.shape[0] // SAMPLE_IMAGES)
    sample = np.asarray(dense(on_host(drawn[::every]))).reshape(-1, *shape)
    wrong = predicted != true
    lasting = np.where(wrong[chosen], len(wrong), 0) + wrong.sum(axis=0)
    most = min(MOST_IMAGES, max(1, MOST_VALUES // rows.shape[1]))
    order = np.argsort(-lasting, kind="stable")[:most]
    kept = np.sort(order[lasting[order] > 0])
    return {
        "shape": list(shape),
        "templates": [
            {"feature": place}
            | {name: rounded(values, 4) for name, values in zip(PARTS, parts, strict=True)}
            for place, *parts in template_pictures(clf.path_.features)
        ],
        "errors": [
            {
                "row": int(row),
                "label": str(labels[row]),
                "predicted": predicted[:, row].tolist(),
                "pixels": rounded(image, 4),
            }
            for row, image in zip(kept, np.asarray(dense(rows[kept])), strict=True)
        ],
        "strokes": stroke_style(sample) if shape[2] == 1 else None,
    }


def stroke_style(images: NDArray[Any]) -> dict[str, Any]:
    """Return how a stroke must be drawn to look like those of some images, (n, height, width, 1).

    "paper" is the median of the images' borders, "ink" the value that lies farthest from it.
    "box" is the larger side of the box about the ink, in pixels, and "width" that of a stroke.
    "centre", (row, column), is that of the ink's mass where "by_mass", else that of its box,
    whichever varies less between images.
    """
    pixels = images[..., 0].astype(np.float64)
    _, height, width = pixels.shape
    border = [pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1]]
    paper = float(np.median(np.hstack([side.ravel() for side in border])))
    low, high = float(pixels.min()), float(pixels.max())
    ink = high if high - paper >= paper - low else low
    if ink == paper:  # all images are blank
        ink = paper + 1.0
    coverage = np.clip((pixels - paper) / (ink - paper), 0.0, 1.0)
    coverage = coverage[coverage.max(axis=(1, 2)) > FAINTEST]
    if not len(coverage):
        coverage = np.ones((1, height, width))
    top, bottom = _extent(coverage.max(axis=2))
    left, right = _extent(coverage.max(axis=1))
    boxes = np.stack([top + bottom, left + right], axis=1) / 2
    mass_down = coverage.sum(axis=2) @ np.arange(height)
    mass_across = coverage.sum(axis=1) @ np.arange(width)
    masses = np.stack([mass_down, mass_across], axis=1) / coverage.sum(axis=(1, 2))[:, None]
    by_mass = bool(masses.var(axis=0).sum() < boxes.var(axis=0).sum())
    sides = np.maximum(bottom - top, right - left) + 1
    return {
        "paper": paper,
        "ink": ink,
        "box": float(np.median(sides)),
        "width": float(np.median(_stroke_widths(coverage))),
        "centre": (masses if by_mass else boxes).mean(axis=0).round(2).tolist(),
        "by_mass": by_mass,
    }


def _extent(profile: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the last place with ink of each profile, (n, places)."""
    inked = profile > FAINTEST
    return inked.argmax(axis=1), inked.shape[1] - 1 - inked[:, ::-1].argmax(axis=1)


def _stroke_widths(coverage: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the width of the strokes of every image.

    A long stroke has an area of length times width and a total variation, the length of its
    outline, of twice its length.
    """
    framed = np.pad(coverage, ((0, 0), (1, 1), (1, 1)))
    down, across = np.diff(framed, axis=1)[:, :, :-1], np.diff(framed, axis=2)[:, :-1]
    outline = np.hypot(down, across).sum(axis=(1, 2))
    return np.divide(2.0 * coverage.sum(axis=(1, 2)), outline)
