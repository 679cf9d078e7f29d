"""Image templates under masks as candidates, section 7.4 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..arrays import beside, columns_type, empty_beside, is_host, ranges, standard_namespace
from ..inputs import backend_module
from ..kernels import MIDDLE
from ..validation import at_least, from_zero, image_shape_of_rows, one_of, positive
from . import patches
from .base import POWERS, Atoms, Floats, Pool, Sums
from .features import ATOMS, Features, Ids, ImageShape, Numbers, Positive, Reals, Stacks
from .patches import CHUNK_IMAGES, Images, as_images
from .table import Table, Vector

# Atoms a part, images a batch, templates a matrix product: statistics, values and
# responses that stay in the second cache.
PART_ATOMS = 512
BATCH_IMAGES = 64
CHUNK_TEMPLATES = 256
# From so many templates of one size on, the responses of an image are computed together. Of MNIST's
# digits that is faster from some 40 on, of images without black pixels from some 100 on.
MANY_TEMPLATES = 64
# Images from which the range of every template's responses is estimated.
SAMPLE_IMAGES = 1000
# Where the centre of a mask may be, in pixels from the image's corner.
FARTHEST = 1 << 24
# Relative to the mean deviation of all columns.
SMALLEST_DEVIATION = 0.01


class _Size(NamedTuple):
    """Templates of one size and their masks; atoms run over templates, then masks."""

    templates: NDArray[np.float32]  # (f, rows, columns, channels)
    down: NDArray[np.float32]  # (a, places down)
    across: NDArray[np.float32]  # (b, places across)
    centres: NDArray[np.float64]  # (a * b, 2), of the masks, in pixels

    @property
    def n_masks(self) -> int:
        return len(self.centres)

    @property
    def n_atoms(self) -> int:
        return len(self.templates) * self.n_masks


@dataclass(frozen=True)
class TemplateFeatures(Features):
    """Chosen templates, each with its mask."""

    kind = "templates"

    ids: Ids
    numbers: Numbers  # of the templates
    image_shape: Annotated[tuple[int, int, int], ImageShape()]
    unit: Annotated[float, Positive()]  # what pixels are divided by for responses
    # (rows, columns, channels), (places down,) and (places across,) each
    templates: Annotated[list[NDArray[np.float32]], Stacks(index="template", ndim=3)]
    down: Annotated[list[NDArray[np.float32]], Stacks("masks_down", index="down")]
    across: Annotated[list[NDArray[np.float32]], Stacks("masks_across", index="across")]
    centres: Annotated[NDArray[np.float64], Reals(shape=(ATOMS, 2), largest=FARTHEST)]

    def inconsistency(self, n_columns_in: int) -> str | None:
        height, width, channels = self.image_shape
        for template, *mask in zip(self.templates, self.down, self.across, strict=True):
            places = [height - template.shape[0] + 1, width - template.shape[1] + 1]
            fits = template.size and min(places) >= 1 and template.shape[2] == channels
            if not fits or [side.size for side in mask] != places:
                return f"a template or a mask that does not fit images of {height} x {width}"
        if any(mask.min(initial=0.0) < 0.0 for mask in (*self.down, *self.across)):
            return "a mask below zero"
        return None

    def columns(self, X: Any) -> Any:
        X = X.tocsr() if hasattr(X, "tocsr") else X
        n = X.shape[0]
        columns = empty_beside(X, (self.n_columns, n), columns_type(X))
        for rows in ranges(n, CHUNK_IMAGES) if is_host(X) else [slice(0, n)]:
            self.write(X[rows], columns[:, rows])
        return columns.T

    def scratch(self, n_columns_in: int) -> int:
        pixels = max((template.size for template in self.templates), default=0)
        return 4 * (5 + pixels) * n_columns_in

    def write(self, X: Any, out: Any) -> None:
        """Write the columns for some rows of X into out, (n_columns, n)."""
        xp = standard_namespace(out)
        if is_host(out):
            from ..kernels.templates import template_column
        else:
            template_column = backend_module(out, "kernels").template_column
        images = as_images(X, slice(None), self.image_shape, self.unit)
        column = xp.empty_like(images[:, 0, 0, 0])
        shapes = [template.shape for template in self.templates]
        for shape in dict.fromkeys(shapes):
            places = [place for place, each in enumerate(shapes) if each == shape]
            if is_host(out) and len(places) >= MANY_TEMPLATES:
                out[places] = self._together(images, places).T * self.unit
                continue
            for place in places:
                arrays = self.templates[place], self.down[place], self.across[place]
                template, down, across = (beside(out, array) for array in arrays)
                template_column(images, template, down, across, column)
                out[place] = column * self.unit

    def _together(self, images: Images, places: list[int]) -> NDArray[np.float32]:
        """Return the responses of NumPy's images to templates of one size, (n, templates)."""
        from ..kernels.templates import template_columns

        taps, down, across = (
            np.ascontiguousarray(np.array([arrays[place].ravel() for place in places]).T)
            for arrays in (self.templates, self.down, self.across)
        )
        rows, columns, channels = self.templates[places[0]].shape
        line = np.arange(columns * channels)
        offsets = (np.arange(rows)[:, None] * images.shape[2] * channels + line).ravel()
        responses = np.empty((len(images), len(places)), dtype=np.float32)
        template_columns(images, taps, offsets, down, across, responses)
        return responses

    def names(self, input_names: Sequence[str]) -> list[str]:
        centres = np.floor(self.centres + 0.5).astype(int).tolist()
        return [
            f"template {number} at ({y}, {x})"
            for number, (y, x) in zip(self.numbers, centres, strict=True)
        ]

    def parts(self, places: NDArray[np.intp]) -> Iterator[tuple[str, dict[str, Any]]]:
        names = ("image_shape", "unit", "templates", "down", "across")
        yield "matches", {"places": places, **{name: getattr(self, name) for name in names}}

    def shares(self, n_columns_in: int) -> sp.csr_array:
        """Return the shares: a pixel's is what it can add, summed over the places of the mask."""
        from scipy.signal import convolve

        sums = np.empty((self.ids.size, n_columns_in))
        templates = zip(self.templates, self.down, self.across, strict=True)
        for added, (template, down, across) in zip(sums, templates, strict=True):
            mask = np.outer(down, across)[:, :, None].astype(np.float64)
            added[:] = convolve(mask, np.abs(template.astype(np.float64)), method="direct").ravel()
        return sp.csr_array(sums / sums.sum(axis=1, keepdims=True))


