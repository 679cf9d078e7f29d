"""The figures of docs/export.md: exported predictors, one row at a time, as Markdown tables.

    python benchmarks/export.py [--full] [columns] [templates] [quantisation]

All predictors of a table are timed in turn, in one process and one thread, and a figure is the
median of the turns. C is compiled by ``gcc -std=c99 -O3 -march=native``; its rows are handed over
one at a time within C, those of the others by a call from Python each. Templates are trained on
3000 images of MNIST, or with --full on all 60,000: the time to predict does not depend on it. The
rule, the weight of the penalty and the margin are ``paper.published.TUNED``.
Needs gcc and onnxruntime.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from paper.provenance import stamp
from paper.published import TUNED
from shareboost import ShareBoostClassifier
from shareboost.datasets import load_dataset
from shareboost.export import cost_report, quantization_loss, to_c, to_onnx
from shareboost.pools import Templates

FLAGS = ["-std=c99", "-O3", "-march=native"]
TURNS = 15

DRIVER = """
static long counted;
{count}
#include "model.h"
void predict(const {input} *x, int n, int *out)
{{
    for (int i = 0; i < n; ++i)
        out[i] = shareboost_predict(x + (long)i * shareboost_n_inputs);
}}
long count(void) {{ return counted; }}
"""


class InC:
    """A header, compiled into a shared library."""

    def __init__(self, header: str, folder: Path, c_input: str = "float", counting: bool = False):
        folder.mkdir()
        count = "#define SHAREBOOST_COUNT(n) (counted += (n))" if counting else ""
        (folder / "model.h").write_text(header)
        (folder / "model.c").write_text(DRIVER.format(input=c_input, count=count))
        command = ["gcc", *FLAGS, "-shared", "-fPIC", "model.c", "-o", "model.so"]
        subprocess.run(command, cwd=folder, check=True)
        self.library = ctypes.CDLL(str(folder / "model.so"))
        self.library.count.restype = ctypes.c_long
        self.dtype = np.float32 if c_input == "float" else np.uint8

    def predict(self, X: Any) -> np.ndarray:
        X = np.ascontiguousarray(X, dtype=self.dtype)
        out = np.empty(len(X), dtype=np.intc)
        rows, answers = (array.ctypes.data_as(ctypes.c_void_p) for array in (X, out))
        self.library.predict(rows, len(X), answers)
        return out

    def multiply_adds(self, X: Any) -> float:
        before = self.library.count()
        self.predict(X)
        return (self.library.count() - before) / len(X)


def in_onnx(clf: Any) -> Callable[[Any], Any]:
    """onnxruntime with one thread, one row a call."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        to_onnx(clf).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

    def predict(X: Any) -> None:
        for i in range(len(X)):
            session.run(["label"], {"X": X[i : i + 1]})

    return predict


def by_rows(predict: Callable[[Any], Any]) -> Callable[[Any], None]:
    """A predictor of many rows, called for one at a time."""

    def each(X: Any) -> None:
        for i in range(len(X)):
            predict(X[i : i + 1])

    return each


def microseconds(rivals: dict[str, tuple[Callable[[Any], Any], Any]]) -> dict[str, float]:
    """The median time of a row, of each predictor on its rows, in turns."""
    found: dict[str, list[float]] = {name: [] for name in rivals}
    with threadpool_limits(1):
        for predict, X in rivals.values():
            predict(X)
        for _ in range(TURNS):
            for name, (predict, X) in rivals.items():
                start = perf_counter()
                predict(X)
                found[name].append((perf_counter() - start) / len(X) * 1e6)
    return {name: float(np.median(times)) for name, times in found.items()}


def object_bytes(header: str, folder: Path) -> int:
    """Bytes of code and tables of the function that predicts, compiled for size."""
    folder.mkdir()
    (folder / "model.h").write_text(header)
    (folder / "model.c").write_text(
        '#include "model.h"\nint predict(const float *x) { return shareboost_predict(x); }\n'
    )
    command = ["gcc", "-std=c99", "-Os", "-c", "model.c", "-o", "model.o"]
    subprocess.run(command, cwd=folder, check=True)
    found = subprocess.run(["size", "model.o"], cwd=folder, check=True, capture_output=True)
    text, data = map(int, found.stdout.split(b"\n")[1].split()[:2])
    return text + data


def row(*cells: Any) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def head(*cells: str) -> None:
    row(*cells)
    row(*["---"] * len(cells))


def time_table(times: dict[str, float]) -> None:
    """A line for each predictor, with its time over that of the first."""
    base = next(iter(times.values()))
    head("one row at a time", "µs", "times the first")
    for name, time in times.items():
        row(name, f"{time:.3f}" if time < 1 else f"{time:.1f}", f"{time / base:.2f}")
    print()


