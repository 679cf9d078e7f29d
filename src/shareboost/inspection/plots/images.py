"""Templates with their masks, and images that are misclassified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...inputs import on_host, rows_of
from ...validation import at_least, image_shape_of_rows
from ..comparison import check_has_path, labels_of_rows
from ..template_pictures import image_shape_of, template_pictures
from .weights import axes_of, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...predictor import Predictor

    Picture = NDArray[np.floating[Any]]

GAP = 2  # pixels between pictures


def plot_templates(
    clf: Predictor, *, n_templates: int = 30, across: int = 6, ax: Axes | None = None
) -> Axes:
    """Draw the chosen templates, each beside its mask, Fig. 5(a) of the paper.

    Each picture is over its own largest magnitude; high values are dark. A template is grey at
    zero, a mask white where it is 0. The channels of a template are side by side.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted with image templates, which may be some of a union.
    n_templates : int, default=30
        The most to draw, in the order that they were chosen.
    across : int, default=6
        Pairs a row.
    ax : matplotlib Axes, optional
    """
    check_has_path(clf)
    n_templates = at_least("n_templates", n_templates, 1, "plot_templates")
    across = at_least("across", across, 1, "plot_templates")
    features = clf.path_.features.take(clf.path_.places(clf.selected_)[0])
    found = template_pictures(features)[:n_templates]
    if not found:
        raise ValueError('clf has chosen no image templates, which pool="templates" has.')
    pairs = [(side_by_side(one.template), np.outer(one.down, one.across)) for one in found]
    down = -(-len(pairs) // across)
    ax = axes_of(ax, (1.3 * min(across, len(pairs)), 0.7 * down))
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
    across: int = 10,
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
    across : int, default=10
        Images a row.
    ax : matplotlib Axes, optional
    """
    n_images = at_least("n_images", n_images, 1, "plot_errors")
    across = at_least("across", across, 1, "plot_errors")
    labels = labels_of_rows(clf, X, y)
    shape = image_shape or image_shape_of(clf.path_.features)
    height, width, channels = image_shape_of_rows(clf.n_features_in_, shape, "X")
    predicted = on_host(clf.predict(X))
    wrong = np.flatnonzero(predicted != labels)[:n_images]
    rows = np.empty((0, clf.n_features_in_))
    if wrong.size:
        rows = on_host(clf._check_rows(on_host(rows_of(X, wrong))))
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    images = rows.reshape(-1, height, width, channels)
    captions = [f"{predicted[i]} ({labels[i]})" for i in wrong]
    down = max(1, -(-len(wrong) // across))
    ax = axes_of(ax, (0.75 * min(across, max(1, len(wrong))), 0.95 * down))
    draw_images(ax, images, captions, across)
    return ax


def draw_images(ax: Axes, images: NDArray[Any], captions: Sequence[str], across: int) -> None:
    """Draw images, (n, height, width, channels), with a caption above each, so many a row."""
    ax.set_axis_off()
    if not len(images):
        ax.set_title("none is misclassified")
        return
    _, height, width, channels = images.shape
    in_colour = channels == 3
    low, high = float(images.min()), float(images.max())
    top = round(0.35 * height)  # for the caption
    for place, (image, caption) in enumerate(zip(images, captions, strict=True)):
        row, column = divmod(place, across)
        left, down = column * (width + GAP), row * (height + top + GAP) + top
        picture = (image - low) / ((high - low) or 1.0) if in_colour else image.max(axis=2)
        extent = (left - 0.5, left + width - 0.5, down + height - 0.5, down - 0.5)
        ax.imshow(picture, cmap="gray_r", vmin=low, vmax=high, extent=extent)
        middle = left + (width - 1) / 2
        ax.text(middle, down - 1, literal(caption), fontsize=7, ha="center", va="bottom")
    rows = -(-len(images) // across)
    columns = min(across, len(images))
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