class _ImageBlock(NamedTuple):
    codes: NDArray[np.uint8]  # (atoms, n)
    source: Any  # rows of X


class Templates(Pool):
    """Small templates, matched anywhere in an image but weighted by a mask.

    A feature is the largest over all places of the image of the template's response,
    its inner product with the pixels there, times a Gaussian mask:
    ``max over (y, x) of (image * template)(y, x) * mask(y, x)``. The templates are the
    centres of random patches, and every template comes with every mask of a grid.

    Parameters
    ----------
    n_templates : int, default=1000
        Templates of each size.
    image_shape : tuple, optional
        (height, width) or (height, width, channels) of the images, which are the rows of
        X, row by row, channels last. None takes them for square images of one channel.
    patch_size : int, tuple or list, default=7
        Size of the templates: that of a square, (rows, columns), or a list of sizes.
    masks : int, default=4
        The masks' centres are a grid of so many rows and columns, where a patch has so many
        places.
    sigma : float, default=6.0
        Deviation of the Gaussian masks in pixels.
    n_patches : int, default=400_000
        Random patches that are clustered for the templates of a size.
    min_deviation : float, default=0.1
        Patches whose pixels have a lower standard deviation, in units of the largest
        magnitude in X, are left out. The others are made zero-mean and unit-norm.
    scale : {"root", "deviation", "none"}, default="root"
        What a column is divided by before it is scored and trained on: the square root of
        its standard deviation, that deviation, or one number for all columns, the mean
        deviation. ``"none"`` favours templates with large responses, ``"deviation"`` takes
        all alike; for the choice see docs/defaults.md.
    random_state : int, RandomState or None, default=0
        Of the patches and their clustering.
    templates : array-like or list of them, optional
        Templates of your own, taken as they are: (n, rows, columns) or (n, rows, columns,
        channels), a list of such for several sizes. No patches are drawn then, and
        ``n_templates``, ``patch_size``, ``n_patches`` and ``min_deviation`` do not count.

    Notes
    -----
    Selection works on codes of one byte a feature and image: 60,000 images and 16,000
    templates take 960 MB. The columns of the chosen templates are computed exactly, and
    by the same code in training and in prediction. Deviations and the range of codes are
    those of up to 1000 random images. Patches are drawn from all images alike,
    whatever their weights.
    """

    slow_columns = True
    published: ClassVar[dict[str, Any]] = {"scale": "none", "min_deviation": 0.0}

    def __init__(
        self,
        n_templates: int = 1000,
        image_shape: tuple[int, ...] | None = None,
        patch_size: int | tuple[int, int] | list[Any] = 7,
        masks: int = 4,
        sigma: float = 6.0,
        n_patches: int = 400_000,
        min_deviation: float = 0.1,
        scale: str = "root",
        random_state: Any = 0,
        templates: ArrayLike | list[ArrayLike] | None = None,
    ):
        self.n_templates = n_templates
        self.image_shape = image_shape
        self.patch_size = patch_size
        self.masks = masks
        self.sigma = sigma
        self.n_patches = n_patches
        self.min_deviation = min_deviation
        self.scale = scale
        self.random_state = random_state
        self.templates = templates

    def learn(self, table: Table, centred: bool) -> None:
        self.image_shape_ = image_shape_of_rows(table.n_columns, self.image_shape, "X")
        height, width, _ = self.image_shape_
        for name in ("n_templates", "masks", "n_patches"):
            at_least(name, getattr(self, name), 1, "Templates")
        one_of("scale", self.scale, POWERS, "Templates")
        positive("sigma", self.sigma, "Templates")
        from_zero("min_deviation", self.min_deviation, owner="Templates")
        X, _ = table.gathered(self.random_state)
        rng = check_random_state(self.random_state)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        largest = float(max(X.max(), -float(X.min())))
        self.unit_ = patches.unit_of(largest)
        self.sizes_ = []
        for templates in self._templates(X, rng, self.min_deviation * largest / self.unit_):
            down, rows = patches.gaussians(height, templates.shape[1], self.masks, self.sigma)
            across, columns = patches.gaussians(width, templates.shape[2], self.masks, self.sigma)
            centres = np.array([(y, x) for y in rows for x in columns])
            self.sizes_.append(_Size(templates, down, across, centres))
        self.starts_ = np.cumsum([0, *(size.n_atoms for size in self.sizes_)])
        self.n_atoms_ = int(self.starts_[-1])
        self.dtype_ = self.sums_dtype_ = np.dtype(np.float32)
        self.centred_ = centred
        sample = np.sort(rng.choice(X.shape[0], min(SAMPLE_IMAGES, X.shape[0]), replace=False))
        self._calibrate(X, sample, centred)

    def _templates(
        self, X: Any, rng: np.random.RandomState, smallest: float
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the templates of each size, (n, rows, columns, channels)."""
        shape = self.image_shape_
        if self.templates is not None:
            yield from patches.given_templates(self.templates, shape)
            return
        limits = self.n_patches, smallest, self.unit_
        for size in patches.patch_sizes(self.patch_size, shape):
            drawn = patches.random_patches(X, shape, size, *limits, rng)
            if len(drawn) < self.n_templates:
                raise ValueError(
                    f"n_templates={self.n_templates} is more than the {len(drawn)} patches of size "
                    f"{size[0]} x {size[1]} that were drawn and vary: Templates takes at most as "
                    "many. Lower it or min_deviation, or raise n_patches or the number of images."
                )
            centres = patches.cluster(drawn, self.n_templates, rng, "clustering patches")
            yield centres.reshape(-1, *size, shape[2])

    def widen(self) -> Self:
        """Compute columns in float64; sums stay those of codes."""
        self.dtype_ = np.dtype(np.float64)
        return self

    def parts(self, n_classes: int) -> list[slice]:
        return ranges(self.n_atoms_, PART_ATOMS)

    def encode(self, X: Any, rows: slice) -> _ImageBlock:
        """Return the codes of all atoms, and the rows themselves for exact columns."""
        from ..kernels.templates import quantise

        n = rows.stop - rows.start
        codes = np.empty((self.n_atoms_, n), dtype=np.uint8)
        for batch in ranges(n, BATCH_IMAGES):
            some = slice(rows.start + batch.start, rows.start + batch.stop)
            images = as_images(X, some, self.image_shape_, self.unit_)
            quantise(self._values(images), self.low_, self.step_, codes[:, batch])
        return _ImageBlock(codes, X[rows])

    def stats(
        self, data: Any, rows: Any, part: slice, out: Sums | None = None, squares: bool = False
    ) -> Floats:
        """Return the sums of rows times codes, (1, k, atoms of the part + 1), the last of rows.

        For squares (2, k, atoms of the part + 1): also times the squares of the codes, which
        then count from the middle of a byte.
        """
        from ..kernels.products import add_product_transposed
        from ..kernels.templates import add_moments

        if out is None:
            out = np.zeros((1 + squares, rows.shape[0], part.stop - part.start + 1))
        if squares:
            add_moments(data.codes[part], rows, out[:, :, :-1])
        else:
            add_product_transposed(rows, data.codes[part], out[0, :, :-1])
        out[0, :, -1] += rows.sum(axis=1, dtype=np.float64)
        return out

    def correlations(self, stats: Sums, part: slice) -> Sums:
        low, step = self._scaled_codes(part)
        return stats[0, :, :-1] * step + stats[0, :, -1:] * low

    def moments(self, stats: Sums, part: slice) -> tuple[Sums, Sums]:
        """Return the sums, where columns are centred for the columns less their middle codes."""
        low, step = self._scaled_codes(part)
        first, second = stats[0, :, :-1] * step, stats[1, :, :-1] * step**2
        if self.centred_:
            return first, second
        middle, total = low + float(MIDDLE) * step, stats[0, :, -1:]
        return first + middle * total, second + middle * (2.0 * first + middle * total)

    def _scaled_codes(self, part: slice) -> tuple[Any, Any]:
        """Return the lowest value of each scaled column, and the step of its codes."""
        low, step, scale = (self._learned(name)[part] for name in ("low_", "step_", "scale_"))
        ratio = self.unit_ / scale
        return low * ratio, step * ratio

    def columns(self, data: _ImageBlock, atom: int) -> Floats:
        out = np.empty((1, data.source.shape[0]), dtype=np.float32)
        self.features([atom]).write(data.source, out)
        return out

    def features(self, atoms: Atoms) -> TemplateFeatures:
        ids = np.asarray(atoms, dtype=np.intp)
        which = np.searchsorted(self.starts_, ids, side="right") - 1
        numbers, templates, down, across, centres = [], [], [], [], []
        for number, atom in zip(which.tolist(), (ids - self.starts_[which]).tolist(), strict=True):
            size = self.sizes_[number]
            template, mask = divmod(atom, size.n_masks)
            a, b = divmod(mask, len(size.across))
            numbers.append(sum(len(s.templates) for s in self.sizes_[:number]) + template)
            templates.append(size.templates[template])
            down.append(size.down[a])
            across.append(size.across[b])
            centres.append(size.centres[mask])
        images = np.array(numbers, dtype=np.intp), self.image_shape_, self.unit_
        places = np.reshape(centres, (-1, 2))
        return TemplateFeatures(ids, *images, templates, down, across, places)

    def reads(self, n_columns_in: int) -> None:
        check_is_fitted(self)

    def _calibrate(self, X: Any, sample: NDArray[np.intp], centred: bool) -> None:
        """Set the range of every atom's codes and the scale of its column, by some images."""
        images = as_images(X, sample, self.image_shape_, self.unit_)
        low = np.full(self.n_atoms_, np.inf, dtype=np.float32)
        high, (first, second) = -low, np.zeros((2, self.n_atoms_))
        for batch in ranges(len(images), BATCH_IMAGES):
            values = self._values(images[batch])
            low, high = np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))
            first += values.sum(axis=0, dtype=np.float64)
            second += np.square(values, dtype=np.float64).sum(axis=0)
        self._set_codes(low, high, first / len(images), second / len(images), centred)

    def _set_codes(
        self, low: Floats, high: Floats, mean: Vector, square: Vector, centred: bool
    ) -> None:
        """Set the range of codes and the scales from ranges, means and mean squares."""
        spread = high - low
        self.low_ = low - np.float32(0.05) * spread
        self.step_ = np.maximum(spread * np.float32(1.1 / 255.0), np.float32(1e-30))
        about = np.sqrt(np.maximum(square - mean**2, 0.0) if centred else square)
        typical = float(about.mean()) or 1.0
        # A response that hardly varies among the sampled images may well among the others.
        about = np.maximum(about, SMALLEST_DEVIATION * typical)
        power = POWERS[self.scale]
        self.scale_ = self.unit_ * about**power * typical ** (1.0 - power)

    def _values(self, images: Images) -> NDArray[np.float32]:
        """Return the values of all atoms, (images, n_atoms)."""
        from ..kernels.templates import masked_maxima

        values = np.empty((len(images), self.n_atoms_), dtype=np.float32)
        for size, start, stop in zip(self.sizes_, self.starts_[:-1], self.starts_[1:], strict=True):
            f, rows, columns, channels = size.templates.shape
            flat = np.ascontiguousarray(size.templates.reshape(f, -1).T)  # (pixels, f)
            places = (size.down.shape[1], size.across.shape[1])
            masked = (len(size.down), len(size.across))
            target = values[:, start:stop].reshape(len(images), f, size.n_masks)
            for image, out in zip(images, target, strict=True):
                windows = sliding_window_view(image, (rows, columns, channels))
                flattened = windows.reshape(places[0] * places[1], -1)
                for some in ranges(f, CHUNK_TEMPLATES):
                    responses = (flattened @ flat[:, some]).reshape(*places, -1)
                    best = np.empty((*masked, responses.shape[2]), dtype=np.float32)
                    masked_maxima(responses, size.down, size.across, best)
                    out[some] = best.reshape(size.n_masks, -1).T
        return values
