"""How templates are made: random patches of images, the centres they cluster into, and masks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from ..arrays import columns_type, dense, is_host, ranges, standard_namespace
from ..inputs import backend_module
from ..progress import track
from ..threads import blas
from ..validation import at_least

Images = NDArray[np.float32]  # (n, height, width, channels)
Shape = tuple[int, int, int]  # height, width and channels
Places = NDArray[np.intp]

# Images that are read at a time.
CHUNK_IMAGES = 4096
# Patches drawn at a time, and how often at most.
BATCH = 1 << 16
MAX_BATCHES = 100
# Bounds of the largest magnitude in all images: within them float32 holds all responses.
SMALLEST_PIXEL, LARGEST_PIXEL = 1e-36, 1e36
# Lloyd's steps, some at a time so that progress can be shown. Centres of patches or of
# digits hardly move after these.
STAGES = 5
# Centres that are compared with all others at a time.
CHUNK_CENTRES = 256
STEPS = 5


def as_images(X: Any, rows: slice | Places, shape: Shape, unit: float) -> Images:
    """Return some rows of X, over a power of two, as images in float32."""
    part = dense(X[rows])
    xp = standard_namespace(part)
    if unit != 1.0:  # which no integer type need hold
        part = xp.astype(part, columns_type(part)) * (1.0 / unit)
    images = xp.reshape(xp.astype(part, xp.float32, copy=False), (-1, *shape))
    return np.ascontiguousarray(images) if is_host(images) else images


def unit_of(largest: float) -> float:
    """Return the power of two by which pixels must be divided for float32, mostly 1."""
    if largest != 0.0 and not SMALLEST_PIXEL <= largest <= LARGEST_PIXEL:
        raise FloatingPointError(
            f"The largest magnitude in X is {largest:g}: Templates computes in float32, and takes "
            f"images whose largest magnitude is between {SMALLEST_PIXEL:g} and "
            f"{LARGEST_PIXEL:g}. Divide X by its largest magnitude first."
        )
    if largest == 0.0 or 1e-6 < largest < 1e6:
        return 1.0
    return float(2.0 ** np.floor(np.log2(largest)))


def patch_sizes(patch_size: Any, shape: Shape) -> list[tuple[int, int]]:
    """Return the sizes asked for, (rows, columns) each; an integer stands for a square."""
    height, width, channels = shape
    sizes: list[Any] = []
    for size in patch_size if isinstance(patch_size, list) else [patch_size]:
        pair = size if isinstance(size, tuple) else (size, size)
        sizes.append(tuple(at_least("patch_size", side, 1, "Templates") for side in pair))
    fit = all(
        len(size) == 2 and size[0] <= height and size[1] <= width and np.prod(size) * channels > 1
        for size in sizes
    )
    if not sizes or not fit or len(set(sizes)) < len(sizes):
        raise ValueError(
            f"patch_size={patch_size!r} is not valid for Templates: it takes an integer, a pair "
            "(rows, columns) or a list of unlike sizes, of at least 2 numbers and at most those of "
            f"the images, {height} x {width}."
        )
    return sizes


def random_patches(
    X: Any,
    shape: Shape,
    size: tuple[int, int],
    n_patches: int,
    smallest: float,
    unit: float,
    rng: np.random.RandomState,
) -> NDArray[np.float32]:
    """Return up to ``n_patches`` random patches that vary, each of zero mean and norm 1.

    All of them where there are fewer. A patch varies if the standard deviation of its
    pixels, divided by the unit, is above ``smallest``. They are where X is: X may be a tensor.
    """
    n_places = X.shape[0] * (shape[0] - size[0] + 1) * (shape[1] - size[1] + 1)
    few = n_places <= 2 * n_patches
    order = rng.permutation(n_places) if few else None
    varied: list[Any] = []
    n_varied = 0
    for start in range(0, n_places if few else MAX_BATCHES * BATCH, BATCH):
        drawn = rng.randint(n_places, size=BATCH) if order is None else order[start : start + BATCH]
        patches = _cut(X, shape, size, drawn, unit)
        patches -= patches.mean(axis=1, keepdims=True)
        norms = standard_namespace(patches).linalg.vector_norm(patches, axis=1, keepdims=True)
        varies = norms[:, 0] > max(smallest, 1e-30) * float(np.sqrt(patches.shape[1]))
        varied.append(patches[varies] / norms[varies])
        n_varied += int(varies.sum())
        if n_varied >= n_patches:
            break
    return standard_namespace(varied[0]).concat(varied)[:n_patches]


def given_templates(templates: Any, shape: Shape) -> list[NDArray[np.float32]]:
    """Return a user's templates, (n, rows, columns, channels) for each size."""
    height, width, channels = shape
    arrays = []
    for some in templates if isinstance(templates, list) else [templates]:
        with np.errstate(over="ignore"):  # what float32 cannot hold is refused as infinite
            array = check_array(some, dtype=np.float32, allow_nd=True, input_name="templates")
        array = np.ascontiguousarray(array[..., None] if array.ndim == 3 else array)
        fits = array.ndim == 4 and array.size and array.shape[3] == channels
        if not fits or array.shape[1] > height or array.shape[2] > width:
            raise ValueError(
                f"templates has an array of shape {array.shape}, which does not fit images of "
                f"{height} x {width} and {channels} channels: it takes (n, rows, columns[, "
                "channels]), or a list of such arrays."
            )
        arrays.append(array)
    if not arrays:
        raise ValueError("templates=[] is not valid for Templates: it takes at least one array.")
    return arrays


