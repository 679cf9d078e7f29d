"""Templates with their masks, of models and as they are drawn, and misclassified images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import dense
from ...inputs import on_host, rows_of
from ...validation import at_least, image_shape_of_rows
from ..comparison import check_has_path, labels_of_rows
from .weights import axes_of, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...pools.features import Features
    from ...predictor import Predictor

    Picture = NDArray[np.floating[Any]]

GAP = 2  # pixels between pictures
PAIRS_ACROSS, IMAGES_ACROSS = 6, 10


class TemplatePicture(NamedTuple):
    """A template and its mask."""

    place: int  # of the atom among the features
    template: Picture  # (rows, columns, channels)
    down: Picture  # of the mask, (places down,)
    across: Picture


def image_shape_of(features: Features) -> tuple[int, int, int] | None:
    """Return the shape of the images that templates among the features look at, if any do."""
    return next((fields["image_shape"] for fields in _matches(features)), None)


def template_pictures(features: Features) -> list[TemplatePicture]:
    """Return the templates among the features, in their order."""
    atom = np.repeat(np.arange(features.ids.size), features.widths)
    pictures: list[TemplatePicture] = []
    for fields in _matches(features):
        places = atom[fields["places"]].tolist()
        arrays = fields["templates"], fields["down"], fields["across"]
        pictures += map(TemplatePicture, places, *arrays)
    return sorted(pictures, key=lambda picture: picture.place)


def _matches(features: Features) -> list[dict[str, Any]]:
    try:
        parts = list(features.parts(np.arange(features.n_columns)))
    except TypeError:  # another's pool
        return []
    return [fields for name, fields in parts if name == "matches" and fields["places"].size]


def plot_templates(clf: Predictor, *, n_templates: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the chosen templates, each beside its mask, Fig. 5(a) of the paper.

    Each picture is divided by its largest magnitude; high values are dark. A template is grey at
    zero, a mask white where it is 0. The channels of a template are side by side.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted with image templates, which may be some of a union.
    n_templates : int, default=30
        The most to draw, in the order that they were chosen.
    ax : matplotlib Axes, optional
    """
    check_has_path(clf)
    n_templates = at_least("n_templates", n_templates, 1, "plot_templates")
    features = clf.path_.features.take(clf.path_.places(clf.selected_)[0])
    pictures = template_pictures(features)[:n_templates]
    if not pictures:
        raise ValueError('clf has chosen no image templates, which pool="templates" has.')
    pairs = [(side_by_side(one.template), np.outer(one.down, one.across)) for one in pictures]
    across = min(PAIRS_ACROSS, len(pairs))
    ax = axes_of(ax, (1.3 * across, 0.7 * -(-len(pairs) // across)))
    draw_templates(ax, pairs, across)
    return ax


def draw_templates(ax: Axes, pairs: Sequence[tuple[Picture, Picture]], across: int) -> None:
    """Draw pairs of a template and its mask as one sheet, so many pairs a row."""
    side = max(max(picture.shape) for pair in pairs for picture in pair)
    pictures = []
    for template, mask in pairs:
        pictures += [_enlarged(template, side), _enlarged(2 * mask / mask.max() - 1, side)]
    sheet = np.pad(_grid(pictures, 2 * across, (side, side), GAP), (0, GAP), constant_values=np.nan)
    ax.imshow(sheet, cmap="gray_r", vmin=-1, vmax=1)
    ax.set_axis_off()


def plot_errors(
    clf: Predictor,
    X: Any,
    y: ArrayLike,
    *,
    image_shape: tuple[int, ...] | None = None,
    n_images: int = 80,
    ax: Axes | None = None,
) -> Axes:
    """Draw the images that are misclassified, each with its prediction and, in brackets, its label.

    Images of three channels are drawn in colour, others by the largest of their channels.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted, of whatever pool.
    X, y : array-like
        Images as rows, and their labels.
    image_shape : tuple, optional
        (height, width) or (height, width, channels). None: that of the templates, where there
        are any, else square images of one channel.
    n_images : int, default=80
        The most to draw, in the order of X.
    ax : matplotlib Axes, optional
    """
    n_images = at_least("n_images", n_images, 1, "plot_errors")
    labels = labels_of_rows(clf, X, y)
    shape = image_shape or image_shape_of(clf.path_.features)
    height, width, channels = image_shape_of_rows(clf.n_features_in_, shape, "X")
    predicted = on_host(clf.predict(X))
    wrong = np.flatnonzero(predicted != labels)[:n_images]
    rows = np.empty((0, clf.n_features_in_))
    if wrong.size:
        rows = dense(on_host(clf._check_rows(on_host(rows_of(X, wrong)))))
    images = rows.reshape(-1, height, width, channels)
    captions = [f"{predicted[i]} ({labels[i]})" for i in wrong]
    across = max(1, min(IMAGES_ACROSS, wrong.size))
    ax = axes_of(ax, (0.75 * across, 0.95 * max(1, -(-wrong.size // across))))
    draw_images(ax, images, captions, across)
    return ax


def draw_images(ax: Axes, images: NDArray[Any], captions: Sequence[str], across: int) -> None:
    """Draw images, (n, height, width, channels), with a caption above each, so many a row."""
    ax.set_axis_off()
    if not len(images):
        ax.set_title("none is misclassified")
        return
    _, height, width, channels = images.shape
    low, high = float(images.min()), float(images.max())
    top = round(0.35 * height)  # for the caption
    for place, (image, caption) in enumerate(zip(images, captions, strict=True)):
        row, column = divmod(place, across)
        left, down = column * (width + GAP), row * (height + top + GAP) + top
        picture = (image - low) / ((high - low) or 1.0) if channels == 3 else image.max(axis=2)
        extent = (left - 0.5, left + width - 0.5, down + height - 0.5, down - 0.5)
        ax.imshow(picture, cmap="gray_r", vmin=low, vmax=high, extent=extent)
        middle = left + (width - 1) / 2
        ax.text(middle, down - 1, literal(caption), fontsize=7, ha="center", va="bottom")
    rows, columns = -(-len(images) // across), min(across, len(images))
    ax.set_xlim(-0.5, columns * (width + GAP) - GAP - 0.5)
    ax.set_ylim(rows * (height + top + GAP) - GAP - 0.5, -0.5)


def side_by_side(template: Picture) -> Picture:
    """Return the channels of a template as one picture: a grid of them, NaN in between."""
    channels = np.moveaxis(template, 2, 0)
    return _grid(channels, int(np.ceil(np.sqrt(len(channels)))), template.shape[:2], 1)


def _enlarged(picture: Picture, side: int) -> Picture:
    """Return a picture over its largest magnitude, enlarged as a whole number of times."""
    times = max(1, side // max(picture.shape))
    largest = float(np.nanmax(np.abs(picture))) or 1.0
    return np.kron(picture / largest, np.ones((times, times)))


def _grid(
    pictures: Sequence[Picture] | Picture, across: int, cell: tuple[int, ...], gap: int
) -> Picture:
    """Return pictures in a grid, each amid a cell of that size; NaN where there is none."""
    down_by, across_by = cell[0] + gap, cell[1] + gap
    shape = -(-len(pictures) // across) * down_by - gap, across * across_by - gap
    sheet = np.full(shape, np.nan, dtype=pictures[0].dtype)
    for place, picture in enumerate(pictures):
        row, column = divmod(place, across)
        high, wide = picture.shape
        top = row * down_by + (cell[0] - high) // 2
        left = column * across_by + (cell[1] - wide) // 2
        sheet[top : top + high, left : left + wide] = picture
    return sheet
