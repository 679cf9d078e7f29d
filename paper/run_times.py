"""Table 1's run times: one image at a time in one thread, each method by a fast implementation.

ShareBoost runs as its exported C, networks in onnxruntime, neighbours and support vectors as
products of matrices (BLAS). Times depend on sizes alone: what takes long to train has random
weights here.
"""

from __future__ import annotations

import ctypes
import io
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from shareboost.export import to_c

from . import networks
from .vector_machines import Kernel, Machine, unit_rows

Array = NDArray[Any]
Predictor = Callable[[Array], Any]  # of one image, a row of pixels

COMPILER = ("gcc", "-std=c99", "-O3", "-march=native", "-shared", "-fPIC")
IMAGES = 100  # of each method, in turns


def milliseconds(predictors: Mapping[str, Predictor], X: Array) -> dict[str, float]:
    """Return the median time of an image, for each predictor; they take turns."""
    found: dict[str, list[float]] = {name: [] for name in predictors}
    with threadpool_limits(1):
        for predict in predictors.values():
            predict(X[0])  # what is done once is not an image's
        for image in X[:IMAGES]:
            for name, predict in predictors.items():
                started = time.perf_counter()
                predict(image)
                found[name].append(1000 * (time.perf_counter() - started))
    return {name: float(np.median(times)) for name, times in found.items()}


def compiled(clf: Any) -> Predictor:
    """Return a fitted classifier as its exported C, compiled for this processor."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.h").write_text(to_c(clf))
        code = '#include "model.h"\nint predict(const float *x) { return shareboost_predict(x); }\n'
        (Path(folder) / "model.c").write_text(code)
        command = [*COMPILER, "model.c", "-o", "model.so"]
        subprocess.run(command, cwd=folder, check=True)
        library = ctypes.CDLL(str(Path(folder) / "model.so"))
    labels = clf.classes_

    def predict(image: Array) -> Any:
        row = image.astype(np.float32)
        return labels[library.predict(row.ctypes.data_as(ctypes.c_void_p))]

    return predict


def nearest(X: Array, y: Array) -> Predictor:
    """Return three nearest neighbours by the distance of pixels."""
    rows = X.astype(np.float32)
    squares = np.einsum("ij,ij->i", rows, rows)

    def predict(image: Array) -> Any:
        apart = squares - 2 * (rows @ image.astype(np.float32))
        return np.bincount(y[np.argpartition(apart, 3)[:3]]).argmax()

    return predict


def machine(n_support: int, kernel: Kernel, X: Array) -> Predictor:
    """Return a support vector machine of ten classes whose vectors are images, weighted anyhow."""
    random = np.random.default_rng(0)
    support = random.choice(len(X), n_support)
    n_pairs = len(list(combinations(range(10), 2)))
    weights = random.normal(size=(n_support, n_pairs)).astype(np.float32)
    vectors = unit_rows(X[support])
    found = Machine(kernel, np.arange(10), support, vectors, weights, np.zeros(n_pairs))
    return lambda image: found.predict(image[None])[0]


def network(recipe: networks.Recipe) -> Predictor:
    """Return a network of random weights in onnxruntime."""
    import onnxruntime

    torch = networks.import_torch()
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the newer exporter needs a package
        torch.onnx.export(
            recipe.build().eval(),
            (torch.zeros(1, networks.SIDE**2),),
            file,
            input_names=["X"],
            dynamo=False,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        file.getvalue(), options, providers=["CPUExecutionProvider"]
    )

    def predict(image: Array) -> Any:
        row = image[None].astype(np.float32) / 255
        return session.run(None, {"X": row})[0].argmax()

    return predict