def _cut(X: Any, shape: Shape, size: tuple[int, int], places: Places, unit: float) -> Any:
    """Return the patches at the given places, one row each."""
    height, width, channels = shape
    down, across = height - size[0] + 1, width - size[1] + 1
    image, place = np.divmod(places, down * across)
    y, x = np.divmod(place, across)
    corner = (y * width + x) * channels
    row = np.arange(size[0])[:, None] * (width * channels)
    inside = (row + np.arange(size[1] * channels)).ravel()  # pixels of a patch, from its corner on
    if not is_host(X):
        return backend_module(X, "kernels").pixels(X, image, corner, inside, unit)
    used, image = np.unique(image, return_inverse=True)
    patches = np.empty((places.size, inside.size), dtype=np.float32)
    for some in ranges(used.size, CHUNK_IMAGES):
        images = as_images(X, used[some], shape, unit).reshape(-1, height * width * channels)
        mine = np.flatnonzero((some.start <= image) & (image < some.stop))
        patches[mine] = images[image[mine, None] - some.start, corner[mine, None] + inside]
    return patches


def cluster(
    points: Any,
    n_centres: int,
    rng: np.random.RandomState,
    what: str,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float32]:
    """Return up to ``n_centres`` distinct centres of the points, by k-means.

    Begins at random points and takes 25 of Lloyd's steps, where the points are: scikit-learn's
    in float32 NumPy, our own on a torch device. Centres that differ by no more than rounding
    are one.
    """
    first = rng.choice(len(points), n_centres, replace=False)
    seed = rng.randint(2**31)
    if not is_host(points):
        lloyd = backend_module(points, "kernels").lloyd
        centres = lloyd(points, first, STAGES * STEPS, what, weight)
        return centres[_distinct(centres)]
    from sklearn.cluster import KMeans  # a heavy import

    steps = {"n_init": 1, "max_iter": STEPS, "tol": 0.0, "random_state": seed}
    centres = points[first]
    # With several threads scikit-learn adds their sums in the order they end.
    with blas.single_threaded(), threadpool_limits(1, "openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of centres that are one
        for _ in track(range(STAGES), what, STAGES):
            means = KMeans(len(centres), init=centres, **steps)
            centres = means.fit(points, sample_weight=weight).cluster_centers_
    return centres[_distinct(centres)]


def _distinct(centres: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return all centres but those that equal an earlier one up to rounding."""
    wide = centres.astype(np.float64)
    squares = np.square(wide).sum(axis=1)
    kept = np.zeros(len(wide), dtype=bool)
    for start in range(0, len(wide), CHUNK_CENTRES):
        some = slice(start, start + CHUNK_CENTRES)
        sizes = squares[some, None] + squares
        alike = sizes - 2.0 * (wide[some] @ wide.T) <= 1e-10 * sizes
        for i, same in enumerate(alike, start=start):
            kept[i] = not (same & kept).any()
    return np.flatnonzero(kept)


def gaussians(
    length: int, patch: int, n: int, sigma: float
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return n Gaussian weights over a patch's places along one side, and their centres.

    The weights are (n, places); the centres, spread evenly over the places, are those of
    the patch in pixels.
    """
    places = np.arange(length - patch + 1)
    n = min(n, places.size)  # no two masks nearer than a pixel
    middle = (np.arange(n) + 0.5) * places.size / n - 0.5
    weights = np.exp(-0.5 * ((places - middle[:, None]) / sigma) ** 2)
    # Never zero: a weight of zero would hide which place is best from the codes.
    weights = np.maximum(weights, 1e-30).astype(np.float32)
    return weights, middle + (patch - 1) / 2.0
