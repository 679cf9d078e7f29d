"""What a fitted model computes, in the few kinds of steps that every exported form is made of.

A plan is a list of parts, each of one kind and in plain arrays: reads of columns, tests of
thresholds, products, balls and templates. Unions and groups dissolve into these. Scores are
``sum over columns of weight * (value - offset) + intercept``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..pools import (
    ColumnFeatures,
    Features,
    GroupFeatures,
    PieceFeatures,
    ProductFeatures,
    StumpFeatures,
    TemplateFeatures,
    UnionFeatures,
)
from ..prediction import Predictor

# A column whose centre is further from zero, in deviations, is read less that centre: its score
# would lose digits in float32.
FAR = 16.0
# Of a model of centred columns, relative to its weights. Centres that are off by so many deviations
# cost three digits.
LARGEST_INTERCEPT = 1e3

Places = NDArray[np.intp]  # of a part's values among the columns of the plan


@dataclass(frozen=True)
class Reads:
    """Columns of the input as they are."""

    places: Places
    columns: NDArray[np.intp]


@dataclass(frozen=True)
class Thresholds:
    """Stumps: 1 where ``input[column] <= threshold``, else 0; NaN gives 0."""

    places: Places
    columns: NDArray[np.intp]
    thresholds: NDArray[np.float64]

    @property
    def single(self) -> NDArray[np.float32]:
        """The largest float32 numbers not above the thresholds: they test float32 input alike."""
        with np.errstate(over="ignore"):  # the threshold that no number exceeds
            near = self.thresholds.astype(np.float32)
        return np.where(near > self.thresholds, np.nextafter(near, np.float32(-np.inf)), near)


@dataclass(frozen=True)
class Products:
    """Products of two columns of the input; a left one of -1 stands for the constant 1."""

    places: Places
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    single: bool  # whether they are rounded to float32, as those of float32 input in training


@dataclass(frozen=True)
class Balls:
    """Pieces: ``p + 1`` values each, which are zero outside a ball.

    With ``z = (input - mean) / unit`` a row is at the squared distance ``|z - centre|^2``. The
    form "paper" gives ``[input, 1]`` where that is below the squared radius; the other form
    ``s * [input - (mean + unit * centre), 1]`` with
    ``s = max(0, 1 - squared distance / squared radius)``.
    """

    places: Places  # (n * (p + 1),), piece after piece
    centres: NDArray[np.float32]  # (n, p)
    squared_radii: NDArray[np.float32]
    mean: NDArray[np.float64]
    unit: float
    hard: bool  # the form "paper"

    @property
    def origins(self) -> NDArray[np.float64]:
        """The centres in units of the input, (n, p)."""
        return self.mean + self.unit * self.centres.astype(np.float64)


@dataclass(frozen=True)
class Matches:
    """Templates: the largest over all places of response times mask.

    The input is an image, (height, width, channels), divided by ``unit``; the value is
    multiplied by it. Value i is that of template ``template[i]`` under the mask
    ``outer(masks_down[down[i]], masks_across[across[i]])``: templates and masks are listed once,
    however many values share them.
    """

    places: Places
    image_shape: tuple[int, int, int]
    unit: float
    templates: list[NDArray[np.float32]]  # (rows, columns, channels) each, all different
    masks_down: list[NDArray[np.float32]]  # (places down,) each, all different
    masks_across: list[NDArray[np.float32]]
    template: NDArray[np.intp]
    down: NDArray[np.intp]
    across: NDArray[np.intp]


Part = Reads | Thresholds | Products | Balls | Matches


@dataclass(frozen=True)
class Plan:
    """A model as parts and weights, in float64."""

    classes: NDArray[Any]
    n_inputs: int
    input_names: Sequence[str]
    parts: list[Part]
    weights: NDArray[np.float64]  # (k, columns)
    offsets: NDArray[np.float64]  # (columns,), mostly zero
    intercept: NDArray[np.float64]  # (k,), of values less their offsets

    @property
    def n_columns(self) -> int:
        """Number of values that are weighted."""
        return int(self.offsets.size)

    @property
    def allows_nan(self) -> bool:
        """Whether the input may hold NaN."""
        return all(isinstance(part, Thresholds) for part in self.parts)


def plan_of(model: Any) -> Plan:
    """Return the plan of a fitted classifier.

    Parameters
    ----------
    model : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted; ``clf.at(t)`` for fewer features.

    Raises
    ------
    TypeError
        For another object, and for features of a pool that has no exported form.
    NotFittedError
    """
    if not isinstance(model, Predictor):
        raise TypeError(
            f"model is a {type(model).__name__}: it takes a fitted classifier of shareboost, such "
            "as ShareBoostClassifier. Of a pipeline, export the last step, or convert all of it by "
            "skl2onnx after register_skl2onnx()."
        )
    check_is_fitted(model)
    path = model.path_
    places, columns = path.places(model.selected_)
    features = path.features.take(places)
    parts = parts_of(features)
    plain = [part.places for part in parts if isinstance(part, (Reads, Products))]
    offsets = _offsets(model, columns, plain)
    return Plan(
        model.classes_,
        model.n_features_in_,
        path.input_names,
        parts,
        model.weights_,
        offsets,
        model._intercepts_ + model.weights_ @ offsets,
    )


def _offsets(model: Predictor, columns: NDArray[np.intp], plain: list[Places]) -> NDArray[Any]:
    """Return what each value is read less: the centre of a plain column that is far from zero.

    Prediction uses no centres, so a file may hold wrong ones. They are used here only where they
    agree with the weights: right centres leave an intercept of about the size of the weights of
    the scaled columns.
    """
    path, weights = model.path_, model.weights_
    scales = path.scales[columns]
    offsets = np.zeros(columns.size)
    for some in plain:
        centers = path.centers[columns[some]]
        offsets[some] = np.where(np.abs(centers) > FAR * np.abs(scales[some]), centers, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        left = np.abs(model._intercepts_ + weights @ offsets)
        agree = left <= LARGEST_INTERCEPT * (1.0 + np.abs(weights) @ np.abs(scales))
    return offsets if agree.all() else np.zeros(columns.size)


def parts_of(features: Features) -> list[Part]:
    """Return features as parts, whose values are at the places of the features' columns."""
    return _parts(features, np.arange(features.n_columns))