def columns(folder: Path, full: bool) -> None:
    """20 columns of digits, ten classes."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0)
    clf = ShareBoostClassifier(20, **TUNED).fit(X_train, y_train)
    peer = LogisticRegression(max_iter=5000).fit(X_train[:, clf.columns_], y_train)
    few = X_test.astype(np.float32)[:100]
    many = np.tile(few, (500, 1))
    chosen = np.ascontiguousarray(few[:, clf.columns_])
    plain = InC(to_c(clf), folder / "columns")
    early = InC(to_c(clf, early_exit=True, input_range=(0, 16)), folder / "columns-early")
    size = object_bytes(to_c(clf), folder / "size")
    print(f"20 columns of digits; object, by -Os, {size} bytes\n")
    time_table(
        microseconds(
            {
                "C": (plain.predict, many),
                "C, early exit": (early.predict, many),
                "onnxruntime": (in_onnx(clf), few),
                "shareboost `predict`": (by_rows(clf.predict), few),
                "LogisticRegression.predict": (by_rows(peer.predict), chosen),
            }
        )
    )


def templates(folder: Path, full: bool) -> None:
    """266 templates of MNIST."""
    data = load_dataset("mnist")
    n = len(data.X_train) if full else 3000
    clf = ShareBoostClassifier(266, pool=Templates(), **TUNED | {"alpha": 1e-4})
    clf.fit(data.X_train[:n], data.y_train[:n])
    X = data.X_test.astype(np.float32)
    expected = clf._scores(X).argmax(axis=1)
    forms = {
        "C": {},
        "C, early exit": {"early_exit": True},
        "C, early exit, one lane": {"early_exit": True, "lanes": 1},
        "C, int8": {"weights": "int8"},
        "C of bytes": {"input_type": "uint8"},
    }
    rivals: dict[str, Any] = {}
    head("form", "header, kB", "answers changed of 10,000", "multiply-adds an image, 1e6")
    for name, options in forms.items():
        header = to_c(clf, **options)
        c_input = "uint8_t" if "input_type" in options else "float"
        compiled = InC(header, folder / name.replace(" ", "-"), c_input)
        counting = InC(header, folder / f"{name}-counting".replace(" ", "-"), c_input, True)
        changed = int(np.sum(compiled.predict(X) != expected))
        row(name, len(header) // 1000, changed, f"{counting.multiply_adds(X[:500]) / 1e6:.2f}")
        rivals[name] = (compiled.predict, np.ascontiguousarray(X[:200], dtype=compiled.dtype))
    print(f"\n{cost_report(clf)!r}\n")
    rivals["onnxruntime"] = (in_onnx(clf), X[:200])
    rivals["shareboost `predict`"] = (by_rows(clf.predict), X[:20])
    time_table(microseconds(rivals))


def quantisation(folder: Path, full: bool) -> None:
    """Accuracy of int8 weights with a scale a feature, and with one a class instead."""
    head("data, pool", "float32", "int8, a scale a feature", "int8, a scale a class")
    for name in ("digits", "pendigits", "satimage", "isolet"):
        X_train, y_train, X_test, y_test = held_out(name)
        for pool in ("columns", "stumps", "products"):
            clf = ShareBoostClassifier(20, pool=pool, **TUNED).fit(X_train, y_train)
            loss = quantization_loss(clf, X_test, y_test)
            scale = np.abs(clf.weights_).max(axis=1, keepdims=True) / 127
            coarse = (
                clf._model().features.columns(X_test) @ (np.rint(clf.weights_ / scale) * scale).T
            )
            best = clf.classes_[(coarse + clf.intercept_).argmax(axis=1)]
            cells = (loss.accuracy, loss.quantized_accuracy, np.mean(best == y_test))
            row(f"{name}, {pool}", *(f"{100 * cell:.2f}" for cell in cells))
    print()


def held_out(name: str) -> tuple[Any, Any, Any, Any]:
    """Training rows and rows that were held out of them; no test set is touched."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        data = load_dataset(name)
        X, y = data.X_train[:4000], data.y_train[:4000]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
    return X_train, y_train, X_test, y_test


def main() -> None:
    tables = {"columns": columns, "templates": templates, "quantisation": quantisation}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", nargs="*", help=f"of {', '.join(tables)}; all if none is named")
    parser.add_argument("--full", action="store_true", help="train templates on all of MNIST")
    arguments = parser.parse_args()
    for name in set(arguments.table) - set(tables):
        parser.error(f"there is no table {name!r}: it takes {', '.join(tables)}")
    print(f"{stamp()}.\n")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.table or tables:
            tables[name](Path(folder), arguments.full)


if __name__ == "__main__":
    main()
