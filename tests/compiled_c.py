"""Headers compiled into shared libraries, for the tests that compare them with Python."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from exported_pools import assert_near

from shareboost.export import to_c

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion"]

START = """
static long counted;
#define SHAREBOOST_COUNT(n) (counted += (n))
"""
DRIVER = """
#include "{name}.h"
void {name}_scores_of_rows(const {input} *x, int n, float *out);
void {name}_classes_of_rows(const {input} *x, int n, int *out);
long {name}_count(const {input} *x);
const char *{name}_label_of(int class_index);
void {name}_scores_of_rows(const {input} *x, int n, float *out)
{{
    for (int i = 0; i < n; ++i)
        {name}_scores(x + i * {name}_n_inputs, out + i * {name}_n_classes);
}}
void {name}_classes_of_rows(const {input} *x, int n, int *out)
{{
    for (int i = 0; i < n; ++i)
        out[i] = {name}_predict(x + i * {name}_n_inputs);
}}
long {name}_count(const {input} *x)
{{
    counted = 0;
    (void){name}_predict(x);
    return counted;
}}
const char *{name}_label_of(int class_index)
{{
    return {name}_label(class_index);
}}
"""


class Compiled:
    """A header as functions of arrays."""

    def __init__(self, library, name, n_classes, input_type):
        self.n_classes = n_classes
        self.dtype = np.dtype(input_type)
        functions = ("scores_of_rows", "classes_of_rows", "count", "label_of")
        self._scores, self._classes, self._count, self._label = (
            getattr(library, f"{name}_{function}") for function in functions
        )
        self._count.restype = ctypes.c_long
        self._label.restype = ctypes.c_char_p

    def scores(self, X):
        out = np.empty((len(X), self.n_classes), dtype=np.float32)
        self._scores(self._pointer(X), len(X), out.ctypes.data_as(ctypes.c_void_p))
        return out

    def predict(self, X):
        out = np.empty(len(X), dtype=np.intc)
        self._classes(self._pointer(X), len(X), out.ctypes.data_as(ctypes.c_void_p))
        return out

    def count(self, row):
        """Return the multiply-adds of a row."""
        return self._count(self._pointer(row[None]))

    def label(self, place):
        return self._label(place).decode()

    def _pointer(self, X):
        self.kept = np.ascontiguousarray(X, dtype=self.dtype)
        return self.kept.ctypes.data_as(ctypes.c_void_p)


def compiled(folder, *models, flags=("-O1",)):
    """Compile models into one library: each is a classifier and its arguments of ``to_c``.

    Call it once per folder: a library of the same path would not be loaded again.
    """
    text = START
    for number, (clf, arguments) in enumerate(models):
        name = f"model{number}"
        (folder / f"{name}.h").write_text(to_c(clf, name=name, **arguments))
        c_input = {"float32": "float", "uint8": "uint8_t"}[arguments.get("input_type", "float32")]
        text += DRIVER.format(name=name, input=c_input)
    (folder / "models.c").write_text(text)
    command = ["gcc", "-std=c99", *WARNINGS, *flags, "-shared", "-fPIC"]
    subprocess.run([*command, "models.c", "-o", "models.so"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "models.so"))
    return [
        Compiled(
            library, f"model{number}", clf.classes_.size, arguments.get("input_type", "float32")
        )
        for number, (clf, arguments) in enumerate(models)
    ]


def assert_headers_answer(models, X, folder, **arguments):
    """Check scores to 1e-5 of a row's largest one, and the class of every row."""
    X = np.asarray(X, dtype=np.float32)
    headers = compiled(folder, *((clf, arguments) for clf in models))
    for clf, header in zip(models, headers, strict=True):
        assert_near(header.scores(X), clf._scores(X))
        np.testing.assert_array_equal(clf.classes_[header.predict(X)], clf.predict(X))


def flash_of(header, folder, name="shareboost", flags=()):
    """Return the bytes of code and tables of the function that predicts."""
    (folder / "size.h").write_text(header)
    (folder / "size.c").write_text(
        '#include "size.h"\n'
        "int predict(const float *x);\n"
        f"int predict(const float *x) {{ return {name}_predict(x); }}\n"
    )
    command = ["gcc", "-std=c99", "-Os", "-c", "size.c", "-o", "size.o", *flags]
    subprocess.run(command, cwd=folder, check=True)
    found = subprocess.run(["size", "size.o"], cwd=folder, check=True, capture_output=True)
    text, data, bss, *_ = map(int, found.stdout.split(b"\n")[1].split()[:3])
    assert bss == 0
    return text + data


def stack_of(header, folder):
    """Return the bytes of stack of the function that predicts."""
    # Without the 128 bytes below the stack that x86-64 may use and not count.
    flash_of(header, folder, flags=["-mno-red-zone", "-fstack-usage"])
    lines = (folder / "size.su").read_text().splitlines()
    return sum(int(line.split("\t")[1]) for line in lines)