@singledispatch
def _parts(features: Features, places: Places) -> list[Part]:
    """Return features as parts, whose values are at those places."""
    raise TypeError(
        f"Features of the type {type(features).__name__} cannot be exported: only those of "
        "Columns, Stumps, Products, Pieces, Templates, Groups and Unions of them can."
    )


@_parts.register
def _(features: ColumnFeatures, places: Places) -> list[Part]:
    return [Reads(places, features.ids)] if places.size else []


@_parts.register
def _(features: GroupFeatures, places: Places) -> list[Part]:
    return _parts(features.flat, places)


@_parts.register
def _(features: StumpFeatures, places: Places) -> list[Part]:
    return [Thresholds(places, features.column, features.threshold)] if places.size else []


@_parts.register
def _(features: ProductFeatures, places: Places) -> list[Part]:
    single = features.dtype == np.float32
    return [Products(places, features.left, features.right, single)] if places.size else []


@_parts.register
def _(features: PieceFeatures, places: Places) -> list[Part]:
    if not places.size:
        return []
    return [
        Balls(
            places,
            features.centres,
            features.squared_radii,
            features.coordinates.mean,
            features.coordinates.unit,
            features.form == "paper",
        )
    ]


@_parts.register
def _(features: TemplateFeatures, places: Places) -> list[Part]:
    if not places.size:
        return []
    templates, template = _different(features.templates)
    masks_down, down = _different(features.down)
    masks_across, across = _different(features.across)
    return [
        Matches(
            places,
            features.image_shape,
            features.unit,
            templates,
            masks_down,
            masks_across,
            template,
            down,
            across,
        )
    ]


@_parts.register
def _(features: UnionFeatures, places: Places) -> list[Part]:
    of_members = np.argsort(np.repeat(features.which, features.widths), kind="stable")
    stops = np.cumsum([0, *(member.n_columns for member in features.members)])
    parts = []
    for member, start, stop in zip(features.members, stops[:-1], stops[1:], strict=True):
        parts += _parts(member, places[of_members[start:stop]])
    return parts


def _different(
    arrays: list[NDArray[np.float32]],
) -> tuple[list[NDArray[np.float32]], NDArray[np.intp]]:
    """Return the different ones among some arrays, and which of them each is."""
    known: dict[tuple[Any, ...], int] = {}
    which = [known.setdefault((a.shape, a.tobytes()), len(known)) for a in arrays]
    first = np.unique(np.array(which, dtype=np.intp), return_index=True)[1]
    return [arrays[place] for place in first], np.array(which, dtype=np.intp)
