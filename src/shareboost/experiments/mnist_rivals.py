"""The rivals of the paper's table 1, run on MNIST: errors, run time and training time.

Each is measured apart. Run times are those of one thread on the processor, wherever a method was
trained: the median over batches of about 100 images, for one image of a batch. Multiply-adds are
counted by formula.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, mode
from sklearn.neighbors import KNeighborsClassifier

from ..datasets import Dataset
from . import networks, shape_context, vector_machines
from .experiment import Row
from .lab import Lab
from .parallel import in_threads
from .samples import sample
from .timing import BATCH, TIMED, milliseconds
from .vector_machines import Kernel

Array = NDArray[Any]

SIDE = 28
MORE = range(4, 13)  # neighbours that the paper tried too
CHOICE = 10_000  # training images that choose an SVM's parameters
SHAPES = 500  # test images matched by shape contexts: 10 minutes on two cores
SHAPES_A_PART = 100

CHOSEN = f"""Of the rivals, 3NN, the shape contexts (100 points, 12 directions, 5 rings) and the
nets (widths, learning rates and epochs; the last weights count) take fixed settings. The kernel's
shape and C of each SVM are those with the fewest errors on 2,500 held-out images of {CHOICE:,}
random training images, and are then used on all; the machine with virtual support vectors has
those of the plain one. No test image chose anything. Run times are of one thread on the processor,
for one image of a batch of {BATCH}, the median over {TIMED} batches; shape contexts are searched
one image at a time.
"""


def measure(lab: Lab, data: Dataset) -> list[Row]:
    """Return a row a method: its error with a 95% interval, run time, size and training time.

    Keys: ``method``, ``error`` and ``tested`` (share and number of test images), ``error_low``
    and ``error_high`` (Wilson's interval), ``milliseconds`` and ``multiply_adds`` of one test
    image, ``training_seconds``, ``note``.

    Parameters
    ----------
    lab : Lab
        A quick one takes samples of the data.
    data : Dataset
        MNIST: rows of 784 pixels, uint8.
    """
    if lab.quick:
        data = sample(data, 1000, 500)
    rows = [lab.part("3NN", lambda: nearest_pixels(data), (3, *MORE))]
    for recipe in (networks.MULTILAYER, networks.CONVOLUTIONAL):
        work = partial(network, lab, recipe, data)
        rows.append(lab.part(recipe.name, work, recipe.settings(lab.device)))
    rows.append(radial(lab, data))
    rows += polynomial(lab, data)
    rows.append(shapes(lab, data))
    return rows


def row(method: str, wrong: int, tested: int, **others: Any) -> Row:
    """Return a method's row, with the Wilson interval of its error."""
    interval = binomtest(wrong, tested).proportion_ci(0.95, method="wilson")
    low, high = float(interval.low), float(interval.high)
    return {
        "method": method,
        "error": wrong / tested,
        "tested": tested,
        "error_low": low,
        "error_high": high,
        **others,
    }


def nearest_pixels(data: Dataset) -> Row:
    """Return the row of three nearest neighbours by the distance of pixels."""
    started = time.perf_counter()
    model = KNeighborsClassifier(3, algorithm="brute").fit(
        data.X_train.astype(np.float32), data.y_train
    )
    trained = time.perf_counter() - started

    def predict(X: Array) -> Array:
        return model.predict(X.astype(np.float32))

    nearest = model.kneighbors(
        data.X_test.astype(np.float32), n_neighbors=max(MORE), return_distance=False
    )
    votes = data.y_train[nearest]  # the lowest of the most frequent labels wins, as in predict
    wrong = {q: (mode(votes[:, :q], axis=1).mode != data.y_test).sum() for q in (3, *MORE)}
    return row(
        "3NN",
        int(wrong[3]),
        len(data.y_test),
        milliseconds=milliseconds(predict, data.X_test),
        multiply_adds=data.X_train.size,
        training_seconds=trained,
        least_of_more=min(int(wrong[q]) for q in MORE) / len(data.y_test),
        note=f"all {len(data.X_train)} training images kept",
    )


def network(lab: Lab, recipe: networks.Recipe, data: Dataset) -> Row:
    """Return the row of a neural net."""
    networks.import_torch()  # not a part of the training time
    epochs = 2 if lab.quick else recipe.epochs(lab.device)
    started = time.perf_counter()
    net = networks.train(recipe, data.X_train, data.y_train, epochs, lab.device)
    trained = time.perf_counter() - started

    def predict(X: Array) -> Array:
        return networks.predict(net, X)

    return row(
        recipe.name,
        int((predict(data.X_test) != data.y_test).sum()),
        len(data.y_test),
        milliseconds=milliseconds(predict, data.X_test),
        multiply_adds=networks.multiply_adds(net),
        training_seconds=trained,
        note=f"{epochs} epochs of freshly deformed images on {lab.device or 'cpu'}, last weights",
    )


def candidates(kind: str) -> list[tuple[Kernel, float]]:
    """Return the kernels of a kind and the C to choose from."""
    shapes = {"rbf": (1.0, 2.0, 4.0), "poly": (0.0, 1.0, 3.0)}[kind]
    return [(Kernel(kind, shape), C) for shape, C in product(shapes, (1.0, 10.0))]


def chosen(lab: Lab, name: str, kind: str, data: Dataset) -> tuple[Kernel, float]:
    """Return the kernel and C for a machine, chosen on training images alone."""

    def choose() -> dict[str, Any]:
        some = sample(data, CHOICE, 0)
        (kernel, C), wrong = vector_machines.choose(candidates(kind), some.X_train, some.y_train)
        return {"kernel": kernel._asdict(), "C": C, "wrong": wrong}

    found = lab.part(f"{name}: choice", choose)
    return Kernel(**found["kernel"]), found["C"]


def machine(
    method: str, kernel: Kernel, C: float, data: Dataset, note: str = ""
) -> tuple[Row, Array]:
    """Return the row of a support vector machine and the places of its support vectors."""
    started = time.perf_counter()
    model = vector_machines.fit(data.X_train, data.y_train, kernel, C)
    trained = time.perf_counter() - started
    found = by_blocks(model.predict, data.X_test)
    return row(
        method,
        int((found != data.y_test).sum()),
        len(data.y_test),
        milliseconds=milliseconds(model.predict, data.X_test),
        multiply_adds=model.multiply_adds,
        training_seconds=trained,
        note=f"{len(model.support)} distinct support vectors of {len(data.X_train)} images{note}; "
        f"one against one; {kernel} of unit rows, C={C:g}",
    ), model.support


def radial(lab: Lab, data: Dataset) -> Row:
    """Return the row of the SVM with a Gaussian kernel."""
    name = "SVM, RBF kernel"
    kernel, C = chosen(lab, name, "rbf", data)
    found: Row = lab.part(name, lambda: machine(name, kernel, C, data)[0], (kernel, C))
    return found


def polynomial(lab: Lab, data: Dataset) -> list[Row]:
    """Return the rows of the SVM of degree 9, on the training images and on virtual ones."""
    name, virtual = "SVM 9-poly", "SVM 9-poly, virtual support vectors"
    kernel, C = chosen(lab, name, "poly", data)

    def first() -> dict[str, Any]:
        found, support = machine(name, kernel, C, data)
        marks = np.zeros(len(data.X_train), dtype=bool)
        marks[support] = True
        # A bit an image: short enough for the next part to read, on another day too.
        return {"row": found, "support": np.packbits(marks).tobytes().hex()}

    plain = lab.part(name, first, (kernel, C))

    def second() -> Row:
        bits = np.frombuffer(bytes.fromhex(plain["support"]), dtype=np.uint8)
        support = np.unpackbits(bits, count=len(data.X_train)).astype(bool)
        images = vector_machines.with_shifts(data.X_train[support].reshape(-1, SIDE, SIDE))
        labels = np.tile(data.y_train[support], len(images) // int(support.sum()))
        moved = Dataset(images.reshape(len(images), -1), labels, data.X_test, data.y_test)
        note = ", the first machine's support vectors and four shifts of each"
        return machine(virtual, kernel, C, moved, note)[0]

    return [plain["row"], lab.part(virtual, second, (kernel, C))]


def shapes(lab: Lab, data: Dataset) -> Row:
    """Return the row of three nearest neighbours under shape context matching."""
    data = sample(data, 500, 10) if lab.quick else sample(data, len(data.X_train), SHAPES)
    described = cache(lambda: describe(data.X_train))  # not at all where all parts are there
    parts = []
    for start in range(0, len(data.y_test), SHAPES_A_PART):
        test = slice(start, start + SHAPES_A_PART)
        some = Dataset(data.X_train, data.y_train, data.X_test[test], data.y_test[test])
        block = partial(search, described, some)
        key = f"Shape Context, test images from {start}"
        parts.append(lab.part(key, block, (shape_context.POINTS, shape_context.BINS)))
    n_train = len(data.X_train)
    whole = float(np.median([part["comparison"] for part in parts])) * n_train
    matched = np.median([count for part in parts for count in part["matched"]])
    tested = len(data.y_test)
    return row(
        "Shape Context, 3NN",
        sum(part["wrong"] for part in parts),
        tested,
        milliseconds=1000 * float(np.median([s for part in parts for s in part["seconds"]])),
        multiply_adds=shape_context.POINTS**2 * shape_context.BINS * n_train,
        training_seconds=parts[0]["describing"],
        note=f"{tested} test images at random, timed one at a time; matching alone, no warps and "
        f"no grey values; exact, with bounds that leave {matched:.0f} matchings an image (median): "
        f"{whole:.1f} s an image without them; multiply-adds of the costs of all pairs, without "
        "bounds and matchings",
    )


def describe(X: Array) -> tuple[Array, float]:
    """Return the shape contexts of rows of pixels and the seconds they took."""
    started = time.perf_counter()
    found = by_blocks(shape_context.all_descriptors, X.reshape(-1, SIDE, SIDE))
    return found, time.perf_counter() - started


def search(described: Callable[[], tuple[Array, float]], data: Dataset) -> dict[str, Any]:
    """Return the errors of some test images and the effort of each, in seconds of a thread."""
    training, describing = described()

    def one(image: Array) -> tuple[Any, float, int]:
        started = time.thread_time()
        query = shape_context.all_descriptors(image.reshape(1, SIDE, SIDE))[0]
        found = shape_context.nearest(query, training)
        seconds = time.thread_time() - started
        return vote(data.y_train[found.places]), seconds, found.n_matched

    one(data.X_test[0])  # loads the kernels
    labels, seconds, matched = zip(*in_threads(one, data.X_test), strict=True)
    some = training[:: max(1, len(training) // 200)]
    started = time.thread_time()
    for image in some:
        shape_context.matching_cost(training[0], image)
    return {
        "wrong": int(np.count_nonzero(labels != data.y_test)),
        "seconds": seconds,
        "matched": matched,
        "comparison": (time.thread_time() - started) / len(some),
        "describing": describing,
    }


def by_blocks(work: Callable[[Array], Array], items: Array) -> Array:
    """Return ``work(items)``, in blocks that threads share."""
    return np.concatenate(in_threads(work, np.array_split(items, -(-len(items) // 256))))


def vote(labels: Array) -> Any:
    """Return the label of most neighbours, that of the nearest among equals; nearest first."""
    values, first, counts = np.unique(labels, return_index=True, return_counts=True)
    return values[np.lexsort((first, -counts))[0]]
